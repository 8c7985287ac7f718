"""What may take long is not done on the runtime's loop, which serves everybody else."""

from __future__ import annotations

import threading
from typing import Any

from retinue.actors import Agent, Runtime
from retinue.protocol.model import Answer, ModelRequest
from tests.backends.loop.models import Talker, calls, says, told
from tests.doubles import PATIENCE


class Record:
    """Something that notes where it was put into words."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def model_dump(self, mode: str) -> dict[str, Any]:
        """Return a JSON value, as pydantic's models do."""
        self.threads.add(threading.get_ident())
        return {"mode": mode}


def test_what_a_sync_tool_returns_is_put_into_words_on_its_thread() -> None:
    """
    Section 5: records by the hundred thousand take a while to write, and no loop stands still.
    """
    record = Record()
    loops: set[int] = set()

    def find() -> Record:
        """Find a record."""
        record.threads.add(threading.get_ident())
        return record

    def note_loop(_: ModelRequest) -> Answer:
        loops.add(threading.get_ident())
        return says("done")

    model = Talker(calls(("a", "find", {})), note_loop)
    with Runtime() as runtime:
        run = runtime.start("spawn", "go", agent=Agent(model=model, tools=[find])).get()

        assert "done" == run.result.get(timeout=PATIENCE).text
        assert 'a: {"mode": "json"}' in told(run)
        assert 1 == len(record.threads), "all of it on one thread"
        assert not record.threads & loops
