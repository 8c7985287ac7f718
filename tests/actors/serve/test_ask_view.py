"""What people see of a question: the answer as it comes, the tree, the lines."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from retinue.actors import Agent, Runtime
from retinue.actors.serve._ask_progress import AskProgress
from retinue.actors.serve._ask_view import LineView, Streaming, TreeView, plain
from retinue.actors.tools import subagent
from retinue.backends.models.scripted import Hold, Reply, ScriptedModel
from tests.doubles import PATIENCE


def terminal() -> Console:
    """Return a console that writes into a buffer, as if that were a terminal."""
    return Console(file=io.StringIO(), force_terminal=True, width=80, height=24)


def drawn(console: Console) -> str:
    """Return what was drawn, without colours."""
    file = console.file
    assert isinstance(file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())


class Stage:
    """A question whose child is held in the middle of its work."""

    def __init__(self, runtime: Runtime) -> None:
        self.hold = Hold()
        self.progress = AskProgress()
        runtime.subscribe(self.progress)
        call = {"name": "subagent", "arguments": {"description": "look\x1b up", "prompt": "x"}}
        model = ScriptedModel(
            {
                "": [{"text": "Let me look.", "calls": [call]}, "It is\tblue.\x1b"],
                "0": [{"calls": [{"name": "read"}]}, Reply("Blue.", hold=self.hold)],
            }
        )
        agent = Agent(model=model, name="agent", tools=[subagent(), read])
        start = runtime.start("spawn", "What colour?", agent=agent)
        self.progress.follow(runtime, start)
        self.run = start.get(timeout=PATIENCE)
        assert self.hold.reached.wait(PATIENCE)

    def finish(self) -> None:
        """Let the child go on, to the end of the question."""
        self.hold.release()
        self.run.result.get(timeout=PATIENCE)
        self.run.dispose().get(timeout=PATIENCE)


def read() -> str:
    """Read."""
    return "read"


@pytest.fixture(name="stage")
def make_stage(runtime: Runtime) -> Stage:
    """Give a question in the middle of its work."""
    return Stage(runtime)


def test_the_tree_says_who_works_at_what_for_how_many_tokens(stage: Stage) -> None:
    """The agent waits for its tool, its child for the model; both have spent something."""
    console = terminal()
    view = TreeView(console, Streaming(None))

    view.show(stage.progress, 1.0)
    view.hide()
    stage.finish()

    lines = drawn(console).splitlines()
    assert re.match(r"agent  tool subagent  \d+ tokens", lines[0])
    assert re.match(r"  look\\x1b up  the model  \d+ tokens", lines[1])
    assert re.search(r"2 runs alive, \d+ tokens, 1 s", lines[2])


def test_a_question_that_is_answered_at_once_draws_nothing(stage: Stage) -> None:
    """The terminal does not flicker."""
    console = terminal()
    view = TreeView(console, Streaming(None))

    view.show(stage.progress, 0.1)
    view.hide()
    stage.finish()

    assert "" == drawn(console)


def test_the_answer_streams_and_the_tree_stands_aside(stage: Stage) -> None:
    """A message ends its line; the tree comes after it, and the answer is not written twice."""
    out, console = io.StringIO(), terminal()
    streaming = Streaming(out)
    view = TreeView(console, streaming)

    view.show(stage.progress, 1.0)
    assert "Let me look.\n" == out.getvalue()
    assert "runs alive" in drawn(console)
    view.hide()
    stage.finish()
    streaming.give(stage.progress.said())
    streaming.finish("It is\tblue.\x1b")

    assert "Let me look.\nIt is\tblue.\\x1b\n" == out.getvalue()


def test_while_a_line_is_open_there_is_no_tree(stage: Stage) -> None:
    """The cursor stands in the answer."""
    out, console = io.StringIO(), terminal()
    streaming = Streaming(out)
    streaming.give(["half a li"])
    stage.progress.said()

    TreeView(console, streaming).show(stage.progress, 1.0)
    stage.finish()

    assert "" == drawn(console)
    assert "half a li" == out.getvalue()


def test_an_answer_that_did_not_stream_is_written_at_the_end() -> None:
    """As when a guard gave another text than the model."""
    out = io.StringIO()
    streaming = Streaming(out)
    streaming.give(["one", ""])

    streaming.finish("another")

    assert "one\nanother\n" == out.getvalue()


def test_lines_tell_starts_and_ends_of_children(stage: Stage) -> None:
    """For logs: nothing moves, and what a model wrote moves nothing either."""
    out = io.StringIO()
    view = LineView(out, Streaming(None))

    view.show(stage.progress, 0.5)
    stage.finish()
    view.show(stage.progress, 2.0)

    started, ended = out.getvalue().splitlines()
    assert started.startswith("0.5 s: ")
    assert "(look\\x1b up) has started, a child of" in started
    assert re.search(r"\(look\\x1b up\) ended completed, \d+ tokens$", ended)


def test_lines_and_tabs_stay_and_nothing_else_moves_a_cursor() -> None:
    """FORGE: an answer is text, and a terminal reads it as text."""
    assert "a\tb\nc\\x1b[2J\\r" == plain("a\tb\nc\x1b[2J\r")
