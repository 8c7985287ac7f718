"""
The actor of one run: performs what the lifecycle decides.

Work happens away from the mailbox, which therefore always answers. A turn's end, a
cancel and a child's end are messages like any other; only their order is a matter of
lanes.
"""

from __future__ import annotations

from typing import Any

import attrs
from loguru import logger

from retinue.actors._run_maintenance import Maintained
from retinue.actors._run_state import RunState
from retinue.actors._stepping import Resume
from retinue.actors._workplace import RELEASES
from retinue.protocol import messages
from retinue.protocol.content import Form, Kind, Message, Source, Text
from retinue.protocol.errors import (
    ProviderFault,
    RetinueError,
    StartFailed,
    ordinary,
    printable,
)
from retinue.protocol.lifecycle import Effect, Input, Phase
from retinue.protocol.log import Ending, Log, PolicySet
from retinue.protocol.provider import Outcome, check_driver, opens_at_once
from retinue.protocol.result import ERROR, RunResult, bounded_diagnostic
from retinue.protocol.tool_filter import POLICY, record


class RunActor(Maintained):
    """One run. Its handlers run on the runtime's dispatcher, one at a time."""

    __slots__ = ()

    # Opening.

    def on_seed(self, order: messages.Seed) -> None:
        """Begin the log with the parent's balanced turns; only before anything else."""
        if self.life.phase is Phase.NEW and self.log is None:
            self.log = Log(order.prefix, self.now)

    def on_begin(self, _: messages.Begin) -> None:
        """Open the driver."""
        seconds = self._ref.quota.limits.start
        if seconds is not None and not self.inline:
            self.set_timer(seconds, messages.DeadlinePassed("start"))
        self.feed(Input.BEGIN)

    def open_inline(self) -> None:
        """Open at once, in the registry's handler: nobody knows this run yet."""
        self.inline = True
        self.feed(Input.BEGIN)
        self.handle_facts()
        self.inline = False

    def open_driver(self) -> None:
        """Have the provider make the driver: here if that is nothing, else on a thread."""
        provider, workplace, order = self.provider, self.workplace, self.order
        assert order is not None
        self.driver_state = "opening"
        if opens_at_once(provider, order):
            try:
                driver = provider.open(order, workplace)
            except BaseException as error:  # noqa: BLE001 - the provider's door
                self.facts.append(messages.OpenFailed(error))
            else:
                self.facts.append(messages.Opened(driver))
            return

        def done(outcome: Outcome) -> None:
            if outcome.error is None:
                fact: Any = messages.Opened(outcome.value)
            else:
                fact = messages.OpenFailed(outcome.error)
            if not workplace.ref.dispatcher.put(workplace.ref, fact, None):
                _close_late(outcome.value)

        workplace.on_thread(lambda: provider.open(order, workplace), done, 0)

    def on_opened(self, fact: messages.Opened) -> None:
        """Take the driver; one that nobody waits for any more is closed again."""
        if self.life.phase is not Phase.OPENING:
            _close_late(fact.driver)
            return
        try:
            check_driver(fact.driver, self.provider.name)
        except ProviderFault as error:
            self.on_open_failed(messages.OpenFailed(error))
            return
        self.driver = fact.driver
        self.driver_state = "open"
        self.feed(Input.DRIVER_OPENED)

    def on_undelivered(self, message: Any) -> None:
        """Close a driver whose Opened was overtaken by a cancel, and hand back the rest."""
        if type(message) is messages.Opened:
            _close_late(message.driver)
        elif type(message) in RELEASES:
            self.service.lost.discard(self._ref.run_id)  # given up at the very moment
        else:
            super().on_undelivered(message)

    def on_open_failed(self, fact: messages.OpenFailed) -> None:
        """Refuse the start."""
        if self.life.phase is Phase.OPENING:
            self.driver_state = "closed"
            self.refusal = _start_failure(self._ref.run_id, self.provider.name, fact.error)
            self.feed(Input.OPEN_FAILED)

    def announce(self) -> None:
        """Ask the registry to publish; inline it is the registry that asked."""
        if not self.inline:
            self._tell_registry(messages.RunOpened(self._ref))

    def on_published(self, _: messages.Published) -> None:
        """Set the run's deadlines and policies, and start on what waits."""
        try:
            self._prepare()
        except Exception as error:  # noqa: BLE001 - a run that was announced has to end
            self.crash(error)
        self.feed(Input.PUBLISHED)

    def _prepare(self) -> None:
        request = self._ref.request
        is_endless = getattr(self.provider, "is_endless", False)
        if not is_endless:
            self.set_deadlines(request.features.deadline, self._ref.quota.limits.run)
        by = "runtime" if self._ref.parent is None else "delegation"
        if self.policy and request.features.origin is None:
            for name, value in self.policy.items():
                self.the_log().append(PolicySet(name, value, by, self.now))
        kept = None if self.order is None else self.order.tool_filter
        tools = record(kept, request.features.tool_rules)
        if tools is not None:
            self.the_log().append(PolicySet(POLICY, tools, by, self.now))
        if self.log is not None and self.log.seed_turns and self._is_fork:
            self.first_word(_fork_notice(self._ref))
        if request.prompt is not None:
            self.first_prompt(request.prompt)

    @property
    def _is_fork(self) -> bool:
        ref = self._ref
        is_child = ref.parent is not None and ref.request.features.origin is None
        return is_child and self.provider.inherits_context

    # Failing.

    def on_crashed(self, fact: messages.Crashed) -> None:
        """End ``error``: the driver will end no turn any more."""
        self.crash_for_good(fact.error)

    def crash(self, error: BaseException) -> None:
        """End the run ``error``, once, and release its children."""
        logger.bind(run_id=self._ref.run_id).error("crashed: {}", printable(error))
        turn = self.open_turn
        self.last = messages.TurnEnded(
            turn, Ending.ERROR, (), None, f"crashed: {printable(error)}", ordinary(error)
        )
        if turn:
            self._close_turn(self.last)
        self.refusal = self.refusal or _start_failure(self._ref.run_id, self.provider.name, error)
        if self._ref.mark is None:
            self._ref.mark = "the run crashed"
        self.feed(Input.CRASHED)
        self.handle_facts()

    def give_up(self, error: BaseException, second: BaseException) -> None:
        """Tell everybody the end of a run whose crash failed as well; its driver is lost."""
        logger.bind(run_id=self._ref.run_id).error(
            "crashed: {}; and then: {}", printable(error), printable(second)
        )
        if self.life.phase is Phase.ENDED:
            return
        self.life = attrs.evolve(self.life, phase=Phase.ENDED)
        self.cancel_all_children("the run crashed")
        self.stuck = (*self.stuck, self._ref.run_id)
        self.service.lost.add(self._ref.run_id)
        if self.result_value is None:
            text = bounded_diagnostic(f"crashed: {printable(error)}")
            self.result_value = RunResult(
                self._ref.run_id, ERROR, (), None, text, error=ordinary(error)
            )
        if self.life.is_published:
            self.tell_ended()
        else:
            self.tell_refused()

    def on_describe(self, _: messages.Describe) -> Any:
        """Say what the run is doing."""
        return self.service.describe(self)

    def on_stalled(self, fact: messages.Stalled) -> None:
        """Pass on that the driver was blocked."""
        self.service.stalled(self._ref, fact.seconds)

    def on_read_log(self, _: messages.ReadLog) -> Log:
        """Return the log."""
        return self.the_log()


