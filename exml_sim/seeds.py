"""Draw random numbers by address: word `index` of (root, stream, trial, round, substream), in any order.

A counter-based generator (Philox4x64-10, Salmon et al. 2011) turns an address into random bits with no
state, so trial 7,301 can be replayed alone, results do not depend on how trials are cut into blocks, and
two strategies that read the same address see the same row. The key comes from numpy's `SeedSequence(root,
spawn_key=(stream,))`; the counter is (index // 4, substream, trial, round).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from exml_sim._internal.arrays import WordArray
from exml_sim._internal.compiled import kernel
from exml_sim._internal.validation import shown

#: Trials of one call: their numbers alone take 0.8 GB.
MAX_TRIALS = 10**8

Block = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """The addresses of N trials: one key for the study's cell, one number per trial.

    Attributes
    ----------
    key
        Two 64-bit words that stand for (root, stream).
    trials
        Trial numbers, shape (N,).
    """

    key: WordArray
    trials: WordArray

    @classmethod
    def of(cls, root: int, trials: int | Iterable[int] = 0, stream: int = 0) -> Seeds:
        """Address one trial, or many, of a root seed and a stream (one stream per pool and budget).

        Raises
        ------
        ValueError
            If the root, the stream or a trial number is negative or not whole, or no trial or too many are given.
        """
        numbers: np.ndarray[Any, Any]
        try:
            if isinstance(trials, range):
                is_long = (trials.stop - trials.start) // trials.step > MAX_TRIALS
                numbers = np.zeros(0) if is_long else np.arange(trials.start, trials.stop, trials.step)
            else:
                numbers = np.atleast_1d(np.array(list(trials) if isinstance(trials, Iterable) else trials))
        except (ValueError, TypeError):
            # Lists of several lengths.
            numbers = np.zeros(0)
        whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 0 for n in (root, stream))
        if not whole or numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iu" or numbers.min() < 0:
            raise ValueError(
                f"a seed needs root, stream and 1 to {MAX_TRIALS:,} trial numbers, all whole, none of them negative; "
                f"got root={shown(root)}, stream={shown(stream)}, trials={shown(trials)}"
            )
        sequence = np.random.SeedSequence(int(root), spawn_key=(int(stream),))
        key = np.asarray(sequence.generate_state(2, np.uint64), dtype=np.uint64)
        return cls(key, numbers.astype(np.uint64))

    @classmethod
    def from_generator(cls, rng: np.random.Generator) -> Seeds:
        """Take the key of one trial from a numpy generator (which advances by two words)."""
        return cls(rng.integers(0, 2**64, size=2, dtype=np.uint64), np.zeros(1, dtype=np.uint64))

    def __len__(self) -> int:
        return int(self.trials.size)

    def part(self, which: slice) -> Seeds:
        """Select some of the trials."""
        return Seeds(self.key, self.trials[which])


Rng = int | np.random.Generator | Seeds


def as_seeds(rng: Rng) -> Seeds:
    """Read what a user passes as randomness: a seed number, a numpy generator or an address."""
    if isinstance(rng, Seeds):
        return rng
    if isinstance(rng, np.random.Generator):
        return Seeds.from_generator(rng)
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return Seeds.of(int(rng))
    raise ValueError(f"rng must be an int, a numpy Generator or Seeds, got {shown(rng)}")


def _multiply_wide(typingctx, a, b):  # type: ignore[no-untyped-def]
    """Compute the upper and lower 64 bits of a 128-bit product by one multiplication."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, signature.return_type, [high, builder.trunc(product, word)])

    pair: Any = types.UniTuple
    return pair(types.uint64, 2)(types.uint64, types.uint64), codegen


_product: Any = intrinsic(_multiply_wide)


@kernel
def mulhi(a: np.uint64, b: np.uint64) -> np.uint64:
    """Compute the upper 64 bits of a product of two words: floor(a b / 2**64)."""
    return np.uint64(_product(a, b)[0])


@kernel
def philox(k0: np.uint64, k1: np.uint64, c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64) -> Block:
    """Draw four random words at counter (c0, c1, c2, c3) under key (k0, k1)."""
    for _ in range(10):
        high0, low0 = _product(_M0, c0)
        high1, low1 = _product(_M1, c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0 += _W0
        k1 += _W1
    return c0, c1, c2, c3


@kernel
def normal_pair(key: WordArray, trial: np.uint64, substream: np.uint64, pair: int) -> tuple[float, float]:
    """Draw normals 2 pair and 2 pair + 1 of a substream by Box-Muller on the words of the same numbers."""
    words = philox(key[0], key[1], np.uint64(pair // 2), substream, trial, np.uint64(0))
    first, second = (words[0], words[1]) if pair % 2 == 0 else (words[2], words[3])
    # Half a step above zero keeps the logarithm finite.
    radius = np.sqrt(-2.0 * np.log((np.float64(first >> np.uint64(11)) + 0.5) * 2.0**-53))
    angle = 2.0 * np.pi * np.float64(second >> np.uint64(11)) * 2.0**-53
    return radius * np.cos(angle), radius * np.sin(angle)


@kernel
def normal_pull(key: WordArray, trial: np.uint64, substream: np.uint64, j: int) -> float:
    """Draw standard normal j of a substream."""
    even, odd = normal_pair(key, trial, substream, j // 2)
    return even if j % 2 == 0 else odd
