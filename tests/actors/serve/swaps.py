"""What takes a file's place between the list and the open."""

from __future__ import annotations

from pathlib import Path


def nothing() -> None:
    """Go on."""


def leave(_: Path) -> None:
    """Put nothing in a file's place."""


def link_away(path: Path) -> None:
    """Put a link in a file's place."""
    path.symlink_to("/etc/passwd")