def _fork_notice(ref: Any) -> Message:
    """Say, between the seed and the task, who is spoken to and what about (H45)."""
    parent = ref.parent.run_id
    text = Text(
        f"You are a child of {parent}, which goes on with its own work. The conversation up"
        " to here is its own, for your information. Your only task is the next message."
    )
    summary = f"forked from {parent}; the only task is the next message"
    return Message((text,), Source(Kind.RUNTIME, Form.NOTICE, parent, summary))


def _start_failure(run_id: str, provider: str, error: BaseException) -> BaseException:
    if isinstance(error, StartFailed):
        return error
    # Our own words are for people, and may have several lines.
    is_ours = isinstance(error, RetinueError)
    said = f"{type(error).__name__}: {error}" if is_ours else printable(error)
    failure = StartFailed(f"{run_id}: provider {provider!r} could not open the run: {said}")
    failure.__cause__ = error
    return failure


def _close_late(driver: Any) -> None:
    """Close a driver that nobody waits for any more."""
    if driver is None:
        return
    try:
        driver.close()
    except BaseException as error:  # noqa: BLE001 - the provider's door
        logger.error("a driver that came too late raised on close: {}", printable(error))


RunState.PERFORM = {
    Effect.OPEN_DRIVER: RunActor.open_driver,
    Effect.ANNOUNCE: RunActor.announce,
    Effect.SEEK_WORK: RunActor.seek_work,
    Effect.START_TURN: RunActor.start_turn,
    Effect.STOP_TURN: RunActor.stop_turn,
    Effect.STOP_TURN_CHILDREN: RunActor.stop_turn_children,
    Effect.SETTLE: RunActor.settle,
    Effect.RELEASE: RunActor.release,
    Effect.TELL_ENDED: RunActor.tell_ended,
    Effect.TELL_REFUSED: RunActor.tell_refused,
}

