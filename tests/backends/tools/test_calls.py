"""One call of a tool: what the function gets, and what the model is told."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from retinue.actors import DeterministicDispatcher, Run, Runtime
from retinue.backends._inprocess.turn import BlockingTurn
from retinue.protocol.agent import Agent
from retinue.protocol.content import Text
from retinue.protocol.errors import StartFailed
from retinue.protocol.tool import Conclude, Tool
from tests.backends.loop.models import HOUR, Talker, calls, says
from tests.backends.tools.using import caller, ended, offered, results, texts, used, with_tools
from tests.doubles import PATIENCE, Gate


def test_the_turn_is_given_to_who_asks_for_it(runtime: Runtime) -> None:
    """
    A coroutine function gets the turn that awaits, a plain one the turn that blocks.
    """

    async def on_loop(turn: Any, word: str) -> str:
        await turn.sleep(1.0)
        return f"{isinstance(turn, BlockingTurn)} {word}"

    def on_thread(turn: Any, word: str) -> str:
        turn.sleep(1.0)
        return f"{isinstance(turn, BlockingTurn)} {word}"

    said = used(
        runtime, [on_loop, on_thread], ("on_loop", {"word": "a"}), ("on_thread", {"word": "b"})
    )
    assert ["False a", "True b"] == [result.text for result in said]


def test_a_run_started_inside_a_tool_is_a_child_of_the_turn(threaded: Runtime) -> None:
    """
    A plain tool may delegate and wait, several levels deep, without starving anybody.
    """

    def leaf(turn: Any) -> str:
        return f"at depth {turn.depth}"

    def delegate(turn: Any) -> str:
        run = turn.start("spawn", "go", agent=agent if turn.depth < 3 else leaf)
        rows = {row.run_id: row.parent_id for row in threaded.tree()}
        assert turn.run.id == rows[run.id]
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
    A limit that is not reached leaves no timer behind, and no task that waits for one.
    """
    tasks: list[int] = []

    async def count() -> None:
        tasks.append(len(asyncio.all_tasks()))

    async def quick() -> str:
        await asyncio.sleep(1.0)
        return "in time"

    tools = [Tool("quick", quick, timeout=5.0), count]
    said = used(runtime, tools, ("count", {}), ("quick", {}), ("count", {}))

    assert "in time" == said[1].text
    assert 1 == len(set(tasks))


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


def test_a_tool_that_is_not_offered_is_not_there(runtime: Runtime) -> None:
    """
    What a tool says of the moment decides, before each request.
    """
    on: list[bool] = []
    tools = [
        Tool("switch", lambda: on.append(True)),
        Tool("lamp", lambda: "lit", is_offered=lambda _: bool(on)),
    ]
    model = caller(("lamp", {}), ("switch", {}))
    run = runtime.start("spawn", "go", agent=with_tools(model, tools)).get()

    ended(run)
    assert [["switch"], ["switch"], ["switch", "lamp"]] == [offered(model, n) for n in range(3)]
    assert "unknown tool 'lamp'; there are: switch" == texts(run)[0]


def test_calls_that_wait_for_one_another_have_a_thread_each(threaded: Runtime) -> None:
    """
    LOG-13: four runs make ten calls at once, and none ends before all forty have begun.
    """
    barrier = threading.Barrier(40)

    def meet() -> None:
        barrier.wait(PATIENCE)

    runs: list[Run] = []
    for _ in range(4):
        model = Talker(calls(*[(f"c{n}", "meet", {}) for n in range(10)]), says("done"))
        agent = with_tools(model, [Tool("meet", meet, is_concurrent=True)])
        runs.append(threaded.start("spawn", "go", agent=agent).get(timeout=PATIENCE))

    for run in runs:
        assert "done" == ended(run).text
        assert ["done"] * 10 == texts(run)
