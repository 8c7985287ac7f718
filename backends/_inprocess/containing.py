"""Foreign work on the runtime's loop: what it raises stays in it, and what is late is cancelled."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine, Sequence
from typing import Any

from retinue.protocol.provider import Outcome, Workplace


async def contained(work: Coroutine[Any, Any, Any]) -> Outcome:
    """
    Do foreign work; what it raises is its outcome, whatever it derives from (H85).

    Raises:
        CancelledError: this very task was cancelled, and not something that it waited for.
    """
    try:
        return Outcome(await work)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Outcome(error=error)
    except BaseException as error:  # noqa: BLE001 - foreign code (H85)
        return Outcome(error=error)


async def within(
    workplace: Workplace, seconds: float | None, work: Coroutine[Any, Any, Any]
) -> Outcome | None:
    """
    Do foreign work in *seconds* of the runtime's clock, without limit for None.

    Returns:
        Its outcome; None when it was late. It is then cancelled, and has cleaned up.

    Raises:
        CancelledError: this task was cancelled; the work then was too, and has cleaned up.
    """
    if seconds is None:
        return await contained(work)
    task = asyncio.ensure_future(contained(work))
    alarm = asyncio.ensure_future(contained(_passed(workplace, seconds)))
    try:
        await asyncio.wait((task, alarm), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        alarm.cancel()
        await let_go([task])


async def let_go(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """
    Cancel *tasks*, and return when every one of them has cleaned up.

    Raises:
        CancelledError: this task was cancelled meanwhile. Their clean-ups were cut short by
            that, and have ended all the same: nothing goes on that nobody waits for.
    """
    cancelled: asyncio.CancelledError | None = None
    for task in tasks:
        task.cancel()
    while left := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            cancelled = error
            for task in left:
                task.cancel()
    if cancelled is not None:
        raise cancelled


async def _passed(workplace: Workplace, seconds: float) -> None:
    await workplace.sleep(seconds)


async def called(function: Any, *args: Any) -> Any:
    """Call a plain function or a coroutine function, here on the loop."""
    value = function(*args)
    return await value if inspect.isawaitable(value) else value
