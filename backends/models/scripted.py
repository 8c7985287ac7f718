'''
The scripted model: answers what a script says, and nothing else. A shipped double.

The turn loop, the tools and the log around it are the real ones. A list is the script of
one run, one reply per request, in order:

    >>> from retinue.actors import Agent, Runtime
    >>> def add(a: int, b: int) -> int:
    ...     """Add two numbers."""
    ...     return a + b
    >>> model = ScriptedModel([
    ...     {"calls": [{"name": "add", "arguments": {"a": 2, "b": 3}}]},
    ...     {"text": "It is 5.", "expect": "5"},
    ... ])
    >>> with Runtime() as runtime:
    ...     run = runtime.start("spawn", "2 + 3?", agent=Agent(model=model, tools=[add])).get()
    ...     run.result.get().unwrap()
    'It is 5.'

A run that wants more than its script has fails loudly, and so does one that asks something
else than was expected: a double that improvises hides bugs.

    >>> def failure(script, prompt="go"):
    ...     agent = Agent(model=ScriptedModel(script))
    ...     with Runtime(seed=1) as runtime:
    ...         print(runtime.start("spawn", prompt, agent=agent).get().result.get().diagnostic)
    >>> failure([])
    scripted: turn 1, step 1 of the run at place '' is its request 1, and the script has 0 \
replies; the newest message says 'go'
    >>> failure([{"text": "fine", "expect": "stop"}])
    scripted: turn 1, step 1 of the run at place '': expected 'stop' in the newest message, \
which says 'go'

A function replies to any number of runs; ``async def`` may do so too:

    >>> shout = ScriptedModel(lambda request: request.messages[-1].text.upper())
    >>> with Runtime() as runtime:
    ...     runs = [runtime.start("spawn", x, agent=Agent(model=shout)).get() for x in "ab"]
    ...     [run.result.get().text for run in runs]
    ['A', 'B']

A dict has one script per place in the tree: ``""`` is the root, ``"0"`` its first child,
``"0.1"`` that child's second. A key that ends in ``*`` stands for every place that begins
so, each of whose runs plays the script from its start:

    >>> from retinue.actors import agent
    >>> model = ScriptedModel({"0": ["first"], "*": ["another", "again"]})
    >>> @agent
    ... def boss(turn):
    ...     child = Agent(model=model)
    ...     runs = [turn.start("spawn", "go", agent=child).result for _ in range(3)]
    ...     return [run.get().text for run in runs]
    >>> with Runtime() as runtime:
    ...     runtime.start("spawn", "go", agent=boss).get().result.get().unwrap()
    ['first', 'another', 'another']

A hold parks a reply once its text was streamed, until the test says so:

    >>> hold = Hold()
    >>> with Runtime() as runtime:
    ...     model = ScriptedModel([Reply("half an answer", hold=hold)])
    ...     run = runtime.start("spawn", "go", agent=Agent(model=model)).get()
    ...     _ = hold.reached.wait(5)
    ...     _ = run.cancel("enough").get()
    ...     result = run.result.get()
    ...     result.stop_reason, result.text
    ('aborted', 'half an answer')
'''

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from retinue.backends._script import Hold
from retinue.backends.models._reply import Holding, Reply, as_reply, listed, newest_of, pieces_of
from retinue.backends.models._script_file import read_script
from retinue.protocol.errors import ModelFailed
from retinue.protocol.model import ModelRequest, Piece, ReasoningDelta, TextDelta

__all__ = ["Hold", "Reply", "Script", "ScriptedModel", "place_of"]

Function: TypeAlias = Callable[[ModelRequest], Any]
OfARun: TypeAlias = Function | Sequence[Any]
Script: TypeAlias = OfARun | Mapping[str, OfARun]


def place_of(request: ModelRequest) -> str:
    """Write a run's place in its tree: ``""`` for a root, ``"0.1"`` two levels below it."""
    return ".".join([str(number) for number in request.path[1:]])


