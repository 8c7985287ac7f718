"""Models by name: resolving one takes time, and takes none of the dispatcher's."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from retinue.actors import Agent, Runtime
from retinue.backends.models import naming
from retinue.protocol.errors import StartTimeout
from retinue.protocol.limits import Limits
from retinue.protocol.model import Model
from tests.backends.loop.models import Talker, says
from tests.doubles import PATIENCE, Gate


def test_resolving_a_name_holds_up_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The first model of a vendor imports its packages: on a thread, while other runs go on,
    and within the start limit.
    """
    gate, threads = Gate(), list[str]()

    def resolve(_: str) -> Model:
        """Take a while."""
        threads.append(threading.current_thread().name)
        gate.wait()
        return Talker(says("slowly"), says("again"))

    monkeypatch.setattr(naming, "model_named", resolve)
    with Runtime() as runtime:
        slow = runtime.start("spawn", "go", agent=Agent(model="some:model"))
        assert gate.reached.wait(PATIENCE)
        quick = runtime.start("spawn", "go", agent=lambda turn: turn.text).get(timeout=PATIENCE)
        assert "go" == quick.result.get(timeout=PATIENCE).text
        late = runtime.start(
            "spawn", "go", agent=Agent(model="some:model"), limits=Limits(start=0.05)
        )
        with pytest.raises(StartTimeout):
            late.get(timeout=PATIENCE)
        gate.open()

        assert "slowly" == slow.get(timeout=PATIENCE).result.get(timeout=PATIENCE).text

    assert "retinue-dispatch" not in threads


def test_a_file_that_is_not_there_refuses_the_start(runtime: Runtime, tmp_path: Path) -> None:
    """
    A name that stands for nothing is refused before there is a run.
    """
    missing = tmp_path / "none.json"

    with pytest.raises(Exception, match=r"none\.json"):
        runtime.start("spawn", "go", agent=Agent(model=f"scripted:{missing}")).get()
