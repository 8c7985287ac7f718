"""What behaviours do to the place where they work, and who calls the runtime from inside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.actors import Reply, Runtime, ThreadDispatcher
from retinue.protocol.errors import Cancelled
from retinue.protocol.events import RunEnded
from retinue.protocol.result import COMPLETED, ERROR
from tests.actors.behaviours import WAYS, Steps, coroutine, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate, Probe


def raises(*_: object) -> Any:
    """Raise."""
    raise ValueError("no")


class Masked:
    """A value whose very class cannot be asked for."""

    __class__ = property(raises)


@pytest.mark.parametrize("schema", [None, {"type": "string"}])
@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_cannot_be_read_ends_the_turn(
    runtime: Runtime, way: Callable[[Any], Any], schema: Any
) -> None:
    """
    The turn ends ``error`` on whichever thread it worked.
    """
    result = ended(started(runtime, way(lambda _: Masked()), output_schema=schema))

    assert ERROR == result.stop_reason
    assert "cannot be read" in str(result.diagnostic)


def test_a_behaviour_may_stop_the_loop_it_runs_on(runtime: Runtime) -> None:
    """
    The loop serves others as well, and goes on.
    """
    run = started(runtime, coroutine(lambda _: asyncio.get_running_loop().stop()))
    ended(run)

    assert "next" == ended(started(runtime, coroutine(echo), "next")).text


def test_a_watcher_may_cancel_and_an_observer_may_start(runtime: Runtime) -> None:
    """
    What is called inside the registry may use the runtime, as long as it does not wait.
    """
    first, second = opened(runtime, echo), opened(runtime, echo)
    seen = Probe()

    def watcher(_: object) -> None:
        first.cancel("again")
        second.cancel("you too")

    def observer(event: object) -> None:
        seen.tell((type(event).__name__, len(runtime.tree())))
        if isinstance(event, RunEnded) and event.run_id == second.id:
            runtime.start("spawn", "from an observer", agent=echo).on_done(seen.tell)

    runtime.subscribe(observer)
    runtime.watch(first, watcher)
    first.cancel("enough").get(timeout=PATIENCE)

    ended(second)
    while not isinstance(letter := seen.expect(object), Reply):
        pass
    assert "from an observer" == ended(letter.outcome()).text


@pytest.mark.parametrize(
    "use",
    [
        lambda turn: turn.say("late"),
        lambda turn: turn.delta("late"),
        lambda turn: turn.step(),
        lambda turn: turn.start("spawn", "late", agent=echo),
        lambda turn: turn.open(echo),
        lambda turn: turn.sleep(0.0),
        lambda turn: turn.wait([]),
        lambda turn: turn.report("late"),
        lambda turn: turn.call(len, "late"),
        lambda turn: turn.set_policy("approval", "never"),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_is_over_is_over(
    runtime: Runtime, way: Callable[[Any], Any], use: Callable[[Any], Any]
) -> None:
    """
    Promise 1: whoever kept it is told, and not left to think that it was heard.
    """
    kept = list[Any]()
    run = opened(runtime, way(kept.append))
    run.ask("go").get(timeout=PATIENCE)

    with pytest.raises(Cancelled, match="turn 1 is over"):
        use(kept[0])
    assert COMPLETED == run.ask("again").get(timeout=PATIENCE).stop_reason


def test_a_constructor_is_part_of_the_first_step() -> None:
    """
    Of a class whose turns are stepped: what blocks in it is left behind as well, and what
    it starts belongs to the turn.
    """
    gate = Gate()

    class Blocks:
        def __init__(self) -> None:
            gate.wait()

        def turn(self, _: Any) -> Steps:
            yield

    class Starts:
        def __init__(self) -> None:
            self.child = runtime.start("spawn", "go", agent=echo)

        def turn(self, _: Any) -> Steps:
            run = yield from self.child
            yield from run.result
            return run.depth

    with Runtime(dispatcher=ThreadDispatcher(evict_after=0.1)) as runtime:
        assert "turn.call()" in str(ended(started(runtime, Blocks)).diagnostic)
        gate.open()
        assert 1 == ended(started(runtime, Starts)).structured


def test_a_provider_that_cannot_be_loaded_costs_its_parent_nothing(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An installed package may be broken; only the start is refused.
    """
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[retinue.providers]\nbroken = nowhere:at_all\n")
    monkeypatch.syspath_prepend(tmp_path)

    def parent(turn: Any) -> Steps:
        try:
            yield from turn.start("broken", "go", agent=echo)
        except ImportError as error:
            return str(error)

    assert "nowhere" in ended(started(runtime, parent)).text
    with pytest.raises(ImportError, match="nowhere"):
        runtime.start("broken", "go", agent=echo).get(timeout=PATIENCE)
