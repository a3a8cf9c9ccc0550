"""Which rows are bought: against a slow reference, and the promises of the row options."""

import numpy as np
import pytest
from scipy import stats

from exml_sim.bandit._sampling import RowOptions, RowSampler, Shortfall
from exml_sim.seeds import Seeds
from tests.words import words

ALARM = 1e-6
M = 17


def sampler(trials=6, **options):
    return RowSampler(Seeds.of(11, range(trials)), 3, M, RowOptions(**options))


def buy(table, pulls, fresh=False):
    wanted = np.broadcast_to(np.asarray(pulls), table.counts.shape[:2]).astype(np.int64)
    capped = table.cap_pulls(wanted, fresh)
    table.draw(capped, fresh)
    return capped


def counted(rows, size=M):
    return np.bincount(np.array(rows, dtype=int), minlength=size)


def slow_drawn(seeds, trial, substream, start, stop):
    return [int(w) * M >> 64 for w in words(seeds, stop, trial=trial, substream=substream)[start:stop]]


def slow_shuffle(seeds, trial, substream, turn):
    order = list(range(M))
    for i, word in enumerate(words(seeds, M - 1, trial=trial, substream=substream, turn=turn + 2**63)):
        j = i + (int(word) * (M - i) >> 64)
        order[i], order[j] = order[j], order[i]
    return order


@pytest.mark.parametrize("rows", ["same", "independent"])
def test_draws_with_replacement_match_the_slow_path(rows):
    table = RowSampler(Seeds.of(11, range(6)), 3, M, RowOptions(rows=rows))
    buy(table, [5, 2, 0])
    buy(table, [3, 9, 4])
    for trial in range(6):
        for arm, total in enumerate([8, 11, 4]):
            substream = 0 if rows == "same" else arm + 1
            assert (
                table.counts[trial, arm].tolist()
                == counted(slow_drawn(table.seeds, trial, substream, 0, total)).tolist()
            )


@pytest.mark.parametrize("rows", ["same", "independent"])
def test_one_shuffle_per_trial_matches_the_slow_path(rows):
    table = RowSampler(Seeds.of(4, range(5)), 2, M, RowOptions(rows=rows, replacement="never"))
    buy(table, [4, 6])
    buy(table, [3, 0])
    for trial in range(5):
        for arm, total in enumerate([7, 6]):
            order = slow_shuffle(table.seeds, trial, 0 if rows == "same" else arm + 1, 0)
            assert table.counts[trial, arm].tolist() == counted(order[:total]).tolist()


def test_a_shuffle_per_round_matches_the_slow_path():
    table = sampler(replacement="across")
    buy(table, [4, 6, 17])
    buy(table, [10, 12, 0])
    for trial in range(6):
        first, second = (slow_shuffle(table.seeds, trial, 0, turn) for turn in (1, 2))
        for arm, (a, b) in enumerate([(4, 10), (6, 12), (17, 0)]):
            assert table.counts[trial, arm].tolist() == counted(first[:a] + second[:b]).tolist()


def test_same_rows_are_prefixes_of_one_order():
    table = sampler()
    buy(table, [3, 5, 9])
    buy(table, [7, 5, 1])
    assert np.array_equal(table.counts[:, 0], table.counts[:, 1])
    assert np.array_equal(table.counts[:, 0], table.counts[:, 2])
    buy(table, [0, 1, 2])
    assert np.all(table.counts[:, 2] >= table.counts[:, 1])
    assert np.all(table.counts[:, 1] >= table.counts[:, 0])


def test_independent_rows_differ_between_arms():
    table = RowSampler(Seeds.of(0, range(4)), 2, 200, RowOptions(rows="independent"))
    buy(table, 100)
    assert all(not np.array_equal(line[0], line[1]) for line in table.counts)


def test_never_buys_no_row_twice_and_across_may():
    never = sampler(trials=50, replacement="never")
    across = sampler(trials=50, replacement="across")
    for table in (never, across):
        buy(table, 6)
        assert table.counts.max() == 1
        buy(table, 6)
    assert never.counts.max() == 1
    assert across.counts.max() == 2


def test_a_fresh_round_starts_behind_everything_that_was_read():
    table = sampler(replacement="never")
    buy(table, [2, 6, 4], fresh=True)
    first = table.bought(fresh=True).copy()
    buy(table, [3, 5, 0], fresh=True)
    second = table.bought(fresh=True)
    assert np.array_equal(table.counts, first + second)
    for trial in range(6):
        order = slow_shuffle(table.seeds, trial, 0, 0)
        assert second[trial, 0].tolist() == counted(order[6:9]).tolist()
        assert second[trial, 1].tolist() == counted(order[6:11]).tolist()
        assert second[trial, 2].sum() == 0
    # Nothing that any arm saw in round 1 is seen in round 2.
    assert not np.any(first.any(axis=1) & second.any(axis=1))


def test_scoring_fresh_rows_needs_a_fresh_round():
    with pytest.raises(ValueError, match="no fresh round"):
        sampler().bought(fresh=True)


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


def row_p_value(counts):
    return stats.chisquare(counts.sum(axis=0)).pvalue


@pytest.mark.parametrize("options", [{"replacement": "always"}, {"replacement": "never"}, {"replacement": "across"}])
def test_every_row_is_equally_likely(options):
    table = RowSampler(Seeds.of(3, range(20_000)), 1, M, RowOptions(**options))
    buy(table, 1)
    assert row_p_value(table.counts[:, 0]) > ALARM


def test_pairs_of_a_shuffle_are_equally_likely_and_the_check_has_teeth():
    table = RowSampler(Seeds.of(3, range(40_000)), 1, 5, RowOptions(replacement="never"))
    buy(table, 2)
    pairs = np.unique(table.counts[:, 0], axis=0, return_counts=True)[1]
    assert pairs.size == 10
    assert stats.chisquare(pairs).pvalue > ALARM
    # A die that cannot show its last face is caught with the same number of trials.
    biased = counted((words(table.seeds, 20_000) % np.uint64(M - 1)).astype(int))
    assert stats.chisquare(biased).pvalue < ALARM


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": "paired"}, "unknown rows option 'paired': allowed are 'same', 'independent'"),
        (
            {"replacement": "with"},
            "unknown replacement option 'with': allowed are 'always', 'across', 'never'",
        ),
        ({"shortfall": "ignore"}, "unknown shortfall option 'ignore': allowed are 'error', 'cap'"),
    ],
)
def test_unknown_options_name_the_allowed_ones(options, message):
    with pytest.raises(ValueError, match=message):
        RowOptions(**options)
