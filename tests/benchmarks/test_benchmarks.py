"""Every benchmark runs, with tiny sizes, and says what it measured in the agreed form."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

import pytest

from tests.checkout import ROOT

NAMES: Final = sorted(
    path.stem for path in (ROOT / "benchmarks").glob("*.py") if not path.stem.startswith("_")
)
TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "name": str,
    "layer": str,
    "ours": (int, float),
    "rival": (int, float, type(None)),
    "ratio": (int, float),
    "goal": (int, float, type(None)),
    "unit": str,
    "rounds": int,
}


def run_benchmarks(*arguments: str) -> str:
    """Run `python -m benchmarks` in the checkout and return what it printed."""
    command = [sys.executable, "-m", "benchmarks", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert 0 == done.returncode, done.stderr
    assert not done.stderr
    return done.stdout


@pytest.fixture(name="rows", scope="module")
def _rows() -> list[dict[str, Any]]:
    """Return the rows of all benchmarks, each run once with tiny sizes."""
    printed = run_benchmarks("--all", "--quick", "--json")
    return [json.loads(line) for line in printed.splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_gives_rows_of_the_agreed_form(rows: list[dict[str, Any]], name: str) -> None:
    """
    A row has the eight columns, their types, a layer that there is, and a ratio above 0.
    """
    own = [row for row in rows if name == row["name"].partition("/")[0]]

    assert own
    for row in own:
        assert list(TYPES) == list(row)
        assert all(isinstance(row[column], kind) for column, kind in TYPES.items()), row
        assert row["layer"] in {"bare", "run"}
        assert row["ratio"] > 0
        assert 1 <= row["rounds"]


def test_the_list_names_every_benchmark_and_what_it_measures() -> None:
    """
    Without a name there is a line for each file: its name and its first sentence.
    """
    lines = run_benchmarks().splitlines()

    assert NAMES == sorted(line.split()[0] for line in lines)
    assert all(len(line.split()) > 3 for line in lines)


def test_the_table_has_a_row_of_its_own_for_each_line_of_json() -> None:
    """
    `--markdown` prints what README.md holds: a head, a rule, and a row per measured row.
    """
    head, rule, *rows = run_benchmarks("tell", "--quick", "--markdown").splitlines()

    assert {"ours", "ratio", "goal"} <= set(head.split())
    assert set("|-") == set(rule)
    assert [len(head.split("|"))] * 2 == [len(row.split("|")) for row in rows]
