"""Addressed random numbers: known answers, an independent implementation, statistical quality."""

import numpy as np
import pytest
from scipy import stats

from exml_sim.seeds import Seeds, as_seeds, mulhi, philox
from tests.words import words

ALPHA = 1e-6


def numpy_words(key, counter, count):
    """The same words from numpy's Philox, which adds one to the counter before it generates."""
    number = sum(int(word) << (64 * i) for i, word in enumerate(counter))
    before = (number - 1) % 2**256
    start = [(before >> (64 * i)) & (2**64 - 1) for i in range(4)]
    generator = np.random.Philox(counter=np.array(start, dtype=np.uint64), key=np.array(key, dtype=np.uint64))
    return generator.random_raw(count)


def test_published_answer_for_the_zero_counter_and_key():
    zero = np.uint64(0)
    expected = (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)
    assert tuple(int(w) for w in philox(zero, zero, zero, zero, zero, zero)) == expected


@pytest.mark.parametrize(("trial", "substream", "turn"), [(0, 0, 0), (7301, 3, 2), (2**64 - 1, 2**40, 2**63)])
def test_words_agree_with_numpy(trial, substream, turn):
    seeds = Seeds.of(12345678901234567890123, trial, stream=4)
    assert np.array_equal(
        words(seeds, 23, substream=substream, turn=turn), numpy_words(seeds.key, (0, substream, trial, turn), 23)
    )


def test_mulhi_is_the_upper_half_of_the_product():
    rng = np.random.default_rng(0)
    for a, b in rng.integers(0, 2**64, size=(50, 2), dtype=np.uint64):
        assert int(mulhi(a, b)) == int(a) * int(b) >> 64


def test_every_part_of_the_address_matters():
    base = words(Seeds.of(1, 5, stream=2), 4, substream=3, turn=4)
    others = [
        words(Seeds.of(2, 5, stream=2), 4, substream=3, turn=4),
        words(Seeds.of(1, 5, stream=3), 4, substream=3, turn=4),
        words(Seeds.of(1, 6, stream=2), 4, substream=3, turn=4),
        words(Seeds.of(1, 5, stream=2), 4, substream=4, turn=4),
        words(Seeds.of(1, 5, stream=2), 4, substream=3, turn=5),
        words(Seeds.of(1, 5, stream=2), 8, substream=3, turn=4)[4:],
    ]
    assert all(not np.any(base == other) for other in others)


def flat_p_value(values, bins):
    return stats.chisquare(np.bincount(values, minlength=bins)).pvalue


def first_words(count):
    """Word 0 of many consecutive trials: the direction in which studies use the generator."""
    seeds = Seeds.of(99, range(count))
    return np.array([words(seeds, 1, trial=i)[0] for i in range(count)])


def test_words_of_consecutive_trials_are_flat_and_uncorrelated():
    result = first_words(40_000)
    for shift in (0, 24, 56):
        assert flat_p_value(((result >> np.uint64(shift)) & np.uint64(255)).astype(int), 256) > ALPHA
    uniform = result / 2.0**64
    assert stats.kstest(uniform, "uniform").pvalue > ALPHA
    assert abs(np.corrcoef(uniform[:-1], uniform[1:])[0, 1]) * np.sqrt(uniform.size) < stats.norm.isf(ALPHA / 2)
    pairs = (result[:-1:2] >> np.uint64(60)) * np.uint64(16) + (result[1::2] >> np.uint64(60))
    assert flat_p_value(pairs.astype(int), 256) > ALPHA


def test_the_flatness_check_catches_a_skewed_generator():
    skewed = np.floor((first_words(40_000) / 2.0**64) ** 1.1 * 256).astype(int)
    assert flat_p_value(skewed, 256) < ALPHA


def test_seeds_from_numbers_generators_and_addresses():
    assert np.array_equal(as_seeds(3).key, Seeds.of(3).key)
    assert np.array_equal(as_seeds(np.random.default_rng(3)).key, Seeds.from_generator(np.random.default_rng(3)).key)
    rng = np.random.default_rng(3)
    assert not np.array_equal(as_seeds(rng).key, as_seeds(rng).key)
    many = Seeds.of(3, range(10))
    assert len(many) == 10
    assert many.part(slice(4, 6)).trials.tolist() == [4, 5]
    assert as_seeds(many) is many


@pytest.mark.parametrize("bad", ["seed", 1.5, None, True])
def test_refuses_what_is_no_seed(bad):
    with pytest.raises(ValueError, match="rng must be"):
        as_seeds(bad)


@pytest.mark.parametrize(
    ("root", "trials", "stream"), [(-1, 0, 0), (0, -1, 0), (0, [], 0), (0, 0, -2), (0, range(2**31), 0)]
)
def test_refuses_negative_and_endless_addresses(root, trials, stream):
    with pytest.raises(ValueError, match="none of them negative"):
        Seeds.of(root, trials, stream)
