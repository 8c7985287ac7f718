"""The front door: every block of the README runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.checkout import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
HEADINGS = [
    (re.findall(r"^#+ (.*)$", README[: README.index(block)], re.MULTILINE)[-1], block)
    for block in BLOCKS
]


@pytest.mark.parametrize(
    "block", [block for _, block in HEADINGS], ids=[heading for heading, _ in HEADINGS]
)
def test_a_block_of_the_readme_runs_as_it_stands(block: str) -> None:
    """A reader who copies a block into a file and runs it sees no error and no warning."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert ran.stderr == ""
    assert ran.returncode == 0


def test_the_first_block_counts_lines() -> None:
    """The ten lines of the first screen print what they promise."""
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKS[0]], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert re.fullmatch(r"\d+ lines\n", ran.stdout)
