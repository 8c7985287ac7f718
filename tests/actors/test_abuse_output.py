"""What drivers give out instead of content."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import RunResult, Runtime
from retinue.protocol.content import Text
from retinue.protocol.log import Ending
from retinue.protocol.messages import Said, TurnEnded
from retinue.protocol.provider import TurnOrder
from retinue.protocol.result import ERROR
from tests.actors.behaviours import ended
from tests.actors.odd import Odd, Sound
from tests.doubles import PATIENCE


def result_of(driver: Any) -> RunResult:
    """Start a run with that kind of driver and return how it ends."""
    with Runtime([Odd(driver)]) as runtime:
        return ended(runtime.start("odd", "go").get(timeout=PATIENCE))


@pytest.mark.parametrize(
    ("output", "text"),
    [("words", "words"), (["wo", Text("rds")], "words"), (Text("words"), "words"), (None, "")],
)
def test_output_is_taken_as_content_is(output: Any, text: str) -> None:
    """
    Promise 1: text instead of blocks is text, and not an output without any.
    """

    class Driver(Sound):
        def begin(self, order: TurnOrder) -> None:
            self.workplace.report(TurnEnded(order.turn, Ending.COMPLETED, output))

    assert text == result_of(Driver).text


@pytest.mark.parametrize("output", [5, [5], object()])
def test_output_that_is_no_content_ends_the_run(output: Any) -> None:
    """
    Said or returned: the run ends ``error`` and says what it was.
    """

    class Driver(Sound):
        def begin(self, order: TurnOrder) -> None:
            self.workplace.report(Said(order.turn, output))

    result = result_of(Driver)

    assert ERROR == result.stop_reason
    assert "output" in str(result.diagnostic)
