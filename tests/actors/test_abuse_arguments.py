"""Arguments of the wrong kind: each is refused in words, and nothing is started or broken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retinue.actors import Agent, Limits, Reply, Runtime, ThreadDispatcher, Tool
from retinue.protocol.content import Data, Message
from retinue.protocol.errors import InvalidRequest, LimitReached, NoSuchRun, RetinueError
from retinue.protocol.result import ERROR
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE

JUNK: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, math.nan, math.inf, -0.0, 1.5]),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from([object(), object, len, [], (), {}, {1: 2}, {"a": object()}, [[]], Reply()]),
)
OPTIONS: Final = (
    "parent",
    "agent",
    "label",
    "output_schema",
    "max_depth",
    "tool_filter",
    "persona",
    "options",
    "limits",
    "deadline",
    "background",
    "drain",
    "cancel",
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    provider=JUNK | st.just("spawn"),
    prompt=JUNK,
    options=st.dictionaries(st.sampled_from(OPTIONS), JUNK, max_size=2),
)
def test_a_start_takes_anything_and_answers(
    runtime: Runtime, provider: Any, prompt: Any, options: dict[str, Any]
) -> None:
    """
    Promise 1: it is honoured, or refused with one of our errors; it never raises, and every
    run that it starts has an end.
    """
    reply = runtime.start(provider, prompt, **{"agent": echo, **options})

    try:
        run = reply.get(timeout=PATIENCE)
    except RetinueError:
        return
    run.result.get(timeout=PATIENCE)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=JUNK, timeout=JUNK, when=JUNK)
def test_a_wait_takes_anything_and_answers(
    runtime: Runtime, junk: Any, timeout: Any, when: Any
) -> None:
    """
    What is no run is refused in the Reply; what has no end is not waited for.
    """
    if isinstance(junk, Reply) or (isinstance(junk, list) and not junk):
        return
    every: list[tuple[Any, ...]] = [(junk,), ([junk],), ([], timeout), ([], None, when)]
    for arguments in every:
        try:
            assert [] == runtime.wait(*arguments).get(timeout=PATIENCE)
        except InvalidRequest:
            continue


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=JUNK)
def test_a_runtimes_questions_are_answered_or_refused(runtime: Runtime, junk: Any) -> None:
    """
    By our own errors, all of them.
    """
    run = opened(runtime, echo)
    asks: list[Callable[[], Any]] = [
        lambda: runtime.find(junk).get(timeout=PATIENCE),
        lambda: runtime.result_of(junk),
        lambda: runtime.provider(junk),
        lambda: runtime.children(junk),
        lambda: runtime.descendants(junk),
        lambda: runtime.register(junk).get(timeout=PATIENCE),
        lambda: runtime.as_completed(junk, timeout=0),
        lambda: run.say("tell", junk).get(timeout=PATIENCE),
        lambda: run.inject(junk).get(timeout=PATIENCE),
    ]
    for ask in asks:
        try:
            ask()
        except RetinueError:
            continue
    run.cancel(junk).get(timeout=PATIENCE)
    assert run.dispose().get(timeout=PATIENCE)


def test_what_cannot_be_told_is_no_observer(runtime: Runtime) -> None:
    """
    Refused when it subscribes, not with each event.
    """
    run = opened(runtime, echo)

    with pytest.raises(InvalidRequest, match="observer: "):
        runtime.subscribe(5)
    with pytest.raises(InvalidRequest, match="watcher: "):
        runtime.watch(run, 5)
    with pytest.raises(InvalidRequest, match="run: "):
        runtime.watch(None, print)  # type: ignore[arg-type]


def test_a_run_of_another_runtime_is_no_parent(runtime: Runtime) -> None:
    """
    Nor can it be listed or watched here; it is where it was.
    """
    with Runtime() as other:
        run = opened(other, echo)
        with pytest.raises(InvalidRequest, match="another runtime"):
            runtime.start("spawn", "go", agent=echo, parent=run).get(timeout=PATIENCE)
        for ask in (runtime.children, runtime.descendants, lambda it: runtime.watch(it, print)):
            with pytest.raises(InvalidRequest, match="another runtime"):
                ask(run)

        assert "here" == run.ask("here").get(timeout=PATIENCE).text


def test_one_dispatcher_serves_one_runtime() -> None:
    """
    A second one would give its runs the first one's ids.
    """
    dispatcher = ThreadDispatcher()
    with Runtime(dispatcher=dispatcher), pytest.raises(InvalidRequest, match="dispatcher: "):
        Runtime(dispatcher=dispatcher)


@pytest.mark.parametrize("name", ["providers", "limits", "dispatcher", "clock", "grace"])
@pytest.mark.parametrize("junk", [0, 5, object(), math.nan, -1.0])
def test_a_runtime_is_not_made_of_junk(name: str, junk: Any) -> None:
    """
    Nothing of a runtime is left where its constructor raised.
    """
    if name == "grace" and junk == 5:
        return
    with pytest.raises(InvalidRequest):
        Runtime(**{name: junk})


@pytest.mark.parametrize(
    "options",
    [
        {"name": 5},
        {"instructions": 5},
        {"tools": 5},
        {"tools": (5,)},
        {"tools": (Tool("one", print), Tool("one", len))},
        {"options": 5},
        {"is_open": 1},
        {"gate": 5},
    ],
)
def test_an_agent_is_not_made_of_junk(options: dict[str, Any]) -> None:
    """
    Found when it is made, not when a run stumbles over it.
    """
    with pytest.raises(InvalidRequest):
        Agent(echo, **options)


@pytest.mark.parametrize("content", [Message("hi"), Data(object()), Message(())])  # type: ignore[arg-type]
def test_content_holds_blocks_and_json(runtime: Runtime, content: Any) -> None:
    """
    A Message of bare text would be read as no text at all.
    """
    with pytest.raises(InvalidRequest):
        runtime.start("spawn", content, agent=echo).get(timeout=PATIENCE)


def test_a_name_cannot_be_taken_for_an_id(runtime: Runtime) -> None:
    """
    A resident that is named like another run would be found in its place.
    """
    run = opened(runtime, echo)
    for name in (run.id, f"{runtime.id}-99", ""):
        with pytest.raises(InvalidRequest):
            runtime.open(echo, name=name).get(timeout=PATIENCE)
    number = run.id.rpartition("-")[2]
    for key in (f"{runtime.id}-0{number}", f"{runtime.id}-²", f"{runtime.id}-{'9' * 5000}"):
        with pytest.raises(NoSuchRun):
            runtime.find(key).get(timeout=PATIENCE)
    assert " a b " == opened(runtime, echo, name=" a b ").name


@pytest.mark.parametrize("limits", [Limits(live=0), Limits(total=0), Limits(live=0, queue=True)])
def test_limits_without_room_for_the_run_itself_are_refused(
    runtime: Runtime, limits: Limits
) -> None:
    """
    Promise 1: the run counts, so it could not even be started.
    """
    with pytest.raises(InvalidRequest, match="the run itself"):
        runtime.start("spawn", "go", agent=echo, limits=limits).get(timeout=PATIENCE)


def test_a_start_that_can_never_have_room_is_refused(runtime: Runtime) -> None:
    """
    All that is alive waits for it: queued, it would hang for ever.
    """

    def parent(turn: Any) -> Steps:
        return (yield from turn.start("spawn", "go", agent=echo)).id

    run = started(runtime, parent, limits=Limits(live=1, queue=True))

    assert ERROR == ended(run).stop_reason
    assert isinstance(ended(run).error, LimitReached)
    with Runtime(limits=Limits(live=0, queue=True)) as closed, pytest.raises(LimitReached):
        closed.start("spawn", "go", agent=echo).get(timeout=PATIENCE)
