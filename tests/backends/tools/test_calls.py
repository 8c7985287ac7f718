"""One call of a tool: what the function gets, and what the model is told."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import attrs
import pytest
from pydantic import BaseModel

from retinue.actors import DeterministicDispatcher, Runtime
from retinue.protocol.agent import Agent
from retinue.protocol.content import Data, Text
from retinue.protocol.errors import NoProvider, StartFailed, ToolFailed
from retinue.protocol.tool import Conclude, Tool
from tests.backends.loop.models import HOUR, Talker, calls, says
from tests.backends.tools.using import caller, ended, offered, results, texts, used, with_tools
from tests.doubles import PATIENCE, Gate


@attrs.frozen
class Point:
    """A place on a plane."""

    x: int
    y: int = 0


class Person(BaseModel):
    """Somebody."""

    name: str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        (None, "done"),
        ("", ""),
        (0, "0"),
        ({"größe": [1, True, None]}, '{"größe": [1, true, null]}'),
        (Point(1), '{"x": 1, "y": 0}'),
        ([Point(1), Point(2)], '[{"x": 1, "y": 0}, {"x": 2, "y": 0}]'),
        (Person(name="Ada"), '{"name": "Ada"}'),
        ({"who": [Person(name="Ada")]}, '{"who": [{"name": "Ada"}]}'),
        (Text("a block"), "a block"),
        ([Text("two"), Data({"a": 1}), "three"], 'two\n{"a": 1}\nthree'),
    ],
    ids=repr,
)
def test_what_a_tool_returns_is_text_for_the_model(
    runtime: Runtime, value: object, text: str
) -> None:
    """
    Text stays as it is, byte for byte; everything else is JSON that says the same.
    """
    assert [text] == [
        result.text for result in used(runtime, [Tool("get", lambda: value)], ("get", {}))
    ]


@pytest.mark.parametrize("value", [object(), {1: object()}, float("nan"), threading.Lock()])
def test_what_cannot_be_shown_is_an_error_for_its_author(runtime: Runtime, value: object) -> None:
    """
    The call's result says what a tool may return.
    """
    (result,) = used(runtime, [Tool("get", lambda: value)], ("get", {}))

    assert result.is_error
    assert "a tool returns text, JSON values, content blocks" in result.text


class Stop(BaseException):
    """Something that no handler of exceptions catches."""


def raising(error: BaseException) -> Any:
    """Return a function that raises."""

    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolFailed("the file is locked"), "the file is locked"),
        (ValueError("bad"), "ValueError: bad"),
        (KeyError(), "KeyError"),
        (NoProvider("no provider 'x'"), "NoProvider: no provider 'x'"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError("inner"), "CancelledError: inner"),
        (Stop("now"), "Stop: now"),
    ],
    ids=repr,
)
def test_whatever_a_tool_raises_is_its_result(
    runtime: Runtime, error: BaseException, text: str, *, is_async: bool
) -> None:
    """
    TOOL-31, H85: name and message, no trace, and the turn goes on.
    """
    work = raising(error)

    async def wait() -> None:
        work()

    tools = [Tool("work", wait if is_async else work), Tool("other", lambda: "fine")]
    first, second = used(runtime, tools, ("work", {}), ("other", {}))

    assert first.is_error
    assert text in first.text
    assert "Traceback" not in first.text
    assert "fine" == second.text


def test_arguments_come_as_the_function_wants_them_or_it_is_not_called(runtime: Runtime) -> None:
    """
    A call that does not fit is an error that says how; the function never runs for it.
    """
    seen: list[Any] = []

    def move(to: Point, by: int = 1) -> None:
        seen.append((to, by))

    said = used(
        runtime,
        [move],
        ("move", {"to": {"x": 1}, "by": 2}),
        ("move", {"to": {"x": "one"}}),
        ("move", {"": "to=3"}),
    )

    assert [(Point(1), 2)] == seen
    assert [False, True, True] == [result.is_error for result in said]
    assert "/to/x: 'one' is not of type 'integer'" in said[1].text
    assert "a JSON object is expected, and this is none: to=3" in said[2].text


def test_the_turn_is_given_to_who_asks_for_it(runtime: Runtime) -> None:
    """
    A coroutine function gets the turn that awaits, a plain one the turn that blocks.
    """

    async def on_loop(turn: Any, word: str) -> str:
        await turn.sleep(1.0)
        return f"{type(turn).__name__} {word}"

    def on_thread(turn: Any, word: str) -> str:
        turn.sleep(1.0)
        return f"{type(turn).__name__} {word}"

    said = used(
        runtime, [on_loop, on_thread], ("on_loop", {"word": "a"}), ("on_thread", {"word": "b"})
    )
    assert ["Turn a", "BlockingTurn b"] == [result.text for result in said]


def test_a_run_started_inside_a_tool_is_a_child_of_the_turn(threaded: Runtime) -> None:
    """
    A plain tool may delegate and wait, several levels deep, without starving anybody.
    """

    def leaf(turn: Any) -> str:
        return f"at depth {turn.depth}"

    def delegate(turn: Any) -> str:
        run = turn.start("spawn", "go", agent=agent if turn.depth < 3 else leaf)
        parent = threaded.children(turn.run)
        assert [run.id] == [row.run_id for row in parent]
        return str(run.result.get().text)

    agent = Agent(model=Again(), tools=[Tool("delegate", delegate)])
    run = threaded.start("spawn", "go", agent=agent).get(timeout=PATIENCE)

    assert "at depth 4" == ended(run).text


class Again:
    """A model without a memory: it delegates, and repeats what came of it."""

    name = "again"

    async def stream(self, request: Any) -> Any:
        """Call, or say what the call gave."""
        last = request.messages[-1].content[-1]
        if isinstance(last, Text):
            yield calls(("c", "delegate", {}))
        else:
            yield says(last.text)


def test_a_call_that_is_late_is_cancelled_and_cleans_up(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    H07: by the runtime's clock; a coroutine's clean-up runs, a thread is woken from its wait.
    """
    seen: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(HOUR)
        finally:
            await asyncio.sleep(1.0)
            seen.append("slow cleaned up")

    def blocked(turn: Any) -> None:
        try:
            turn.sleep(HOUR)
        finally:
            seen.append("blocked woke up")

    tools = [Tool("slow", slow, timeout=5.0), Tool("blocked", blocked, timeout=7.0)]
    said = used(runtime, tools, ("slow", {}), ("blocked", {}))

    assert ["slow cleaned up", "blocked woke up"] == seen
    assert ["timed out: slow had 5 s, and was cancelled"] == [said[0].text]
    assert ["timed out: blocked had 7 s, and was cancelled"] == [said[1].text]
    assert 5.0 + 1.0 + 7.0 == pytest.approx(dispatcher.clock.now())


