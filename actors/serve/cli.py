"""
The `retinue` command.

What it needs beyond the library is an extra, so nothing of that is imported until the
command is called, and a missing package is told in a sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from retinue.actors.serve._streams import write
from retinue.protocol.errors import MissingExtra

_EXTRA: Final = frozenset(("typer", "rich"))
_REFUSED: Final = 2
_INTERRUPTED: Final = 130


def main() -> None:
    """
    Run the command line of this process.

    Raises:
        SystemExit: always, with the exit code.
    """
    try:
        commands()(prog_name="retinue")
    except MissingExtra as error:
        write(sys.stderr, f"{error}\n")
        sys.exit(_REFUSED)
    except KeyboardInterrupt:  # while modules were imported
        sys.exit(_INTERRUPTED)


def commands() -> Callable[..., Any]:
    """
    Import the commands.

    Raises:
        MissingExtra: a package that they need is not installed.
    """
    try:
        from retinue.actors.serve.commands import app
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        raise MissingExtra(
            f"the retinue command needs {package}, which is not installed;"
            " pip install 'retinue[cli]'"
        ) from error
    return app


if __name__ == "__main__":
    main()
