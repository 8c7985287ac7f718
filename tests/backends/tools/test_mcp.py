"""Tools of MCP servers: real programs, opened and closed with who uses them."""

from __future__ import annotations

import pickle
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvicorn

from retinue.actors import ManualClock, Runtime
from retinue.backends.mcp import TIMEOUT, McpServer
from retinue.protocol.agent import Agent
from retinue.protocol.errors import InvalidAgent
from tests.backends.loop.models import Talker, calls, says
from tests.backends.tools import mcp_server
from tests.backends.tools.using import caller, ended, offered, results, texts, with_tools
from tests.doubles import PATIENCE

HERE = Path(__file__).parent
SDK_SERVER = (sys.executable, str(HERE / "mcp_server.py"))
SMALL_SERVER = (sys.executable, "-S", "-E", str(HERE / "small_server.py"))


def small(*words: str, **fields: Any) -> McpServer:
    """Return a server that starts quickly: a few lines that speak the protocol by hand."""
    return McpServer(command=(*SMALL_SERVER, *words), name="small", **fields)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_server_of_the_sdk_is_used_and_goes_with_its_run(threaded: Runtime) -> None:
    """
    H14: its tools are shown and run, its errors are errors, and it is gone with its run.
    """
    before = psutil.Process().children(recursive=True)
    server = McpServer(command=SDK_SERVER, prefix="t_", env={"GIVEN": "yes"})
    model = caller(
        ("t_add", {"first": 1, "second": 2}),
        ("t_add", {"first": "one"}),
        ("t_refuse", {}),
        ("t_environment", {"name": "GIVEN"}),
        ("t_environment", {"name": "PYTEST_CURRENT_TEST"}),
    )
    run = threaded.start("spawn", "go", agent=with_tools(model, [server])).get(timeout=PATIENCE)

    assert "done" == ended(run).text
    run.dispose().get(timeout=2 * PATIENCE)
    assert "t_add" in offered(model)
    said = results(run)
    assert "3" == said[0].text
    assert "INVALID_ARGS" in said[1].text
    assert "Error executing tool refuse" == said[2].text
    assert [False, True, True, False, False] == [result.is_error for result in said]
    assert ["yes", "not set"] == texts(run)[3:]
    assert before == psutil.Process().children(recursive=True)


def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    """
    H07: a call that is late by the runtime's clock stops at the server too, which stays up.
    """
    clock, place = ManualClock(), tmp_path / "began"
    model = caller(("hang", {"path": str(place)}), ("wait_cancelled", {}))
    agent = with_tools(model, [McpServer(command=SDK_SERVER)])
    with Runtime(clock=clock) as runtime:
        run = runtime.start("spawn", "go", agent=agent).get(timeout=PATIENCE)
        while not place.exists():
            assert not run.result.is_done
        clock.advance(TIMEOUT)

        assert "done" == ended(run).text
        assert ["timed out: hang had 60 s, and was cancelled", "it was cancelled"] == texts(run)


@pytest.mark.parametrize("is_shared", [False, True], ids=["per run", "shared"])
def test_a_series_of_runs_leaves_what_the_first_one_left(
    threaded: Runtime, *, is_shared: bool
) -> None:
    """
    H15: twenty runs in a row, and processes and descriptors are as after the first; a
    shared server is the same one for all, an own one is new for each.
    """
    me = psutil.Process()
    server = small(is_shared=is_shared)
    counts: list[tuple[int, int]] = []
    servers: set[str] = set()
    for _ in range(20):
        agent = with_tools(caller(("process", {})), [server])
        run = threaded.start("spawn", "go", agent=agent).get(timeout=PATIENCE)
        assert "done" == ended(run).text
        run.dispose().get(timeout=2 * PATIENCE)
        servers.update(texts(run))
        counts.append((len(me.children(recursive=True)), me.num_fds()))

    assert [counts[0]] * 20 == counts
    assert is_shared == bool(counts[0][0])
    assert (1 if is_shared else 20) == len(servers)


def test_runs_that_come_together_share_one_server(threaded: Runtime) -> None:
    """
    H15: whoever comes while it is opened waits for that, and opens no other.
    """
    server = small(is_shared=True)
    runs = [
        threaded.start("spawn", "go", agent=with_tools(caller(("process", {})), [server])).get(
            timeout=PATIENCE
        )
        for _ in range(8)
    ]

    assert 8 * ["done"] == [ended(run).text for run in runs]
    assert 1 == len({text for run in runs for text in texts(run)})


