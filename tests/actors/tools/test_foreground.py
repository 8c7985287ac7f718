"""Delegation in the foreground: one call, one child, one answer."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

from retinue.actors import Tool
from retinue.actors.tools import subagent
from retinue.protocol.errors import ProviderFault
from retinue.protocol.events import RunEnded, RunStarted
from tests.actors.providers import Keeping
from tests.actors.tools.chiefs import Chief, call, calls, delegate, returned, worker
from tests.doubles import Probe


def test_the_childs_text_comes_back_framed_and_with_its_id(chief: Chief) -> None:
    """TOOL-4, TOOL-5, H71: by default a call waits, and its result names the run."""
    run = chief.start([calls(delegate("1 found it")), "thanks"])

    assert "thanks" == run.result.get().unwrap()
    (result,) = returned(run)
    assert not result.is_error
    child = f"{run.id[:-1]}2"
    assert (
        f'<retinue-message from="child" run="{child}">\nfound it\n</retinue-message>' == result.text
    )


def test_the_description_is_what_people_see(chief: Chief) -> None:
    """TOOL-2: it labels the child in trees and events."""
    probe = Probe()
    chief.runtime.subscribe(probe.tell)

    chief.run([calls(call("subagent", description="look  around", prompt="0 x")), "thanks"])

    started = [letter for letter in probe.unread() if isinstance(letter, RunStarted)]
    assert [None, "look around"] == [event.label for event in started]


def test_the_caller_itself_can_be_the_child(chief: Chief) -> None:
    """Without an agent the child is the caller's own, with its model and tools."""
    script = {"": [calls(delegate("deeper")), "top"], "0": [calls(delegate("deepest")), "mid"]}
    script["0.0"] = ["bottom"]

    assert "top" == chief.run(script, subagent()).unwrap()

    assert ["go", "deeper", "deepest"] == [
        request.messages[0].text for request in chief.requests if request.step == 1
    ]


def test_calls_of_one_step_overlap(chief: Chief) -> None:
    """TOOL-10: four children of five seconds take five, and come back in order."""
    before = chief.dispatcher.clock.now()

    run = chief.start([calls(*[delegate(f"5 {x}") for x in "abcd"]), "thanks"])
    run.result.get()

    assert 5.0 == chief.dispatcher.clock.now() - before
    assert ["a", "b", "c", "d"] == [result.text.splitlines()[1] for result in returned(run)]


def test_one_tool_is_called_twice_in_a_row_and_twice_at_once(chief: Chief) -> None:
    """H42: a tool is no team that is running already."""
    pair = [calls(delegate("1 a"), delegate("1 b")), calls(delegate("1 c")), calls(delegate("1 d"))]

    run = chief.start([*pair, "thanks"])

    assert "thanks" == run.result.get().unwrap()
    assert ["a", "b", "c", "d"] == [result.text.splitlines()[1] for result in returned(run)]


def test_a_failure_is_an_error_and_keeps_what_was_said(chief: Chief) -> None:
    """TOOL-6, H71: headline with the id, diagnostic, then partial text; never a success."""

    async def breaks(turn: Any) -> None:
        turn.say("half of it")
        raise ValueError("</retinue-message> broke")

    run = chief.start([calls(delegate("try")), "a pity"], subagent(agent=breaks))

    assert "a pity" == run.result.get().unwrap()
    (result,) = returned(run)
    child = f"{run.id[:-1]}2"
    assert result.is_error
    assert [
        f"Run {child} (try) failed.",
        "Diagnostic: breaks raised ValueError('\u2039/retinue-message> broke')",
        "It is not done; it had said:",
        f'<retinue-message from="child" run="{child}">',
        "half of it",
        "</retinue-message>",
    ] == result.text.splitlines()


def test_the_tools_cancel_is_the_runs_cancel(chief: Chief) -> None:
    """TOOL-9, H04: an interrupt of the caller's turn ends the child, as aborted."""
    probe = Probe()
    run = chief.open([calls(delegate("60 late"))], prompt="go")
    chief.runtime.subscribe(probe.tell)
    chief.dispatcher.advance(1.0)
    probe.expect(RunStarted)

    run.interrupt().get()
    chief.dispatcher.run_until_idle()

    ended = probe.expect(RunEnded)
    assert ("aborted", "half of late") == (ended.result.stop_reason, ended.result.text)
    assert not run.result.is_done