def test_a_call_in_time_is_not_disturbed_by_its_limit(runtime: Runtime) -> None:
    """
    A limit that is not reached leaves no timer behind.
    """

    async def quick() -> str:
        await asyncio.sleep(1.0)
        return "in time"

    assert ["in time"] == [
        r.text for r in used(runtime, [Tool("quick", quick, timeout=5.0)], ("quick", {}))
    ]


def test_a_cancel_during_a_call_settles_it_and_keeps_the_log_balanced(threaded: Runtime) -> None:
    """
    LOG-14: the call under way gets its result, and the waiting thread is let go.
    """
    gate = Gate()

    def wait(turn: Any) -> None:
        gate.reached.set()
        turn.sleep(HOUR)

    agent = with_tools(caller(("wait", {})), [Tool("wait", wait, timeout=HOUR)])
    run = threaded.start("spawn", "go", agent=agent).get(timeout=PATIENCE)
    assert gate.reached.wait(PATIENCE)
    run.cancel("enough")

    assert "aborted" == ended(run).stop_reason
    assert ["cancelled before it was done"] == texts(run)


def test_a_wrong_signature_refuses_the_start(runtime: Runtime) -> None:
    """
    VAL-7's sort: the mistake is told when the run is started, and no model is asked.
    """
    model = Talker()

    def work(*paths: str) -> None:
        del paths

    with pytest.raises(StartFailed, match="tool 'work'"):
        runtime.start("spawn", "go", agent=with_tools(model, [work])).get()
    kept = with_tools(Talker(says("done")), [work, Tool("ok", lambda: "fine")])
    run = runtime.start("spawn", "go", agent=kept, tool_filter={"deny": ["work"]}).get()
    assert "done" == ended(run).text


@pytest.mark.parametrize("name", ["read_result", "structured_output"])
def test_names_of_the_runtimes_own_tools_are_refused(runtime: Runtime, name: str) -> None:
    """
    PER-5: what the runtime offers itself cannot be shadowed.
    """
    with pytest.raises(StartFailed, match=f"tool '{name}': the name is the runtime's own"):
        runtime.start("spawn", "go", agent=with_tools(Talker(), [Tool(name, str)])).get()


def test_a_tool_that_concludes_ends_the_turn_with_its_own_result(runtime: Runtime) -> None:
    """
    LOG-12: the model is told, and the output is the tool's.
    """

    def finish() -> Conclude:
        return Conclude({"kept": True}, "the end")

    run = runtime.start("spawn", "go", agent=with_tools(caller(("finish", {})), [finish])).get()

    assert "the end" == ended(run).text
    assert [{"kept": True}] == [json.loads(text) for text in texts(run)]
    assert [False] == [result.is_error for result in results(run)]


def test_a_tool_is_described_by_its_docstring_or_its_own_words(runtime: Runtime) -> None:
    """
    The model reads what a tool is for, and its schema.
    """

    def work(path: str) -> None:
        """Do the work."""
        del path

    model = Talker(says("done"))
    agent = with_tools(model, [work, Tool("more", work, "Do more.")])
    ended(runtime.start("spawn", "go", agent=agent).get())

    assert ["work", "more"] == offered(model)
    specs = model.requests[0].tools
    assert ["Do the work.", "Do more."] == [spec.description for spec in specs]
    assert ["path"] == specs[0].parameters["required"]
