"""What a runtime shows: waits, look-ups, lists, trees, subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from retinue.actors._archive import ended_event
from retinue.actors._arguments import own_ref, recipient, text
from retinue.actors._observers import tell_one
from retinue.actors._reply import Reply
from retinue.actors._waiting import ALL, AsCompleted
from retinue.protocol import messages
from retinue.protocol.errors import Closing, InvalidRequest
from retinue.protocol.tree import RunInfo, RunTree

if TYPE_CHECKING:
    from retinue.actors._service import Service
    from retinue.actors.handle import Run
    from retinue.protocol.provider import Provider
    from retinue.protocol.result import Outcome, RunResult


class RuntimeViews:
    """The part of a Runtime that asks and changes nothing."""

    _service: Service
    _is_closed: bool

    def _must_be_open(self) -> None:
        if self._is_closed or self._service.is_shut:
            raise Closing("this runtime was closed; make a new one")

    def _ask(self, message: Any) -> Any:
        self._must_be_open()
        return self._service.ask_registry_now(message)

    @overload
    def wait(
        self,
        runs: Sequence[Run | Reply[Run]],
        timeout: float | None = None,
        return_when: str = ALL,
    ) -> Reply[list[Outcome]]: ...
    @overload
    def wait(
        self, runs: Sequence[Any], timeout: float | None = None, return_when: str = ALL
    ) -> Reply[list[Any]]: ...
    def wait(
        self, runs: Sequence[Any], timeout: float | None = None, return_when: str = ALL
    ) -> Reply[list[Any]]:
        """
        Wait for runs or Replies of runs; one outcome per input, in order.

        An outcome is a RunResult, NotStarted with the error of a refused start, or Unfinished
        when the time was over first: all have run_id, stop_reason, text, is_success and
        unwrap. Nothing is cancelled by a wait that ends.

        Args:
            timeout: seconds of the runtime's clock.
            return_when: ``all`` or ``first``.
        """
        return self._service.wait(runs, timeout, return_when)

    def as_completed(self, runs: Iterable[Any], timeout: float | None = None) -> AsCompleted:
        """Iterate over outcomes in the order in which they come; ``for`` or ``async for``."""
        return AsCompleted(self._service.dispatcher, runs, timeout)

    def find(self, key: str) -> Reply[Run]:
        """Find a live run by its id or name; fails with NoSuchRun."""
        return self._service.route(key)

    def result_of(self, run_id: str) -> RunResult:
        """
        Return the result of an ended run, any number of times.

        Raises:
            NoSuchRun: it has not ended, or so much ended since that it was forgotten.
        """
        result: RunResult = self._ask(messages.ResultOf(text("run_id", run_id)))
        return result

    def tree(self) -> RunTree:
        """Return all live runs and those that ended lately, as a tree that prints itself."""
        tree: RunTree = self._ask(messages.ListDescendants())
        return tree

    def children(self, run: Run | None = None) -> tuple[RunInfo, ...]:
        """List the live children of *run*, or the live roots."""
        rows: tuple[RunInfo, ...] = self._ask(messages.ListChildren(self._ref_of(run)))
        return rows

    def descendants(self, run: Run | None = None) -> RunTree:
        """List everything live below *run*, parents before children."""
        tree: RunTree = self._ask(messages.ListDescendants(self._ref_of(run)))
        return tree

    def subscribe(self, observer: Any) -> Callable[[], None]:
        """
        Tell *observer*, a callable or a pykka ref, every lifecycle event from now on.

        A callable runs on the dispatcher and must not block; what it raises is logged.
        Only for ProviderAdded it may veto, by raising. Returns what ends the subscription.
        """
        self._ask(messages.Subscribe(recipient("observer", observer)))

        def unsubscribe() -> None:
            self._service.tell_registry(messages.Unsubscribe(observer))

        return unsubscribe

    def watch(self, run: Run, watcher: Any) -> None:
        """Tell *watcher* a RunEnded when the run has ended, or at once if it has; once."""
        ref = self._ref_of(run)
        if ref is None:
            raise InvalidRequest("run: expected a Run, got None")
        told = self._ask(messages.Watch(ref, recipient("watcher", watcher)))
        if told is None and run.result.is_done:
            # The registry has forgotten it, and whoever holds the run has not.
            tell_one(watcher, ended_event(ref, run.result.outcome()))

    def providers(self) -> tuple[str, ...]:
        """Return the names of the registered providers, in the order of registration."""
        names: tuple[str, ...] = self._ask(messages.ListProviders())
        return names

    def provider(self, name: str) -> Provider | None:
        """Return the registered provider of that name, or None."""
        found: Provider | None = self._ask(messages.FindProvider(text("name", name)))
        return found

    def _ref_of(self, run: Run | None) -> Any:
        return own_ref(run, self._service.dispatcher, "run")
