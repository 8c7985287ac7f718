"""Limits on what agents use: they end with their reason and with what they have said."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, Limits, Runtime
from retinue.backends.models.scripted import ScriptedModel
from retinue.backends.scripted import Hold, Item, Return, Say, Scripted, Spend
from retinue.protocol.errors import BudgetSpent, InvalidLimit, LimitReached, RunFailed, Transient
from retinue.protocol.log import Cause, TurnFinished
from retinue.protocol.result import (
    BUDGET,
    COMPLETED,
    MAX_TURNS,
    TIMEOUT,
    StopReason,
    Usage,
)
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.actors.budgets import ONE, boss, look, virtual, working

REACHED = [
    (Limits(steps=3), MAX_TURNS),
    (Limits(requests=3), BUDGET),
    (Limits(tokens=15), BUDGET),
    (Limits(tokens=11), BUDGET),
    (Limits(cost=0.75), BUDGET),
]


@pytest.mark.parametrize(("limits", "reason"), REACHED)
def test_a_model_that_needs_more_ends_with_the_reason_and_its_text(
    limits: Limits, reason: StopReason
) -> None:
    """
    H37, H39, H87: three requests are sent, their text is kept, and nothing calls it success.
    """
    with virtual() as runtime:
        result = started(runtime, working(5), limits=limits).result.get()

        assert (reason, "step 3", 3) == (result.stop_reason, result.text, result.usage.requests)
        assert not result.is_success
        assert isinstance(result.error, BudgetSpent)
        assert result.run_id in str(result.diagnostic)
        with pytest.raises(RunFailed, match=f"(?s)ended {reason}.*is reached.*step 3"):
            result.unwrap()


@pytest.mark.parametrize("limits", [limits for limits, _ in REACHED])
def test_a_model_that_needs_no_more_than_it_may_completes(limits: Limits) -> None:
    """
    An answer that is there is not thrown away for what it cost.
    """
    with virtual() as runtime:
        result = started(runtime, working(3), limits=limits).result.get()

        assert (COMPLETED, "step 3") == (result.stop_reason, result.text)


def test_text_is_kept_though_the_last_answer_only_calls_tools() -> None:
    """
    H39: what a reader can read wins over a call that came to nothing.
    """
    replies = [
        {"text": "so far", "calls": [{"name": "look", "arguments": {}}]},
        {"calls": [{"name": "look", "arguments": {}}]},
    ]
    with virtual() as runtime:
        agent = Agent(model=ScriptedModel(replies), tools=[look])
        result = started(runtime, agent, limits=Limits(steps=2)).result.get()

        assert (MAX_TURNS, "so far") == (result.stop_reason, result.text)


def test_parent_and_child_share_the_parents_requests() -> None:
    """
    H51: a limit of five is for both; the child has no other by default, and the parent sees
    why it ended.
    """
    with virtual() as runtime:

        def delegate(turn: Any) -> list[Any]:
            first = ended(turn.start("spawn", "go", agent=working(3)))
            second = ended(turn.start("spawn", "go", agent=working(3)))
            with pytest.raises(LimitReached, match=r"limit of 5 requests is reached \(5 used\)"):
                turn.start("spawn", "go", agent=working(1))
            return [[str(one.stop_reason), one.usage.requests, one.text] for one in (first, second)]

        result = started(runtime, boss(delegate), limits=Limits(requests=5)).result.get()

        expected = [["completed", 3, "step 3"], ["budget", 2, "step 2"]]
        assert expected == result.unwrap()
        assert 5 == result.total_usage.requests


def test_a_child_may_have_less_than_its_parent_and_never_more() -> None:
    """
    Promise 7: its own limit binds it alone, a wider one changes nothing.
    """
    with virtual() as runtime:

        def delegate(turn: Any) -> list[int]:
            limits = (Limits(requests=2), Limits(requests=100))
            runs = [turn.start("spawn", "go", agent=working(9), limits=one) for one in limits]
            return [ended(run).usage.requests for run in runs]

        result = started(runtime, boss(delegate), limits=Limits(requests=6)).result.get()

        assert [2, 4] == result.unwrap()


def test_a_runtime_has_limits_for_all_that_runs_in_it() -> None:
    """
    Roots share them; when they are used up no other starts.
    """
    with virtual(limits=Limits(cost=1.0)) as runtime:
        results = [started(runtime, working(3)).result.get() for _ in range(2)]

        assert [COMPLETED, BUDGET] == [result.stop_reason for result in results]
        assert [3, 1] == [result.usage.requests for result in results]
        with pytest.raises(LimitReached, match="limit of cost of 1 is reached"):
            started(runtime, echo)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [(Limits(steps=2), MAX_TURNS), (Limits(requests=2), BUDGET), (Limits(run=5.0), TIMEOUT)],
)
def test_the_parent_has_one_notice_of_a_background_child_at_its_limit(
    limits: Limits, reason: StopReason
) -> None:
    """
    H21: whatever the limit, the parent hears once, and why.
    """
    with virtual() as runtime:

        def slow(turn: Any) -> Steps:
            yield turn.sleep(1e6)

        agent: Any = slow if limits.run else working(9)
        root = opened(runtime, echo)
        child = runtime.start(
            "spawn", "go", agent=agent, parent=root, background=True, limits=limits
        ).get()
        child.result.get()
        root.ask("next").get()

        told = [text for text in map(_summary, root.own_transcript()) if text]
        assert [f"spawn ({child.id}) ended {reason}"] == told
        assert child.id == child.result.get().run_id


def _summary(event: Any) -> str:
    source = getattr(getattr(event, "message", None), "source", None)
    is_notice = source is not None and source.form.value == "notice"
    return str(source.summary) if source is not None and is_notice else ""


@pytest.mark.parametrize("item", [Spend(ONE), Say("said", ONE)])
def test_a_driver_that_spends_unasked_is_stopped_at_the_limit(item: Any) -> None:
    """
    Promise 1, H87: no limit is ignored because a provider does not ask before it spends.
    """
    script: list[Item] = [Say("begun"), item, item, Hold(), Return("whole")]
    with virtual(providers=[Scripted(script)]) as runtime:
        run = runtime.start("scripted", "go", limits=Limits(tokens=10)).get()
        result = run.result.get()

        causes = [event.cause for event in run.transcript() if isinstance(event, TurnFinished)]
        assert (BUDGET, [Cause.BUDGET]) == (result.stop_reason, causes)
        assert result.text in {"begun", "said"}
        assert 10 == result.usage.input_tokens + result.usage.output_tokens


def test_a_driver_that_spends_unasked_gets_no_turn_when_nothing_is_left() -> None:
    """
    H87: a resident's next prompt is answered budget, and the provider is not troubled.
    """
    items: list[Item] = [Say("first", ONE), Return("first")]
    provider = Scripted([items])
    with virtual(providers=[provider]) as runtime:
        run = runtime.open(None, provider="scripted", limits=Limits(requests=1)).get()
        first, second = run.ask("go").get(), run.ask("go on").get()

        assert "first" == first.text
        assert (BUDGET, "") == (second.stop_reason, second.text)


def test_a_request_that_is_sent_again_counts_again() -> None:
    """
    H51: three tries of one answer are three requests, and the fourth is not sent.
    """
    with virtual() as runtime:
        agent = Agent(model=ScriptedModel([{"raises": Transient("busy")}] * 9))
        result = started(runtime, agent, limits=Limits(requests=3)).result.get()

        assert (BUDGET, 3) == (result.stop_reason, result.usage.requests)


def test_an_answer_that_took_two_requests_counts_as_two() -> None:
    """
    A model that sends more than it is asked for says so, and that is what counts.
    """
    with virtual() as runtime:
        agent = working(9, Usage(1, 1, 2))
        result = started(runtime, agent, limits=Limits(requests=5)).result.get()

        assert (BUDGET, "step 3", 6) == (result.stop_reason, result.text, result.usage.requests)


@pytest.mark.parametrize("name", ["live", "total", "turns", "steps"])
def test_a_run_counts_itself(runtime: Runtime, name: str) -> None:
    """
    Promise 1: of what each run needs one, none is no limit but a mistake.
    """
    none: dict[str, Any] = {name: 0}

    with pytest.raises(InvalidLimit, match="live, total, turns and steps are at least 1"):
        started(runtime, echo, limits=Limits(**none))


def test_what_costs_nothing_may_be_forbidden_to_spend() -> None:
    """
    No requests at all: a behaviour works, a model does not.
    """
    with virtual() as runtime:
        limits = Limits(requests=0)
        results = [
            started(runtime, agent, limits=limits).result.get() for agent in (echo, working(1))
        ]

        assert [COMPLETED, BUDGET] == [result.stop_reason for result in results]
        assert Usage() == results[1].usage
