"""Which rows are bought: against a slow reference, and the promises of the row options."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from exml_sim.bandit._sampling import OrderReader, RangeSampler, RowOptions, RowSampler, Shortfall
from exml_sim.seeds import Seeds
from tests.words import words

ALPHA = 1e-6
M = 17


def sampler(trials=6, **options):
    return RowSampler(Seeds.of(11, range(trials)), 3, M, RowOptions(**options))


def buy(table, pulls, fresh_rows=False):
    wanted = np.broadcast_to(np.asarray(pulls), table.counts.shape[:2]).astype(np.int64)
    capped = table.cap_pulls(wanted, fresh_rows)
    table.draw(capped, fresh_rows)
    return capped


def counted(rows, size=M):
    return np.bincount(np.array(rows, dtype=int), minlength=size)


def slow_drawn(seeds, trial, substream, total):
    return [int(w) * M >> 64 for w in words(seeds, total, trial=trial, substream=substream)]


def slow_shuffle(seeds, trial, substream, turn):
    order = list(range(M))
    for i, word in enumerate(words(seeds, M - 1, trial=trial, substream=substream, turn=turn + 2**63)):
        j = i + (int(word) * (M - i) >> 64)
        order[i], order[j] = order[j], order[i]
    return order


def slow_order(seeds, trial, substream, total):
    return slow_shuffle(seeds, trial, substream, 0)[:total]


@pytest.mark.parametrize("rows", ["same", "independent"])
@pytest.mark.parametrize(("replacement", "slow"), [("always", slow_drawn), ("never", slow_order)])
def test_rows_match_the_slow_path(rows, replacement, slow):
    table = RowSampler(Seeds.of(11, range(6)), 3, M, RowOptions(rows=rows, replacement=replacement))
    buy(table, [5, 2, 0])
    buy(table, [3, 9, 4])
    for trial in range(6):
        for arm, total in enumerate([8, 11, 4]):
            order = slow(table.seeds, trial, 0 if rows == "same" else arm + 1, total)
            assert table.counts[trial, arm].tolist() == counted(order).tolist()


def test_a_shuffle_per_round_matches_the_slow_path():
    table = sampler(replacement="across")
    buy(table, [4, 6, 17])
    buy(table, [10, 12, 0])
    for trial in range(6):
        first, second = (slow_shuffle(table.seeds, trial, 0, turn) for turn in (1, 2))
        for arm, (a, b) in enumerate([(4, 10), (6, 12), (17, 0)]):
            assert table.counts[trial, arm].tolist() == counted(first[:a] + second[:b]).tolist()


def test_a_fresh_round_starts_behind_everything_that_was_read():
    table = sampler(replacement="never")
    buy(table, [2, 6, 4], fresh_rows=True)
    first = table.bought(fresh=True).copy()
    buy(table, [3, 5, 0], fresh_rows=True)
    second = table.bought(fresh=True)
    assert np.array_equal(table.counts, first + second)
    for trial in range(6):
        order = slow_shuffle(table.seeds, trial, 0, 0)
        assert second[trial, 0].tolist() == counted(order[6:9]).tolist()
        assert second[trial, 1].tolist() == counted(order[6:11]).tolist()
        assert second[trial, 2].sum() == 0
    # Nothing that any arm saw in round 1 is seen in round 2.
    assert not np.any(first.any(axis=1) & second.any(axis=1))


@pytest.mark.parametrize("replacement", ["never", "across"])
def test_shortfall_is_an_error_before_anything_is_drawn(replacement):
    table = sampler(replacement=replacement)
    with pytest.raises(Shortfall, match="round 1 asks for 18 rows of arm 2, but only 17 of the 17 rows are left"):
        buy(table, [3, 17, 18])
    assert table.counts.sum() == 0


def test_shortfall_cap_grants_what_is_left():
    table = sampler(replacement="never", shortfall="cap")
    assert buy(table, [10, 17, 20])[0].tolist() == [10, 17, 17]
    assert buy(table, [10, 10, 10])[0].tolist() == [7, 0, 0]
    assert np.all(table.counts == 1)
    across = sampler(replacement="across", shortfall="cap")
    assert buy(across, [10, 17, 20])[0].tolist() == [10, 17, 17]
    assert buy(across, [10, 17, 20])[0].tolist() == [10, 17, 17]


def test_pairs_of_a_shuffle_are_equally_likely_and_the_check_has_teeth():
    table = RowSampler(Seeds.of(3, range(40_000)), 1, 5, RowOptions(replacement="never"))
    buy(table, 2)
    pairs = np.unique(table.counts[:, 0], axis=0, return_counts=True)[1]
    assert pairs.size == 10
    assert stats.chisquare(pairs).pvalue > ALPHA
    # A die that cannot show its last face is caught with the same number of trials.
    biased = counted((words(table.seeds, 20_000) % np.uint64(M - 1)).astype(int))
    assert stats.chisquare(biased).pvalue < ALPHA


@pytest.mark.parametrize("name", ["rows", "replacement", "shortfall"])
def test_unknown_options_are_refused(name):
    with pytest.raises(ValueError, match=f"unknown {name} option 'paired': allowed are"):
        RowOptions(**{name: "paired"})


def test_ranges_and_fresh_rounds_are_refused_where_there_are_none():
    with pytest.raises(ValueError, match="no fresh round"):
        sampler().bought(fresh=True)
    with pytest.raises(ValueError, match="no fresh round"):
        RangeSampler(Seeds.of(0), 1, M, RowOptions()).held_rows(0, 0, fresh=True)
    with pytest.raises(ValueError, match="ranges are for replacement 'always', got 'never'"):
        RangeSampler(Seeds.of(0), 1, M, RowOptions(replacement="never"))


@pytest.mark.parametrize("rows", ["same", "independent"])
@pytest.mark.parametrize("kind", [RowSampler, RangeSampler])
def test_rows_in_several_rounds_are_the_ranges_of_one_order(kind: type[OrderReader], rows: str) -> None:
    """Fewer and more pulls than an eighth of the rows, starts within a block of four words, fresh rounds."""
    seeds, n_rows = Seeds.of(2, range(3)), 40
    sampler: Any = kind(seeds, 2, n_rows, RowOptions(rows=rows))
    long = RangeSampler(seeds, 2, n_rows, RowOptions(rows=rows))
    long.draw(np.full((3, 2), 200), False)
    read = [[long._list_drawn(trial, arm, 0, 200) for arm in range(2)] for trial in range(3)]
    for trial in range(3):
        assert long.order(trial) is None or rows == "same"
        counts = [np.bincount(read[trial][arm], minlength=n_rows) for arm in range(2)]
        np.testing.assert_array_equal(long.trial_counts(trial), counts)
    total = np.zeros((3, 2, n_rows), dtype=np.int64)
    position = np.zeros((3, 2), dtype=np.int64)
    for pulls, fresh_rows in (
        ([3, 0], False),
        ([2, 5], False),
        ([1, 4], True),
        ([5, 6], False),
        ([17, 0], True),
        ([3, 3], False),
    ):
        start = np.broadcast_to(position.max(axis=1, keepdims=True), (3, 2)).copy() if fresh_rows else position.copy()
        sampler.draw(np.tile(pulls, (3, 1)), fresh_rows)
        for trial in range(3):
            for arm in range(2):
                new = np.bincount(
                    read[trial][arm][start[trial, arm] : start[trial, arm] + pulls[arm]], minlength=n_rows
                )
                total[trial, arm] += new
                expected = new if fresh_rows else total[trial, arm]
                if kind is RangeSampler:
                    np.testing.assert_array_equal(sampler.held_rows(trial, arm, fresh_rows).dense(n_rows), expected)
                else:
                    np.testing.assert_array_equal(sampler.bought(fresh_rows)[trial, arm], expected)
                if not fresh_rows or pulls[arm]:
                    position[trial, arm] = start[trial, arm] + pulls[arm]
        np.testing.assert_array_equal(sampler.counts, total)
        for trial in range(3):
            np.testing.assert_array_equal(sampler.trial_counts(trial), total[trial])


@pytest.mark.parametrize("kind", [RowSampler, RangeSampler])
def test_the_order_of_a_trial(kind: type[OrderReader]) -> None:
    seeds = Seeds.of(2, range(2))
    sampler: Any = kind(seeds, 2, 9, RowOptions())
    assert sampler.order(0) is None
    sampler.draw(np.array([[2, 5], [0, 0]]), False)
    sampler.draw(np.array([[1, 0], [0, 0]]), False)
    rows = sampler.order(0)
    assert len(rows) == 5
    for arm, number in enumerate((3, 5)):
        np.testing.assert_array_equal(np.bincount(rows[:number], minlength=9), sampler.trial_counts(0)[arm])
    assert sampler.order(1) is None
    sampler.draw(np.array([[2, 2], [1, 1]]), True)
    assert sampler.order(0) is None, "arm 0 skipped rows"
    independent: Any = kind(seeds, 2, 9, RowOptions(rows="independent"))
    independent.draw(np.full((2, 2), 3), False)
    assert independent.order(0) is None
    alone: Any = kind(seeds, 1, 9, RowOptions())
    alone.draw(np.full((2, 1), 3), False)
    assert np.bincount(alone.order(1), minlength=9).tolist() == alone.trial_counts(1)[0].tolist()


@pytest.mark.parametrize("kind", [RowSampler, RangeSampler])
def test_the_whole_population(kind: type[OrderReader]) -> None:
    sampler: Any = kind(Seeds.of(2, range(2)), 3, 4, RowOptions())
    sampler.take_all()
    assert sampler.counts.tolist() == [[[1] * 4] * 3] * 2
    assert sampler.rows_left() is None
