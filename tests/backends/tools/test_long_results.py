"""Results that are longer than what is shown at once are kept, and paged through."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from retinue.actors import Runtime
from retinue.protocol.tool import RESULT_LIMIT, Tool
from tests.backends.loop.models import Talker, calls, says
from tests.backends.tools.using import caller, ended, offered, texts, with_tools
from tests.doubles import PATIENCE, Gate

TEXT = "".join(chr(0x1F600 + number % 50) for number in range(95)) + "\ud800end\r\n"


def kept() -> list[Path]:
    """Return the folders of results that there are."""
    return list(Path(tempfile.gettempdir()).glob("retinue-results-*"))


def test_a_long_result_is_read_page_by_page_to_its_last_character(runtime: Runtime) -> None:
    """
    Nothing is cut silently: each page says where it ends, and together they are the text.
    """
    model = caller(
        ("dump", {}),
        ("read_result", {"result_id": "r1", "offset": 40, "limit": 40}),
        ("read_result", {"result_id": "r1", "offset": 80}),
    )
    tools = [Tool("dump", lambda: TEXT, result_limit=40)]
    run = runtime.start("spawn", "go", agent=with_tools(model, tools)).get()

    assert "done" == ended(run).text
    first, second, third = texts(run)
    assert first.startswith(TEXT[:40] + "\n\n[Shown up to character 40 of 101.")
    assert 'read_result(result_id="r1", offset=40, limit=40)' in first
    assert second.startswith(TEXT[40:80] + "\n\n[Shown up to character 80 of 101.")
    assert TEXT[80:] == third


def test_the_tool_to_page_with_appears_when_it_is_needed_whatever_the_filter(
    runtime: Runtime,
) -> None:
    """
    PER-5: it is of the runtime's own layer, and shows up behind the first long result.
    """
    model = caller(("dump", {}), ("dump", {}))
    tools = [Tool("dump", lambda: TEXT, result_limit=40), Tool("other", lambda: "")]
    agent = with_tools(model, tools)
    run = runtime.start("spawn", "go", agent=agent, tool_filter={"allow": ["dump"]}).get()

    ended(run)
    assert ["dump"] == offered(model, 0)
    assert ["dump", "read_result"] == offered(model, 1)
    assert ['"r1"', '"r2"'] == [
        text.partition("result_id=")[2].partition(",")[0] for text in texts(run)
    ]


def test_a_result_of_exactly_the_limit_is_shown_whole(runtime: Runtime) -> None:
    """
    The limit is what is shown, and one more character is what is kept.
    """
    tools = [
        Tool("fits", lambda: "x" * 40, result_limit=40),
        Tool("over", lambda: "x" * 41, result_limit=40),
    ]
    model = caller(("fits", {}), ("over", {}))
    run = runtime.start("spawn", "go", agent=with_tools(model, tools)).get()

    ended(run)
    assert "x" * 40 == texts(run)[0]
    assert "character 40 of 41" in texts(run)[1]


def test_long_errors_are_kept_too(runtime: Runtime) -> None:
    """
    An error's end may be what says why.
    """

    def fail() -> None:
        raise ValueError("y" * 100)

    tools = [Tool("fail", fail, result_limit=40)]
    run = runtime.start("spawn", "go", agent=with_tools(caller(("fail", {})), tools)).get()

    ended(run)
    assert "character 40 of 112" in texts(run)[0]


def test_pages_that_are_not_there_are_refused_in_words(runtime: Runtime) -> None:
    """
    The model is told which results there are and how long they are.
    """
    model = caller(
        ("dump", {}),
        ("read_result", {"result_id": "r7"}),
        ("read_result", {"result_id": "r1", "offset": 101}),
        ("read_result", {"result_id": "r1", "limit": RESULT_LIMIT + 1}),
    )
    tools = [Tool("dump", lambda: TEXT, result_limit=40)]
    run = runtime.start("spawn", "go", agent=with_tools(model, tools)).get()

    ended(run)
    assert "no result 'r7' is kept; there are: r1" in texts(run)[1]
    assert "result r1 has 101 characters: an offset is at most 100" == texts(run)[2]
    assert "/limit" in texts(run)[3]


@pytest.mark.parametrize("end", ["it completes", "it is cancelled", "its model fails"])
def test_the_folder_goes_with_its_run(threaded: Runtime, end: str) -> None:
    """
    On every path: there is a folder while the run works, and none when it is gone.
    """
    gate, seen = Gate(), list[int]()

    def wait(turn: object) -> None:
        del turn
        seen.append(len(kept()))
        gate.wait()

    last = RuntimeError("the model broke") if end == "its model fails" else says("done")
    model = Talker(calls(("c1", "dump", {})), calls(("c2", "wait", {})), last)
    tools = [Tool("dump", lambda: TEXT, result_limit=40), Tool("wait", wait)]
    run = threaded.start("spawn", "go", agent=with_tools(model, tools)).get(timeout=PATIENCE)
    assert gate.reached.wait(PATIENCE)
    if end == "it is cancelled":
        run.cancel("enough")
    gate.open()
    ended(run)
    run.dispose().get(timeout=PATIENCE)

    assert [1] == seen
    assert [] == kept()


def test_a_result_that_cannot_be_kept_is_shown_in_part_and_says_so(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    TOOL-31: a full disk is no end of a turn; the call was made, and its model knows what came.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    model = caller(("dump", {}))
    tools = [Tool("dump", lambda: TEXT, result_limit=40)]
    run = runtime.start("spawn", "go", agent=with_tools(model, tools)).get()

    assert "done" == ended(run).text
    (shown,) = texts(run)
    assert shown.startswith(TEXT[:40] + "\n\n[Shown up to character 40 of 101. The rest could not")
    assert ["dump"] == offered(model, 1), "there is nothing to read on in"
