"""Children talk to their parents: reports of their own, and notices of how they ended."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from retinue.actors import ManualClock, Run, Runtime
from retinue.protocol.content import Form, Kind, Message
from retinue.protocol.errors import DeadRun
from retinue.protocol.result import ABORTED, COMPLETED, ERROR
from tests.actors.behaviours import WAYS, Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate, Probe


class Listener:
    """A resident that keeps what its turns are given."""

    def __init__(self) -> None:
        self.probe = Probe()

    def __call__(self, turn: Any) -> str:
        """Keep the messages, and start what the prompt holds."""
        for message in turn.messages:
            self.probe.tell(message)
        return str(turn.text)

    def expect(self) -> Message:
        """Return the next message that came."""
        return self.probe.expect(Message)


@pytest.fixture(name="listener")
def make_listener() -> Listener:
    """Give a resident's behaviour."""
    return Listener()


@pytest.mark.parametrize("make", WAYS)
def test_a_child_reports_to_its_parent(runtime: Runtime, listener: Listener, make: Any) -> None:
    """
    The report wakes an idle parent, says whose it is, and has a summary of one line.
    """
    root = opened(runtime, listener)

    def work(turn: Any) -> None:
        turn.report("half   of it\nis done")

    child = started(runtime, make(work), parent=root)
    message = listener.expect()

    assert "half   of it\nis done" == message.text
    assert (Kind.CHILD, Form.REPORT, child.id, "half of it is done") == (
        message.source.kind,
        message.source.form,
        message.source.sender,
        message.source.summary,
    )
    assert ended(child).is_success


def test_a_report_without_anybody_above_fails_at_once(runtime: Runtime) -> None:
    """
    H54: a root has no parent, and the child of a parent that is gone has none any more.
    """
    parents, gate, errors = list[Run](), Gate(), list[BaseException]()

    def orphan(turn: Any) -> None:
        try:
            turn.report("hello")
        except DeadRun as error:
            errors.append(error)

    def child(turn: Any) -> None:
        gate.wait()
        turn.ask(parents[0], "are you there?")

    ended(started(runtime, orphan))
    assert "has no parent" in str(errors[0])

    parents.append(opened(runtime, echo))
    asking = started(runtime, child)
    assert gate.reached.wait(PATIENCE)
    parents[0].dispose().get(timeout=PATIENCE)
    gate.open()

    assert isinstance(ended(asking).error, DeadRun)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("say", COMPLETED), ("fail", ERROR), ("sleep", ABORTED), ("quiet", COMPLETED)],
)
def test_a_background_child_is_accounted_for_once(
    runtime: Runtime, listener: Listener, text: str, reason: str
) -> None:
    """
    H21, H36: one notice, from the runtime, with the child's id, how it ended and its words;
    reports come before it.
    """

    def child(turn: Any) -> str | None:
        turn.report("on my way")
        if text == "fail":
            raise ValueError("odd")
        if text == "sleep":
            turn.sleep(1e9)
        return None if text == "quiet" else "my words"

    root = opened(runtime, listener)
    run = started(runtime, child, parent=root, background=True, label="helper")
    assert Form.REPORT is listener.expect().source.form
    if text == "sleep":
        run.cancel("enough").get(timeout=PATIENCE)
    notice = listener.expect()
    root.ask("anything else?").get(timeout=PATIENCE)

    assert (Kind.RUNTIME, Form.NOTICE, run.id) == (
        notice.source.kind,
        notice.source.form,
        notice.source.sender,
    )
    assert f"helper ({run.id}) ended {reason}" == notice.source.summary
    words = "my words" if text == "say" else "it left no closing message"
    assert words in notice.text
    assert ["anything else?"] == [m.text for m in listener.probe.unread()]  # type: ignore[attr-defined]


def test_a_child_over_its_limit_gives_one_notice(
    timed: Runtime, clock: ManualClock, listener: Listener
) -> None:
    """
    H21: with the reason timeout, and not another one when the runtime closes.
    """
    begun = threading.Event()

    def child(turn: Any) -> Steps:
        begun.set()
        yield turn.sleep(1e9)

    root = opened(timed, listener)
    run = started(timed, child, parent=root, background=True, deadline=5.0)
    assert begun.wait(PATIENCE)
    clock.advance(5.0)
    notice = listener.expect()
    root.dispose().get(timeout=PATIENCE)

    assert f"spawn ({run.id}) ended timeout" == notice.source.summary
    assert [] == listener.probe.unread()


def test_a_childs_words_do_not_become_somebody_elses(runtime: Runtime, listener: Listener) -> None:
    """
    H36: of fifty that end as they like, every notice has the id that belongs to its words.
    """
    root = opened(runtime, listener)
    runs = [
        runtime.start("spawn", f"marker {n}", agent=echo, parent=root, background=True)
        for n in range(50)
    ]
    ids = {run.get(timeout=PATIENCE).id: f"marker {n}" for n, run in enumerate(runs)}

    for _ in range(50):
        notice = listener.expect()
        marker = ids.pop(str(notice.source.sender))
        assert notice.text.endswith(f".\n{marker}")