def test_a_server_that_dies_is_told_of_and_opened_again(threaded: Runtime) -> None:
    """
    The call that it died in is an error that quotes it; the next step has a new server.
    """
    model = caller(("process", {}), ("die", {}), ("process", {}))
    run = threaded.start("spawn", "go", agent=with_tools(model, [small()])).get(timeout=PATIENCE)

    assert "done" == ended(run).text
    first, died, second = results(run)
    assert "MCP server 'small' ended in the middle of the call" in died.text
    assert died.text.endswith("its last words: I was told to die")
    assert died.is_error
    assert first.text != second.text
    assert not second.is_error


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (small("broken"), "Connection closed; its last words: no such database"),
        (small("deaf", timeout=0.5), "it was not up within 0.5 s"),
        (McpServer(command=["no-such-program-here"]), "there is no program 'no-such-program-here'"),
        (McpServer(url="http://127.0.0.1:9/mcp", name="far"), "ConnectError"),
    ],
    ids=["it fails", "it is deaf", "there is no program", "nobody listens"],
)
def test_a_server_that_cannot_be_opened_ends_the_turn_and_says_why(
    threaded: Runtime, server: McpServer, said: str
) -> None:
    """
    The model gets no request with tools that are not there; the turn's error teaches.
    """
    model = Talker()
    run = threaded.start("spawn", "go", agent=with_tools(model, [server])).get(timeout=PATIENCE)

    result = ended(run)
    assert "error" == result.stop_reason
    assert f"MCP server {server.name!r} could not be opened: " in str(result.diagnostic)
    assert said in str(result.diagnostic)
    assert [] == model.requests


def test_helpers_that_a_server_started_go_with_it(threaded: Runtime) -> None:
    """
    H14: the count of live descendants returns to what it was.
    """
    model = caller(("helper", {}), ("helper", {}), ("helper", {}))
    run = threaded.start("spawn", "go", agent=with_tools(model, [small()])).get(timeout=PATIENCE)

    ended(run)
    run.dispose().get(timeout=2 * PATIENCE)
    assert 3 == len(texts(run))
    assert [] == [pid for pid in texts(run) if is_alive(int(pid))]


def test_a_run_cancelled_while_its_server_opens_leaves_no_server(threaded: Runtime) -> None:
    """
    H14: closing does not wait for a server that never answers.
    """
    agent = with_tools(Talker(), [small("deaf", timeout=4 * PATIENCE)])
    run = threaded.start("spawn", "go", agent=agent).get(timeout=PATIENCE)
    while not psutil.Process().children():
        pass

    run.cancel("enough")
    assert "aborted" == ended(run).stop_reason
    run.dispose().get(timeout=2 * PATIENCE)
    assert [] == psutil.Process().children()


def test_a_filter_over_a_servers_tools_is_looked_at_when_they_are_known(threaded: Runtime) -> None:
    """
    VAL-7, PER-6: an unknown name ends the first turn; a known one hides the rest.
    """
    unknown = threaded.start(
        "spawn",
        "go",
        agent=with_tools(Talker(), [small()]),
        tool_filter={"allow": ["proces"]},
    ).get(timeout=PATIENCE)
    model = Talker(calls(("c1", "die", {})), says("done"))
    known = threaded.start(
        "spawn", "go", agent=with_tools(model, [small()]), tool_filter={"allow": ["process"]}
    ).get(timeout=PATIENCE)

    assert "unknown tools proces; the agent has process, die, helper" == ended(unknown).diagnostic
    ended(known)
    assert ["process"] == offered(model)
    assert ["unknown tool 'die'; there are: process"] == texts(known)


def test_a_server_is_reached_by_http(threaded: Runtime) -> None:
    """
    By its URL, with the headers that are given; the connection goes with the run.
    """
    app = mcp_server.server.streamable_http_app()
    place = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    serving = threading.Thread(target=place.run, kwargs={"sockets": [listener]})
    serving.start()
    try:
        server = McpServer(url=f"http://127.0.0.1:{port}/mcp", headers={"X-Given": "yes"})
        agent = with_tools(caller(("add", {"first": 3, "second": 4})), [server])
        run = threaded.start("spawn", "go", agent=agent).get(timeout=PATIENCE)
        assert "done" == ended(run).text
        assert ["7"] == texts(run)
        run.dispose().get(timeout=2 * PATIENCE)
    finally:
        place.should_exit = True
        serving.join(PATIENCE)
        listener.close()


@pytest.mark.parametrize(
    "fields", [{}, {"command": ["a"], "url": "b"}, {"command": "npx a"}, {"url": "a", "timeout": 0}]
)
def test_a_server_is_described_in_one_way(fields: dict[str, Any]) -> None:
    """
    What is wrong with it is said when it is written down.
    """
    with pytest.raises(InvalidAgent, match="McpServer"):
        McpServer(**fields)


def test_a_server_can_go_to_another_process_as_its_description(threaded: Runtime) -> None:
    """
    An agent is a value, with its servers; those that are up stay where they are.
    """
    server = small(prefix="x_", env={"A": "b"}, timeout=30.0)
    copies: list[McpServer] = []

    def copy() -> None:
        copies.extend(pickle.loads(pickle.dumps(Agent(tools=[server]))).tools)  # noqa: S301

    agent = with_tools(caller(("x_process", {}), ("copy", {})), [server, copy])
    run = threaded.start("spawn", "go", agent=agent).get(timeout=PATIENCE)

    assert "done" == ended(run).text
    fields = ("command", "name", "prefix", "env", "is_shared", "timeout")
    assert [getattr(server, name) for name in fields] == [
        getattr(copies[0], name) for name in fields
    ]
