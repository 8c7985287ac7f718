"""The front door: every block of the README runs as it stands."""

from __future__ import annotations

import ast
import importlib.util
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


# What a block may need that the tests do not bring: other people's frameworks.
FOREIGN = {"agents": "openai-agents", "langgraph": "langgraph"}


def packages_of(block: str) -> set[str]:
    """Return the packages that a block imports."""
    imports = [node for node in ast.parse(block).body if isinstance(node, ast.ImportFrom)]
    return {(node.module or "").partition(".")[0] for node in imports}


def skip_without(packages: set[str]) -> None:
    """Skip, and say what to install, where a framework of other people is not there."""
    for package in sorted(packages & set(FOREIGN)):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"NOT RUN: this block needs {package}; pip install {FOREIGN[package]}")


@pytest.mark.parametrize(
    "block", [block for _, block in HEADINGS], ids=[heading for heading, _ in HEADINGS]
)
def test_a_block_of_the_readme_runs_as_it_stands(block: str) -> None:
    """A reader who copies a block into a file and runs it sees no error and no warning."""
    packages = packages_of(block)
    skip_without(packages)
    # A framework's own warnings are its own.
    strict = () if packages & set(FOREIGN) else ("-W", "error")
    ran = subprocess.run(
        [sys.executable, *strict, "-c", block],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert ran.stderr == ""
    assert ran.returncode == 0


def test_each_framework_has_its_block() -> None:
    """The front door shows an agent of pydantic-ai, of the OpenAI Agents SDK, and a graph."""
    shown = set[str]().union(*[packages_of(block) for block in BLOCKS])

    assert {"pydantic_ai", *FOREIGN} <= shown


def test_a_block_whose_framework_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A skip names the package, and is no pass."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    with pytest.raises(pytest.skip.Exception, match="pip install openai-agents"):
        skip_without({"agents", "retinue"})


def test_the_first_block_counts_lines() -> None:
    """The ten lines of the first screen print what they promise."""
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKS[0]], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert re.fullmatch(r"\d+ lines\n", ran.stdout)
