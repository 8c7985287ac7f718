"""The commands of `retinue`, with typer; `cli` is the door in front of them."""

from __future__ import annotations

import os
import signal
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from rich.console import Console

from retinue.actors.serve._ask_command import ask
from retinue.actors.serve._foreground import BY_SIGNAL, FAILED, REFUSED, View
from retinue.actors.serve._live import LineView, TreeView, report_tables
from retinue.actors.serve._streams import write
from retinue.actors.serve._survey_foreground import Order, survey_in_foreground
from retinue.actors.serve._survey_progress import Progress
from retinue.actors.serve._survey_report import report_json, report_lines, visible
from retinue.actors.serve._survey_tally import Tally, shown
from retinue.actors.serve.survey import WIDTH, Plan
from retinue.protocol.errors import RetinueError, StartFailed

app = typer.Typer(
    name="retinue",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Delegate work to agents, and stay in charge.",
)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001 - called by typer
    if not is_asked:
        return
    try:
        which = version("retinue")
    except PackageNotFoundError:
        which = "from a checkout, not installed"
    write(sys.stdout, f"retinue {which}\n")
    raise typer.Exit


@app.callback()
def retinue(
    *,
    is_asked: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Say which version this is.",
        ),
    ] = False,
) -> None:
    """Delegate work to agents, and stay in charge."""
    del is_asked


@app.command()
def survey(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="The directory. If it is a link, it is followed.")
    ],
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of tables.")
    ] = False,
    depth: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Start no run for directories more than N levels below PATH. The run above"
            " counts them, so that the numbers stay the same.",
        ),
    ] = None,
    provider: Annotated[
        str,
        typer.Option(metavar="NAME", help="The provider of the runs; it has to run behaviours."),
    ] = "spawn",
    max_live: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Have at most N runs alive at once. A directory for which there is no room is"
            " counted by the run above it.",
        ),
    ] = None,
    cancel_after: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="SECONDS", help="Cancel the survey after so long."),
    ] = None,
) -> None:
    """
    Survey a directory: one run per directory counts files, lines and bytes by kind.

    Files are regular files, as `find PATH -type f` lists them; links are not followed. Lines
    are newlines, as `wc -l` counts them, bytes are what `ls -l` shows, and a kind is the
    suffix of a name. What cannot be read is listed with the reason, and changes no exit code.

    Each run delegates the directories in its own and adds up what they return. Progress goes
    to stderr: a live tree in a terminal, else a line every few seconds.

    Ctrl-C or SIGTERM cancels all runs and prints what was counted, marked partial; a second
    one ends everything at once.

    Exit codes: 0 complete, 1 a run failed and the result is partial, 2 the survey was
    refused, 3 cancelled by --cancel-after, 130 by Ctrl-C, 143 by SIGTERM.
    """
    width = WIDTH if max_live is None else min(WIDTH, max_live)
    order = Order(path, Plan(provider, depth, width), max_live, cancel_after)
    try:
        code = _survey(order, as_json=as_json)
    except KeyboardInterrupt:  # before or after the survey, which handles its own
        code = BY_SIGNAL + signal.SIGINT
    raise typer.Exit(code)


app.command()(ask)


def _survey(order: Order, *, as_json: bool) -> int:
    try:
        _check_directory(order.path)
        ending = survey_in_foreground(order, _view())
    except OSError as error:
        return _failed(f"{shown(order.path)}: {error.strerror}", REFUSED)
    except RetinueError as error:
        return _failed(str(error), FAILED if isinstance(error, StartFailed) else REFUSED)
    for note in ending.notes:
        _say(note)
    try:
        write(sys.stdout, _report(ending.tally, as_json=as_json))
    except OSError as error:
        return _failed(f"the report could not be written: {error.strerror}", FAILED)
    return ending.code


def _check_directory(path: str) -> None:
    """Raise OSError when the path is no directory, or cannot be read."""
    os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def _view() -> View[Progress]:
    console = Console(stderr=True)
    return (
        TreeView(console)
        if console.is_terminal and not console.is_dumb_terminal
        else LineView(sys.stderr)
    )


def _report(tally: Tally, *, as_json: bool) -> str:
    if as_json:
        return f"{report_json(tally)}\n"
    console = Console()
    if console.is_terminal:
        return report_tables(tally, console)
    return "\n".join((*report_lines(tally), ""))


def _say(text: str) -> None:
    write(sys.stderr, f"retinue: {visible(text)}\n")


def _failed(text: str, code: int) -> int:
    _say(text)
    return code
