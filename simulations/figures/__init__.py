"""Pictures: one module per family. Every drawing function takes Axes, returns them, and shows nothing."""
