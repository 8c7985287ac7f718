"""The commands, called in this process."""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from retinue.actors.serve import cli
from retinue.actors.serve._foreground import Signals
from retinue.actors.serve.commands import app
from retinue.protocol.errors import MissingExtra
from tests.actors.serve.trees import build, wide
from tests.doubles import PATIENCE


@pytest.fixture(name="runner")
def make_runner() -> CliRunner:
    """Give what calls the commands."""
    return CliRunner()


@pytest.mark.parametrize(
    "options",
    [[], ["--depth", "0"], ["--depth", "1"], ["--max-live", "3"], ["--provider", "fork"]],
    ids=" ".join,
)
def test_no_option_changes_a_number(runner: CliRunner, tmp_path: Path, options: list[str]) -> None:
    """
    Options say how a survey is done, never what comes of it.
    """
    wide(tmp_path, 7)

    result = runner.invoke(app, ["survey", str(tmp_path), "--json", *options])

    report = json.loads(result.stdout)
    assert 0 == result.exit_code
    assert (7, 7, 35, 8, False) == tuple(
        report[key] for key in ("files", "lines", "bytes", "directories", "partial")
    )


def test_the_handlers_of_signals_are_put_back(runner: CliRunner, tmp_path: Path) -> None:
    """
    Whoever calls a command in a process of theirs finds their handlers as they were.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)
    before = [signal.getsignal(number) for number in numbers]

    runner.invoke(app, ["survey", str(tmp_path)])

    assert before == [signal.getsignal(number) for number in numbers]


def test_a_provider_that_runs_no_behaviours_is_found_out(runner: CliRunner, tmp_path: Path) -> None:
    """
    A provider with answers of its own has surveyed nothing, and the report does not hide it.
    """
    build({b"a": b"1\n"}, tmp_path)

    result = runner.invoke(app, ["survey", str(tmp_path), "--provider", "scripted", "--json"])

    assert 1 == result.exit_code
    assert "provider 'scripted' did not survey it" in result.stderr
    assert json.loads(result.stdout)["partial"]


def test_survey_is_a_command_among_others(runner: CliRunner) -> None:
    """
    The name is needed although it is the only one, so that others can come.
    """
    result = runner.invoke(app, ["--help"])

    assert 0 == result.exit_code
    assert "survey" in result.stdout


def test_the_help_says_how_it_ends(runner: CliRunner) -> None:
    """
    Exit codes are part of what a script relies on.
    """
    result = runner.invoke(app, ["survey", "--help"])

    for code in ("0 complete", "1 a run failed", "2 ", "3 cancelled", "130", "143"):
        assert code in " ".join(result.stdout.split())


def test_only_what_the_extra_brings_is_reported_as_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    A broken module of ours is a bug, and not a package to install.
    """
    monkeypatch.setitem(sys.modules, "retinue.actors.serve.commands", None)

    with pytest.raises(ModuleNotFoundError) as caught:
        cli.commands()

    assert not isinstance(caught.value, MissingExtra)


def test_the_first_signal_is_a_number_in_a_queue() -> None:
    """
    A handler that did more could strike inside a lock that it needs.
    """
    came: list[int] = []

    with Signals(came.append, lambda: None):
        signal.raise_signal(signal.SIGTERM)

    assert [signal.SIGTERM] == came


def test_a_survey_on_another_thread_leaves_signals_alone() -> None:
    """
    Only the main thread may set handlers; elsewhere a survey goes without.
    """
    before = signal.getsignal(signal.SIGTERM)
    during: list[object] = []

    def survey() -> None:
        with Signals(lambda _: None, lambda: None):
            during.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=survey)
    thread.start()
    thread.join(PATIENCE)

    assert [before] == during
