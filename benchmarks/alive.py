"""
How many can be alive at once: all of them in at most 1 GB.

By default a tenth of the number in a tenth of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks._harness import Row, Series, Size, in_fresh_process, within
from benchmarks.memory import idle_bare, idle_run

GIGABYTE = 1e9


def measure(size: Size) -> Iterator[Row]:
    """Measure the memory of all, each layer in a process of its own."""
    for layer, function, full in (("bare", idle_bare, 1_000_000), ("run", idle_run, 500_000)):
        count = size.pick(100, full // 10, full)
        megabytes = in_fresh_process(function, count) * count / 1e6
        allowed = GIGABYTE / 1e6 * count / full
        yield within("alive", layer, Series((megabytes,)), allowed, f"MB for {count}")
