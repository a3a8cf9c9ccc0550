"""The random words of one address in a row: what slow paths read their draws from."""

from __future__ import annotations

import numpy as np

from exml_sim._internal.arrays import WordArray
from exml_sim._internal.compiled import kernel
from exml_sim.seeds import Seeds, philox


@kernel
def fill_words(out: WordArray, key: WordArray, trial: np.uint64, substream: np.uint64, turn: np.uint64) -> None:
    """Write words 0, 1, 2, … of one address into `out`."""
    for start in range(0, out.size, 4):
        words = philox(key[0], key[1], np.uint64(start // 4), substream, trial, turn)
        for j in range(min(4, out.size - start)):
            out[start + j] = words[j]


def words(seeds: Seeds, count: int, *, trial: int = 0, substream: int = 0, turn: int = 0) -> WordArray:
    """The first words of one trial's substream (`trial` is a position in `seeds`, `turn` a round)."""
    out = np.empty(count, dtype=np.uint64)
    fill_words(out, seeds.key, seeds.trials[trial], np.uint64(substream), np.uint64(turn))
    return out
