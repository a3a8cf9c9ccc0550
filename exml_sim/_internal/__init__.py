"""Helpers without a stable interface: arrays, validation, compiled code, threads, progress."""
