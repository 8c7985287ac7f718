"""Tallies: they add up in any order, survive JSON, and keep bounded lists."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.actors.serve._survey_report import report_json, report_lines, visible
from retinue.actors.serve._survey_tally import (
    EMPTY,
    LARGEST_KEPT,
    UNREADABLE_KEPT,
    Count,
    File,
    Tally,
    from_json,
    from_text,
    kind_of,
    shown,
    unread,
)
from retinue.protocol.payload import is_json

COUNTS = st.integers(0, 9)
KINDS = st.dictionaries(
    st.sampled_from(["py", "md", "(none)"]), st.builds(Count, COUNTS, COUNTS, COUNTS)
)


def tally_of(number: int, names: list[str], kinds: dict[str, Count]) -> Tally:
    """Return a tally with kinds, and of each name a file and an unreadable entry."""
    total = Tally(number, number, number, 1, 1, 0, number % 2 == 0, kinds=kinds)
    for name in names:
        total += unread(name, f"reason {number}")
        total += Tally(largest=(File(name, number, 0),))
    return total


TALLIES = st.builds(tally_of, COUNTS, st.lists(st.sampled_from("abcdefgh"), max_size=15), KINDS)


@given(TALLIES, TALLIES, TALLIES)
def test_tallies_add_up_in_whatever_order_they_come(one: Tally, two: Tally, three: Tally) -> None:
    """
    Addition is associative and commutative, bounded lists included.
    """
    assert (one + two) + three == one + (two + three)
    assert one + two == two + one


@given(TALLIES)
def test_the_empty_tally_changes_nothing(tally: Tally) -> None:
    """
    EMPTY is the neutral element, on either side.
    """
    assert tally == tally + EMPTY == EMPTY + tally


@given(TALLIES)
def test_a_tally_survives_json(tally: Tally) -> None:
    """
    A run returns a tally as a JSON value and gives out pieces as text; both come back.
    """
    assert is_json(tally.as_json())
    assert tally == from_json(tally.as_json()) == from_text(tally.as_text())


@pytest.mark.parametrize("value", [None, "text", 3, {"files": "many"}, []])
def test_what_is_no_tally_is_refused(value: object) -> None:
    """
    A provider that answers with something else is found out.
    """
    with pytest.raises(ValueError, match="Expected"):
        from_json(value)


def test_lists_are_bounded_and_their_totals_are_not() -> None:
    """
    A tree full of large or unreadable files costs no more memory than a small one.
    """
    many = 3 * UNREADABLE_KEPT

    total = EMPTY
    for number in range(many):
        total += unread(f"{number:04}", "gone")
        total += Tally(largest=(File(f"{number:04}", number, 0),))

    assert many == total.unreadable.total
    assert [f"{number:04}" for number in range(UNREADABLE_KEPT)] == [
        entry.path for entry in total.unreadable.entries
    ]
    assert [many - 1 - rank for rank in range(LARGEST_KEPT)] == [
        file.bytes for file in total.largest
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.py", "py"),
        ("A.PY", "py"),
        ("a.tar.gz", "gz"),
        ("Makefile", "(none)"),
        (".bashrc", "(none)"),
        ("..x", "(none)"),
        (".config.toml", "toml"),
        ("a.", "(none)"),
        ("Mr. Smith", "(none)"),
        ("x.0123456789abcdef", "(none)"),
        (os.fsdecode(b"a.\xff"), "\\xff"),
    ],
)
def test_a_kind_is_the_suffix_of_a_name(name: str, kind: str) -> None:
    """
    The kind is what follows the last dot, in lower case, where that looks like a suffix.
    """
    assert kind == kind_of(name)


def test_names_are_shown_whatever_their_bytes_are() -> None:
    """
    Bytes that are no UTF-8 are escaped in a tally; what moves a cursor is, in a report.
    """
    assert "straße" == shown("straße")
    assert "a\\xff" == shown(os.fsdecode(b"a\xff"))
    assert "a\\nb\\x1b[2J ü" == visible("a\nb\x1b[2J ü")


def test_the_json_report_is_ascii_and_says_everything() -> None:
    """
    Machines get one line of ASCII with all that was counted.
    """
    tally = Tally(
        2,
        3,
        40,
        1,
        1,
        0,
        True,
        kinds={"py": Count(1, 1, 30), "md": Count(1, 2, 10)},
        largest=(File("ü.py", 30, 1),),
    ) + unread("x", "gone")

    text = report_json(tally)

    assert text.isascii()
    assert {
        "files": 2,
        "lines": 3,
        "bytes": 40,
        "directories": 1,
        "runs": 1,
        "partial": True,
        "unreadable": {"total": 1, "entries": [{"path": "x", "reason": "gone"}]},
        "kinds": {
            "md": {"files": 1, "lines": 2, "bytes": 10},
            "py": {"files": 1, "lines": 1, "bytes": 30},
        },
        "largest": [{"path": "ü.py", "bytes": 30, "lines": 1}],
    } == json.loads(text)
    assert ["md", "py"] == list(json.loads(text)["kinds"])


def test_the_plain_report_has_a_line_for_each_thing() -> None:
    """
    People get the sum on the first line, and aligned columns below it.
    """
    tally = Tally(
        2,
        3,
        40,
        1,
        1,
        kinds={"py": Count(1, 1, 30), "md": Count(1, 2, 10)},
        largest=(File("a\nb.py", 30, 1),),
    ) + unread("x", "gone")

    assert [
        "2 files, 3 lines, 40 bytes in 1 directory by 1 run; 1 unreadable",
        "",
        "files  lines  bytes  kind",
        "    1      2     10  md",
        "    1      1     30  py",
        "",
        "bytes  lines  largest files",
        "   30      1  a\\nb.py",
        "",
        "unreadable (1)",
        "x: gone",
    ] == list(report_lines(tally))


def test_the_plain_report_says_what_it_leaves_out() -> None:
    """
    Long lists end with how much more there is, and a partial result begins by saying so.
    """
    tally = Tally(is_partial=True, kinds={f"k{number:02}": Count(1) for number in range(22)})
    for number in range(21):
        tally += unread(f"{number:02}", "gone")

    lines = list(report_lines(tally))

    assert (
        "partial: 0 files, 0 lines, 0 bytes in 0 directories by 0 runs; 21 unreadable" == lines[0]
    )
    assert "and 2 more kinds" in lines
    assert "and 1 more unreadable entry" == lines[-1]