RunState.HANDLERS = {
    messages.Seed: RunActor.on_seed,
    messages.Begin: RunActor.on_begin,
    messages.Published: RunActor.on_published,
    messages.Prompt: RunActor.on_prompt,
    messages.Steer: RunActor.on_steer,
    messages.Inject: RunActor.on_inject,
    messages.WrapUp: RunActor.on_wrap_up,
    messages.Interrupt: RunActor.on_interrupt,
    messages.Cancel: RunActor.on_cancel,
    messages.Dispose: RunActor.on_dispose,
    messages.Maintain: RunActor.on_maintain,
    messages.MaintenanceEnded: RunActor.on_maintenance_ended,
    messages.Delegate: RunActor.on_delegate,
    messages.SetPolicy: RunActor.on_set_policy,
    messages.Describe: RunActor.on_describe,
    messages.ReadLog: RunActor.on_read_log,
    messages.Opened: RunActor.on_opened,
    messages.OpenFailed: RunActor.on_open_failed,
    messages.Said: RunActor.on_said,
    messages.Streamed: RunActor.on_streamed,
    messages.StepEdge: RunActor.on_step_edge,
    messages.Reserve: RunActor.on_reserve,
    messages.Retried: RunActor.on_retried,
    messages.ToolUsed: RunActor.on_tool_used,
    messages.AskApproval: RunActor.on_ask_approval,
    messages.ApprovalDecided: RunActor.on_approval_decided,
    messages.TurnEnded: RunActor.on_turn_ended,
    messages.UsageRecorded: RunActor.on_usage,
    messages.Crashed: RunActor.on_crashed,
    messages.CallsEnded: RunActor.on_calls_ended,
    messages.Closed: RunActor.on_closed,
    messages.Stalled: RunActor.on_stalled,
    messages.ChildOpened: RunActor.on_child_opened,
    messages.StartRefused: RunActor.on_start_refused,
    messages.ChildEnded: RunActor.on_child_ended,
    messages.Report: RunActor.on_report,
    messages.TakeOutput: RunActor.on_take_output,
    messages.Notice: RunActor.on_notice,
    messages.Returned: RunActor.on_returned,
    messages.DeadlinePassed: RunActor.on_deadline,
    Resume: RunActor.on_resume,
}
