"""Columns and candidates as people write them: quotes, wildcards, a price list, and one line for what is wrong."""

from fractions import Fraction
from pathlib import Path

import pytest

from exml_sim.cli._tables import Offer, Table, assign_roles, parse_names, parse_offer, read_costs

HEADER = ("who", "age", "gene1", "gene2", "gene10", "ct, left", "odd*name", "y")
TABLE = Table(Path("t.csv"), HEADER, (("",) * len(HEADER),), (2,))


def test_names():
    assert parse_names("a, b ,c") == ("a", "b", "c")
    assert parse_names('"ct, left",b') == ("ct, left", "b")
    assert parse_names('a, "say ""no"""') == ("a", 'say "no"')
    for bad in ("", "a,,b", '"a', 'a,"b'):
        with pytest.raises(ValueError, match="columns are separated by commas"):
            parse_names(bad)


def test_offers():
    assert parse_offer("ct = ct1, ct2 : 5.0") == Offer("ct", ("ct1", "ct2"), Fraction(5))
    assert parse_offer('ct="ct, left",b:1/3') == Offer("ct", ("ct, left", "b"), Fraction(1, 3))
    assert parse_offer("t=a:b:2") == Offer("t", ("a:b",), Fraction(2))
    for bad in ("ct", "ct=a", "=a:1", "ct=:1", "ct=,:1"):
        with pytest.raises(ValueError, match="a candidate is NAME=COLUMN"):
            parse_offer(bad)


def test_wildcards_take_what_has_no_other_role():
    genes = parse_offer("genes=gene*:5")
    result = assign_roles(TABLE, "y", ("*",), (genes, parse_offer('ct="ct, left":1')), "who")
    assert result.offers[0].columns == ("gene1", "gene2", "gene10")
    assert result.observed == ("age", "odd*name")
    result = assign_roles(TABLE, "y", ("age",), (parse_offer("g=gene?:5"), parse_offer("last=gene10:1")))
    assert result.offers[0].columns == ("gene1", "gene2")
    # A name that is there is a name, whatever it looks like.
    assert assign_roles(TABLE, "y", ("odd*name",), (genes,)).observed == ("odd*name",)


@pytest.mark.parametrize(
    ("observed", "offers", "message"),
    [
        (("zz*",), ("c=age:1",), "--observed: no free column of t.csv matches 'zz*'"),
        (("age",), ("g=x?:1",), "candidate 'g': no free column of t.csv matches 'x?'"),
        (("age",), ("g=age:1",), "column 'age' is named more than once"),
        (("age",), ("g=gene1:1", "g=gene2:1"), "candidate names must differ, got g, g"),
        (("age",), ("g=gene3:1",), "t.csv has no column 'gene3'"),
        (("aage",), ("g=gene3:1", "h=gene1,gen4:1"), "t.csv has no columns 'aage', 'gene3', 'gen4': it has 'who'"),
    ],
)
def test_bad_roles(observed, offers, message):
    with pytest.raises(ValueError, match=message.replace("*", r"\*").replace("?", r"\?")):
        assign_roles(TABLE, "y", observed, [parse_offer(text) for text in offers])


def test_columns_that_are_to_be_measured_may_be_absent():
    assert assign_roles(TABLE, "y", ("age",), (parse_offer("g=gene3:1"),), unmeasured=True).offers[0].columns == (
        "gene3",
    )


def test_price_lists(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text('candidate,columns,cost\nct,"ct1,ct2",5.0\nnone,,1.2\ngenes,gene*,3\n')
    assert read_costs(path) == (
        Offer("ct", ("ct1", "ct2"), Fraction(5)),
        Offer("none", ("none",), Fraction(6, 5)),
        Offer("genes", ("gene*",), Fraction(3)),
    )
    path.write_text("candidate;cost\nct;5,0\n")
    with pytest.raises(ValueError, match=r"prices.csv, line 2: cost of candidate 'ct' must be a finite number"):
        read_costs(path)
    path.write_text("name,cost\nct,5\n")
    with pytest.raises(ValueError, match="has no column 'candidate'"):
        read_costs(path)
