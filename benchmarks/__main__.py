"""
List the benchmarks, or run some.

    python -m benchmarks                     what there is
    python -m benchmarks spawn               one of them, as a table
    python -m benchmarks spawn --json        a line of JSON per row
    python -m benchmarks --all --markdown    the table of README.md
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks._harness import Row, Size

NAMES: Final = (
    "spawn",
    "memory",
    "alive",
    "cancel",
    "backlog",
    "stop",
    "tree",
    "ask",
    "blocking",
    "ring",
    "fan",
    "tell",
    "fork",
    "history",
    "registry",
    "race",
    "cycles",
    "deterministic",
    "guest",
    "broadcast",
    "delegation",
)
COLUMNS: Final = ("name", "layer", "ours", "rival", "ratio", "goal", "met", "unit", "rounds")


def module(name: str) -> ModuleType:
    """Import one benchmark."""
    return importlib.import_module(f"benchmarks.{name}")


def summary(name: str) -> str:
    """Return the first line of what a benchmark says of itself."""
    return (module(name).__doc__ or "").strip().partition("\n")[0]


def rows(names: Iterable[str], size: Size) -> Iterator[Row]:
    """Run benchmarks, one after the other."""
    for name in names:
        yield from module(name).measure(size)


def number(value: float | None) -> str:
    """Write a number with three digits that count."""
    if value is None:
        return "–"
    if value == int(value):
        return str(int(value))
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cells(row: Row) -> tuple[str, ...]:
    """Return a row as the texts of its columns."""
    met = "–" if row.goal is None else ("yes" if row.is_met else "no")
    return (
        row.name,
        row.layer,
        number(row.ours),
        number(row.rival),
        number(row.ratio),
        number(row.goal),
        met,
        row.unit,
        str(row.rounds),
    )


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__.splitlines()[1])
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run")
    parser.add_argument("--all", action="store_true", help="run all of them")
    parser.add_argument("--full", action="store_true", help="large sizes; takes its time")
    parser.add_argument("--json", action="store_true", help="a line of JSON per row")
    parser.add_argument("--markdown", action="store_true", help="a table for README.md")
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    if importlib.util.find_spec("retinue") is None:
        parser.error("retinue is not installed here: pip install '.[test]', then try again")

    from benchmarks._harness import Size

    names = NAMES if given.all else given.names
    if not names:
        for name in NAMES:
            print(f"{name:14} {summary(name)}")
        return 0
    size = Size.QUICK if given.quick else Size.FULL if given.full else Size.DEFAULT
    if given.markdown:
        print("| " + " | ".join(COLUMNS) + " |")
        print("|" + "---|" * len(COLUMNS))
    elif not given.json:
        print(" ".join(f"{column:>9}" for column in COLUMNS))
    for row in rows(names, size):
        if given.json:
            print(row.as_json(), flush=True)
        elif given.markdown:
            print("| " + " | ".join(cells(row)) + " |", flush=True)
        else:
            print(" ".join(f"{cell:>9}" for cell in cells(row)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
