"""The checkout that the tests stand in: its folders, files and imports."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("actors", "backends", "protocol")


def sources(folder: str) -> list[Path]:
    """Return every Python file of one folder of the library."""
    return sorted((ROOT / folder).rglob("*.py"))


def packages(folder: str) -> dict[str, Path]:
    """Return the import name and the place of a folder and of every package in it."""
    return {
        ".".join(("retinue", *guard.parent.relative_to(ROOT).parts)): guard.parent
        for guard in sorted((ROOT / folder).rglob("__init__.py"))
    }


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """
    Yield the line and the dotted name of every import in a file, inside functions too.

    `from a import b` gives `a.b`, since `b` may be a module.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                origin = "." * level + (module or "")
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)
            case _:
                continue


def is_within(name: str, package: str) -> bool:
    """Tell whether a dotted name is a package or something in it."""
    return f"{name}.".startswith(f"{package}.")


def project_files() -> list[Path]:
    """Return every file that belongs to the project; what git ignores does not."""
    git = shutil.which("git")
    if git is not None and (ROOT / ".git").exists():
        command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        found = {ROOT / name for name in listed.stdout.split("\0") if name}
    else:  # an unpacked source distribution
        found = {path for path in ROOT.rglob("*") if "__pycache__" not in path.parts}
    return sorted(path for path in found if path.is_file() and not path.is_symlink())
