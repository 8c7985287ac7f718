"""Runtime: the one place that wires a dispatcher, a registry and providers together."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

import pykka

from retinue.actors._arguments import a_dispatcher, several
from retinue.actors._closing import ClosableRuntime, warn_forgotten
from retinue.actors._dispatcher import Dispatcher
from retinue.actors._providers import once
from retinue.actors._reply import Reply
from retinue.actors._service import Service
from retinue.actors._thread_dispatcher import ThreadDispatcher
from retinue.protocol import messages
from retinue.protocol.approval import policies
from retinue.protocol.delegation import NO_LIMITS, Limits
from retinue.protocol.errors import InvalidLimit, InvalidRequest

if TYPE_CHECKING:
    from retinue.actors._clock import Clock
    from retinue.actors._ticket import Cancellation
    from retinue.actors.handle import Run
    from retinue.actors.host import HostRuntime
    from retinue.protocol.approval import Approver
    from retinue.protocol.provider import Provider

# What a stopped run may take to let go before it is reported as stuck.
GRACE_SECONDS: Final = 2.0


class Runtime(ClosableRuntime):
    """
    Runs agents, in this process and elsewhere, and stays in charge of them.

    Args:
        providers: providers to register beside the known ones, which are found by name.
        limits: what all runs of this runtime together may use.
        dispatcher: a ThreadDispatcher by default; a DeterministicDispatcher for runs that
            can be repeated.
        clock: tells the time for deadlines and timers; the machine's by default.
        seed: makes ids and random numbers the same each time.
        grace: seconds that a stopped run may take to let go before it is named as stuck.
        approver: takes a Question, a call that a guard of a root's tool wants to be approved,
            and returns True, or else False or why not. A function has a thread of its own, a
            coroutine function runs on the loop; who says nothing in ten minutes denies.
        policy: what roots are started with. ``approval`` is ``ask``, ``always`` or ``never``:
            whether the approver is asked, or all of that is allowed or denied at once.
            ``delegated_approval`` is what everything delegated is pinned to, ``never``
            unless said. Others are free, and inherited.

    A context manager, sync and async. ``async with`` runs coroutine behaviours on the
    loop that it was entered in; ``with`` on a loop of its own, made when first needed.
    Every operation returns a Reply and may be called from any thread.
    """

    def __init__(
        self,
        providers: Iterable[Provider] = (),
        *,
        limits: Limits | None = None,
        dispatcher: Dispatcher | None = None,
        clock: Clock | None = None,
        seed: object = None,
        grace: float = GRACE_SECONDS,
        approver: Approver | None = None,
        policy: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if limits is not None and not isinstance(limits, Limits):
            raise InvalidLimit(f"limits: expected Limits(...), got {type(limits).__name__}")
        if isinstance(grace, bool) or not isinstance(grace, (int, float)) or not grace > 0:
            raise InvalidLimit(f"grace: expected seconds above 0, got {grace!r}")
        if dispatcher is not None and clock is not None:
            raise InvalidRequest("give the clock to the dispatcher, or only one of the two")
        given, listed = several("providers", providers), policies(policy)
        if approver is not None and not callable(approver):
            raise InvalidRequest(f"approver: expected a function, got {type(approver).__name__}")
        dispatcher = ThreadDispatcher(clock) if dispatcher is None else a_dispatcher(dispatcher)
        dispatcher.take()
        if seed is None:
            seed = getattr(dispatcher, "seed", None)
        self._service = Service(dispatcher, limits or NO_LIMITS, seed, float(grace))
        self._service.approver = approver
        self._service.policy = listed
        self._is_closed = False
        # A finalizer and no __del__: at the interpreter's exit a blocked thread may hold the
        # module, and everything in it, for ever.
        self._forgotten = weakref.finalize(self, warn_forgotten, self._service, repr(self))
        try:
            for provider in given:
                self.register(provider).get()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def for_host(host: pykka.ActorRef[Any], **options: Any) -> HostRuntime:
        """
        Make a runtime whose runs belong to a pykka actor.

        Call it in the actor with ``self.actor_ref``, and ``close`` it in ``on_stop``.

        Args:
            host: the actor's ref.
            options: those of Runtime.
        """
        from retinue.actors.host import HostRuntime as Hosted

        return Hosted(host, **options)

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "open"
        return f"<Runtime {self._service.dispatcher.prefix} {state}>"

    def __enter__(self) -> Self:
        self._must_be_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._must_be_open()
        self._service.dispatcher.use_running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def clock(self) -> Clock:
        """The clock of deadlines, timers and logs."""
        return self._service.dispatcher.clock

    @property
    def registry(self) -> pykka.ActorRef[Any]:
        """The ref of the registry actor, the only one that pykka's registry knows."""
        ref: pykka.ActorRef[Any] = self._service.registry
        return ref

    def start(
        self,
        provider: str,
        prompt: object,
        *,
        parent: Run | None = None,
        agent: object = None,
        label: str | None = None,
        output_schema: Any = None,
        max_depth: int | None = None,
        tool_filter: Any = None,
        tool_rules: str | None = None,
        persona: str | None = None,
        options: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        deadline: float | None = None,
        background: bool = False,
        drain: bool = False,
        cancel: Cancellation | None = None,
    ) -> Reply[Run]:
        """
        Start a one-shot run; the Reply resolves with its Run when it exists.

        Inside a turn the run is that turn's child. A request that cannot be honoured is
        refused before anything exists, and the Reply fails with the reason.

        Args:
            provider: the name of a provider.
            prompt: text, a content block or a sequence of them.
            parent: the run that it belongs to; inside a turn that turn's run.
            agent: an Agent, a function, a generator, a coroutine function or a class.
            label: shown in trees.
            output_schema: a JSON Schema or a class; the result then has to satisfy it.
            max_depth: the deepest that this run or any below it may be; only narrows.
            tool_filter: which of the agent's tools it keeps.
            tool_rules: whether its parent's tool filter binds it: ``ceiling``, the default,
                has it keep only what both keep, ``own`` only its own; its log has which.
            persona: replaces the agent's instructions for this run; "" by nothing.
            options: come before the agent's, field by field, and those before the ``model``
                and ``max_tokens`` that its parent works with, where it has them.
            limits: what the run and everything below it may use; near the end it is told.
            deadline: seconds from its start after which it ends with ``timeout``.
            background: whether it belongs to the parent's run and not to its turn.
            drain: whether the ends of its turns wait for their children.
            cancel: a token that cancels it, start included.
        """
        return self._service.start(
            provider,
            prompt,
            parent=parent,
            agent=agent,
            label=label,
            output_schema=output_schema,
            max_depth=max_depth,
            tool_filter=tool_filter,
            tool_rules=tool_rules,
            persona=persona,
            options=options,
            limits=limits,
            deadline=deadline,
            background=background,
            drain=drain,
            cancel=cancel,
        )

    def open(
        self,
        agent: object,
        *,
        name: str | None = None,
        provider: str = "spawn",
        prompt: object = None,
        parent: Run | None = None,
        cancel: Cancellation | None = None,
        **options: Any,
    ) -> Reply[Run]:
        """
        Open a resident: a run that takes messages until it is stopped.

        Args:
            name: found by ``turn.peer(name)`` and ``find``; unique among live runs.
            prompt: its first turn, if it is to have one at once.
            options: the rest of the arguments of ``start``.
        """
        return self._service.open(
            agent,
            name=name,
            provider=provider,
            prompt=prompt,
            parent=parent,
            cancel=cancel,
            **options,
        )

    def register(self, provider: Provider) -> Reply[Callable[[], bool]]:
        """
        Register a provider; the Reply resolves with what removes this very registration.

        Fails with DuplicateProvider when the name is taken. What removes it says whether
        this call did; later calls, and those after ``close``, do nothing.
        """
        reply: Reply[str] = self._service.ask_registry(messages.RegisterProvider(provider))

        def remover(name: str) -> Callable[[], bool]:
            order = messages.UnregisterProvider(name, provider)
            return once(lambda: not self._is_closed and bool(self._ask(order)))

        return reply.map(remover)
