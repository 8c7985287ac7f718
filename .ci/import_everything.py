"""
Import from an installed wheel every module that a checkout has.

    python import_everything.py CHECKOUT

A module may refuse to be imported only by naming the extra that it needs, or, behind the
command that explains this, for want of a package that the extra `cli` brings.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

FOLDERS = ("actors", "backends", "protocol")
BROUGHT_BY_CLI = {"rich", "typer"}


def main(checkout: Path) -> None:
    """
    Import everything, and say how much that was.

    Raises:
        ImportError: a module is missing from the wheel, or fails without naming an extra.
    """
    imported: list[str] = []
    waiting: list[str] = []
    for name in module_names(checkout):
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            if "retinue[" not in str(error) and error.name not in BROUGHT_BY_CLI:
                raise
            waiting.append(f"{name}: {error}")
            continue
        origin = Path(module.__file__ or "")
        if not origin.is_relative_to(sys.prefix):
            raise ImportError(f"{name} comes from {origin}, not from the wheel")
        imported.append(name)
    if not imported:
        raise ImportError(f"there is no module in {checkout}")
    print(f"{len(imported)} modules imported from the wheel, {len(waiting)} ask for an extra")
    for line in waiting:
        print(f"  {line}")


def module_names(checkout: Path) -> list[str]:
    """Return the import name of every Python file in the folders of the library."""
    names: list[str] = []
    for folder in FOLDERS:
        for path in (checkout / folder).rglob("*.py"):
            parts = path.relative_to(checkout).with_suffix("").parts
            names.append(".".join(("retinue", *parts)).removesuffix(".__init__"))
    return sorted(names)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
