"""Who waits for whom in a runtime, so that a circle of asks is reported and never hangs."""

from __future__ import annotations

import threading
from typing import Any

from retinue.actors import _context
from retinue.protocol.errors import AskCycle


class WaitEdge:
    """While open, a scope's run is known to wait for the run that a Reply comes from."""

    __slots__ = ("_reply", "_scope")

    def __init__(self, reply: Any, scope: Any = None) -> None:
        self._reply = reply
        self._scope: Any = scope or _context.CURRENT.get()

    def __enter__(self) -> None:
        if self._reply.target is not None and self._scope is not None:
            self._scope.workplace.waits.enter(self._scope.ref, self._reply.target)

    def __exit__(self, *_: object) -> None:
        if self._reply.target is not None and self._scope is not None:
            self._scope.workplace.waits.leave(self._scope.ref, self._reply.target)


class WaitGraph:
    """Which run waits for which, of one runtime. Any thread may enter and leave."""

    __slots__ = ("_lock", "_targets")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._targets: dict[Any, list[Any]] = {}

    def enter(self, waiter: Any, target: Any) -> None:
        """
        Note that *waiter* waits for *target*.

        Raises:
            AskCycle: *target* waits for *waiter*, directly or through others.
        """
        with self._lock:
            path = self._path(target, waiter)
            if path is not None:
                cycle = [str(ref.run_id) for ref in (waiter, *path)]
                raise AskCycle(f"{cycle[0]}: would wait for itself: {' → '.join(cycle)}", cycle)
            self._targets.setdefault(waiter, []).append(target)

    def leave(self, waiter: Any, target: Any) -> None:
        """Forget one such note."""
        with self._lock:
            targets = self._targets.get(waiter)
            if targets is not None and target in targets:
                targets.remove(target)
                if not targets:
                    del self._targets[waiter]

    def check(self, waiter: Any, target: Any) -> None:
        """Refuse, without noting anything, what would close a circle; raises AskCycle."""
        self.enter(waiter, target)
        self.leave(waiter, target)

    def targets_of(self, waiter: Any) -> list[Any]:
        """Return for whom *waiter* waits now."""
        with self._lock:
            return list(self._targets.get(waiter, ()))

    def lines(self) -> list[str]:
        """Say who waits for whom now, a line each."""
        with self._lock:
            return [
                f"{waiter.run_id} waits for {target.run_id}"
                for waiter, targets in self._targets.items()
                for target in targets
            ]

    def _path(self, start: Any, goal: Any) -> list[Any] | None:
        if start is goal:
            return [start]
        came_from: dict[Any, Any] = {start: None}
        to_visit = [start]
        while to_visit:
            ref = to_visit.pop()
            for target in self._targets.get(ref, ()):
                if target in came_from:
                    continue
                came_from[target] = ref
                if target is goal:
                    path = [target]
                    while came_from[path[-1]] is not None:
                        path.append(came_from[path[-1]])
                    return path[::-1]
                to_visit.append(target)
        return None