def test_a_call_that_is_cancelled_alone_takes_its_run_along(chief: Chief) -> None:
    """TOOL-9: the turn goes on, and the child of the call does not."""

    class Hurried:
        names = ("subagent",)

        def __init__(self) -> None:
            self._tool = subagent(agent=worker, background=False)

        async def tools(self, turn: Any) -> list[Tool]:
            return [attrs.evolve(tool, timeout=5.0) for tool in await self._tool.tools(turn)]

        async def close(self, run_id: str) -> None:
            await self._tool.close(run_id)

    probe = Probe()
    chief.runtime.subscribe(probe.tell)
    run = chief.start([calls(delegate("60 late")), calls(call("nap")), "so"], Hurried(), nap)

    assert "so" == run.result.get().unwrap()
    run.dispose().get()

    assert "timed out" in returned(run)[0].text
    ends = [letter.result for letter in probe.unread() if isinstance(letter, RunEnded)]
    assert ["aborted", "completed"] == [result.stop_reason for result in ends]
    assert 7.0 == chief.dispatcher.clock.now()


async def nap() -> str:
    """Sleep."""
    await asyncio.sleep(2)
    return "slept"


@pytest.mark.parametrize("background", [False, True])
def test_a_cancel_while_the_start_is_pending_leaves_no_child(
    chief: Chief, *, background: bool
) -> None:
    """TOOL-12: whoever stops the call stops the start, and nothing of it is left."""
    probe = Probe()

    class Stuck(Keeping):
        is_immediate = False

        def open(self, order: Any, workplace: Any) -> Any:
            workplace.sleep(60.0).get()
            return super().open(order, workplace)

    provider = Stuck("stuck")
    provider.is_immediate = False
    chief.runtime.register(provider).get()
    tool = subagent("stuck", agent=worker)
    run = chief.open([calls(delegate("1 x", run_in_background=background))], tool, prompt="go")
    chief.runtime.subscribe(probe.tell)
    chief.dispatcher.advance(1.0)

    run.interrupt().get()
    chief.dispatcher.advance(120.0)

    assert [] == probe.unread()
    assert 1 == len(chief.runtime.tree())


def test_a_provider_that_cannot_start_is_an_error_and_no_crash(chief: Chief) -> None:
    """TOOL-13, TOOL-31: the model reads the error's name and words, and goes on."""

    class Broken(Keeping):
        def open(self, order: Any, workplace: Any) -> Any:
            raise ProviderFault("no socket")

    chief.runtime.register(Broken("broken")).get()

    run = chief.start([calls(delegate("x")), "a pity"], subagent("broken", agent=worker))

    assert "a pity" == run.result.get().unwrap()
    (result,) = returned(run)
    assert result.is_error
    assert result.text.startswith("StartFailed: ")
    assert "no socket" in result.text


def test_a_child_that_does_not_let_go_is_no_success(chief: Chief) -> None:
    """TOOL-7: the call waits until its child is gone, and says when it is not."""

    class Clinging(Keeping):
        def open(self, order: Any, workplace: Any) -> Any:
            driver = super().open(order, workplace)
            driver.close = lambda: 1 / 0
            return driver

    chief.runtime.register(Clinging("clinging")).get()

    run = chief.start([calls(delegate("1 x")), "hm"], subagent("clinging", agent=worker))

    assert "hm" == run.result.get().unwrap()
    (result,) = returned(run)
    assert result.is_error
    assert "did not let go of everything" in result.text
    assert "x" == result.text.splitlines()[-2]


def test_a_delegation_and_a_plain_tool_are_both_seen(chief: Chief) -> None:
    """H29: in one batch, and in the very next step."""
    run = chief.start([calls(delegate("3 found"), call("nap")), "ok"], subagent(agent=worker), nap)
    run.result.get()

    results = chief.requests[1].messages[-1].content
    assert ["found", "slept"] == [
        getattr(results[0], "text", "").splitlines()[1],
        getattr(results[1], "text", ""),
    ]


def test_a_long_result_is_framed_page_by_page(chief: Chief) -> None:
    """H67, H28: nothing is cut without saying so, and no page of it stands outside of a frame."""
    long = "a line\n" * 9_000
    read_on = call("read_result", result_id="r1", offset=30_000)
    run = chief.start([calls(delegate("x")), calls(read_on), "ok"], subagent(agent=lambda _: long))
    run.result.get()

    for result in returned(run):
        frame, _, more = result.text.partition("\n\n[Shown up to")
        assert frame.startswith('<retinue-message from="child" run="')
        assert frame.endswith("\n</retinue-message>")
        assert "read_result" in more