class ScriptedModel:
    """
    Answers what a script says.

    Args:
        script: a list of replies for one run, a function from a request to a reply, or a
            dict from places to either of them.
        name: what the model is called; models of one name share one gate for retries.
        on_request: called with every request first, on the runtime's loop.

    Raises:
        ModelFailed: the script is none, or one of its replies is none.
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        on_request: Callable[[ModelRequest], object] | None = None,
    ) -> None:
        self.name = name
        self._on_request = on_request
        self._function: Function | None = script if callable(script) else None
        self._scripts = {} if callable(script) else _scripts(script)
        self._is_one = not isinstance(script, Mapping)
        # Which run plays the script that is for one, and how far each run is.
        self._players: dict[str, str] = {}
        self._played: dict[str, int] = {}

    @classmethod
    def read(cls, file: str | Path) -> ScriptedModel:
        """
        Read the script from a JSON file, in the same forms but for functions and holds.

        A failure is written ``{"raises": {"kind": "transient", "message": "busy",
        "retry_after": 2}}``.

        Raises:
            ModelFailed: the file cannot be read, or holds no script.
        """
        name = f"scripted:{file}"
        try:
            return cls(read_script(file), name=name)
        except ModelFailed as error:
            said = str(error)
            raise ModelFailed(said if said.startswith(name) else f"{name}: {said}") from error

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """
        Answer with the reply that the script has next.

        Raises:
            ModelFailed: the script has none, or was written for another request.
        """
        if self._on_request is not None:
            self._on_request(request)
        reply = await self._next(request)
        drift = reply.drift(request)
        if drift is not None:
            raise ModelFailed(f"{self._where(request)}: {drift}")
        for piece in pieces_of(reply.reasoning):
            yield ReasoningDelta(piece)
        for piece in pieces_of(reply.text):
            yield TextDelta(piece)
        if reply.hold is not None:
            await _held(reply.hold)
        if reply.raises is not None:
            raise reply.raises
        yield reply.answer(request)

    async def _next(self, request: ModelRequest) -> Reply:
        script = self._function or self._script_for(request)
        if not callable(script):
            return self._listed(script, request)
        given = script(request)
        return as_reply(await given if inspect.isawaitable(given) else given)

    def _script_for(self, request: ModelRequest) -> OfARun:
        if self._is_one:
            return self._taken("", request)
        place = place_of(request)
        if place in self._scripts:
            return self._taken(place, request)
        fitting = [key for key in self._scripts if key[-1:] == "*" and place.startswith(key[:-1])]
        if not fitting:
            known = ", ".join([repr(key) for key in self._scripts]) or "none"
            raise ModelFailed(f"{self._where(request)}: has no script; there are {known}")
        return self._scripts[max(fitting, key=len)]

    def _taken(self, key: str, request: ModelRequest) -> OfARun:
        """Return a script that only one run may play."""
        script = self._scripts[key]
        player = self._players.setdefault(key, request.run_id)
        if player != request.run_id and not callable(script):
            raise ModelFailed(
                f"{self._where(request)}: this script is for one run, and {player} plays it, so"
                f" that {request.run_id} has none; a function, or the place '*', is for several"
            )
        return script

    def _listed(self, script: Sequence[Reply], request: ModelRequest) -> Reply:
        played = self._played.get(request.run_id, 0)
        self._played[request.run_id] = played + 1
        if played >= len(script):
            raise ModelFailed(
                f"{self._where(request)} is its request {played + 1}, and the script has"
                f" {len(script)} replies; the newest message says {newest_of(request)!r}"
            )
        return script[played]

    def _where(self, request: ModelRequest) -> str:
        place = place_of(request)
        return (
            f"{self.name}: turn {request.turn}, step {request.step} of the run at place {place!r}"
        )


def _scripts(script: object) -> dict[str, OfARun]:
    if not isinstance(script, Mapping):
        return {"": _replies(script, "the script")}
    scripts = dict(cast("Mapping[str, Any]", script))
    return {_place(key): _replies(given, f"place {key!r}") for key, given in scripts.items()}


def _place(key: Any) -> str:
    """Take a place as it is written; raises ModelFailed for what is none."""
    if isinstance(key, str):
        numbers = key.removesuffix("*").rstrip(".").split(".")
        if numbers == [""] or all(number.isdecimal() for number in numbers):
            return key
    raise ModelFailed(
        f"{key!r} is no place: '' is the root, '0' its first child, '0.1' that child's second,"
        " and '*' at the end stands for whatever follows"
    )


def _replies(given: object, what: str) -> OfARun:
    if callable(given):
        return cast("Function", given)
    replies = listed(given, f"{what}: expected a list of replies or a function")
    return [as_reply(reply) for reply in replies]


async def _held(hold: Holding) -> None:
    loop = asyncio.get_running_loop()
    released: asyncio.Future[None] = loop.create_future()

    def resolve() -> None:
        if not released.done():  # a cancel may have come first
            released.set_result(None)

    def go_on() -> None:  # on whichever thread releases
        loop.call_soon_threadsafe(resolve)

    hold.park(go_on)
    try:
        await released
    finally:
        hold.leave(go_on)
