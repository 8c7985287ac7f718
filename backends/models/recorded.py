"""
The recorded model: a live run on tape, played again without the model. A shipped double.

Every child of a tree has its own part of the tape, by its place in the tree:

    >>> import tempfile
    >>> from retinue.actors import Agent, Runtime
    >>> from retinue.backends.models.scripted import ScriptedModel
    >>> def ask(model, prompt):
    ...     with Runtime() as runtime:
    ...         run = runtime.start("spawn", prompt, agent=Agent(model=model)).get()
    ...         result = run.result.get()
    ...         print(result.text or result.diagnostic)
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = folder.name + "/tape.jsonl"
    >>> live = ScriptedModel(["Blue, mostly."])  # "openai:gpt-5", as a rule
    >>> ask(RecordedModel(file, live, mode="record"), "What colour is the sky?")
    Blue, mostly.
    >>> ask(RecordedModel(file), "What colour is the sky?")
    Blue, mostly.

What is asked now must be what was asked then; the first difference is shown:

    >>> ask(RecordedModel(file), "What colour is the sea?")  # doctest: +ELLIPSIS
    recorded:...tape.jsonl: tree 0, place '', request 1 is not the one on the tape: \
messages[0].content[0].text, at character 20: recorded 'What colour is the sky?', now \
'What colour is the sea?'
    >>> folder.cleanup()
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final, cast

from retinue.backends.models._failures import failure_from_json, failure_to_json
from retinue.backends.models._reply import newest_of, pieces_of
from retinue.backends.models._tape import (
    Json,
    answer_from_json,
    answer_to_json,
    difference,
    folded,
    request_to_json,
    unfolded,
)
from retinue.protocol.content import Reasoning, Text
from retinue.protocol.errors import ModelFailed
from retinue.protocol.model import (
    Answer,
    Model,
    ModelRequest,
    Piece,
    ReasoningDelta,
    TextDelta,
    check_model,
)

__all__ = ["RecordedModel"]

MODES: Final = ("replay", "record")
_ID: Final = re.compile(r"\b[0-9a-z]{6}-\d+\b")
_ABOUT_IDS: Final = (
    "; ids of runs are new in every runtime: record and replay under Runtime(seed=...)"
)


class RecordedModel:
    """
    Records what a model answers, or plays it again.

    A tape has one line per request: which tree it belongs to (in the order in which trees
    first ask), the place in it, the request without what its run had asked before, and what
    came: an answer, a failure, or that the request was cancelled. A request that was
    cancelled then waits on replay until it is cancelled again. Use one object per runtime.

    Nothing that a model can see is left out of the comparison. Ids of runs are new in every
    runtime: where texts hold them, record and replay under ``Runtime(seed=...)``. Trees that
    first ask at the same time have no order of their own; a deterministic dispatcher has.
    Nor is it on the tape who was faster: a replay answers at once, so that the notice of a
    child in the background may come before another step than it did, which is a miss.

    Args:
        file: the tape, a file of JSON lines.
        model: what is recorded: a Model, or a name as ``"openai:gpt-5"``.
        mode: ``"replay"`` or ``"record"``.

    Raises:
        ModelFailed: the tape cannot be read or has no directory, or there is one already that
            recording would mix with; or a model is lacking or too much.
        MissingExtra: the model needs a package that is not installed.
    """

    def __init__(self, file: str | Path, model: Any = None, mode: str = "replay") -> None:
        self.name = f"recorded:{file}"
        self._path = Path(file)
        self._lock = threading.Lock()
        self._trees: dict[tuple[str, tuple[int, ...]], int] = {}
        self._asked: dict[tuple[int, str], int] = {}
        self._before: dict[tuple[int, str], Json] = {}
        self._tape: dict[tuple[int, str], list[Json]] = {}
        self._model: Model | None = None
        if mode not in MODES:
            raise ModelFailed(f"{self.name}: a mode is 'replay' or 'record', not {mode!r}")
        if mode == "record":
            self._model = self._live(model)
            self.name = self._model.name  # whose gate it is
        elif model is not None:
            raise ModelFailed(f"{self.name}: a replay asks no model; mode='record' does")
        else:
            self._tape = _read(self._path, self.name)

    def _live(self, model: Any) -> Model:
        if model is None:
            raise ModelFailed(f"{self.name}: to record needs a model: RecordedModel(file, model)")
        if self._path.exists() and self._path.stat().st_size:
            raise ModelFailed(f"{self.name}: is no empty file; take another, or delete it")
        if not self._path.parent.is_dir():
            raise ModelFailed(
                f"{self.name}: there is no directory {self._path.parent} for the tape"
            )
        if isinstance(model, str):
            from retinue.backends.models.naming import model_named

            return model_named(model)
        return check_model(model)

    def __repr__(self) -> str:
        return f"<model {self.name} {'on' if self._model else 'from'} {self._path}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._model is not None:
            raise TypeError(
                f"{self.name}: a model that is recorded stays in its process, which has the tape;"
                " a replay may go to another"
            )
        return RecordedModel, (self._path,)

    @property
    def unplayed(self) -> int:
        """How many requests of the tape nobody has made yet."""
        with self._lock:
            return sum([len(part) for part in self._tape.values()]) - sum(self._asked.values())

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """
        Answer as the tape does, or have the model answer and take that down.

        Raises:
            ModelFailed: what was recorded, or the tape has no such request.
        """
        return self._replay(request) if self._model is None else self._record(request, self._model)

    def _place(self, request: ModelRequest) -> tuple[int, str]:
        """Return the tree of a request, in the order in which trees first ask, and its place."""
        tree = (request.run_id.rpartition("-")[0], request.path[:1])
        place = ".".join([str(number) for number in request.path[1:]])
        return self._trees.setdefault(tree, len(self._trees)), place

    async def _record(self, request: ModelRequest, model: Model) -> AsyncIterator[Piece]:
        with self._lock:
            at = self._place(request)
            number = self._asked[at] = self._asked.get(at, 0) + 1
            now = request_to_json(request)
            asked = folded(now, self._before.get(at, {}))
            self._before[at] = now
        line = {"tree": at[0], "place": at[1], "n": number, "request": asked}
        came: Json = {"cancelled": True}
        text: list[str] = []
        try:
            stream = cast("Any", model.stream(request))
            async with aclosing(stream):
                async for piece in stream:
                    if isinstance(piece, TextDelta):
                        text.append(piece.text)
                    elif isinstance(piece, Answer):
                        came = {"answer": answer_to_json(piece)}
                    yield piece
        except Exception as error:
            came = {"failure": failure_to_json(error)}
            raise
        finally:
            if "answer" not in came:
                came["text"] = "".join(text)
            self._append({**line, **came})

    def _append(self, line: Json) -> None:
        whole = json.dumps(line, ensure_ascii=True) + "\n"
        with self._lock, self._path.open("a", encoding="utf-8") as tape:
            tape.write(whole)

    async def _replay(self, request: ModelRequest) -> AsyncIterator[Piece]:
        line = self._next(request)
        if "answer" not in line:
            for piece in pieces_of(line.get("text", "")):
                yield TextDelta(piece)
            if "failure" in line:
                raise failure_from_json(line["failure"])
            await asyncio.get_running_loop().create_future()  # until it is cancelled
        answer = answer_from_json(line["answer"])
        for block in answer.content:
            if isinstance(block, (Text, Reasoning)):
                delta = TextDelta if isinstance(block, Text) else ReasoningDelta
                for piece in pieces_of(block.text):
                    yield delta(piece)
        yield answer

    def _next(self, request: ModelRequest) -> Json:
        with self._lock:
            at = self._place(request)
            played = self._asked.get(at, 0)
            part = self._tape.get(at, [])
            where = f"{self.name}: tree {at[0]}, place {at[1]!r}, request {played + 1}"
            if played >= len(part):
                known = ", ".join([f"{tree}:{place!r}" for tree, place in self._tape]) or "none"
                raise ModelFailed(
                    f"{where} is not on the tape, which has {len(part)} of this run; its newest"
                    f" message says {newest_of(request)!r}; the tape has the places {known}"
                )
            line = part[played]
            found = difference(line["request"], request_to_json(request))
            if found is not None:
                advice = _ABOUT_IDS if len(set(_ID.findall(found))) > 1 else ""
                raise ModelFailed(f"{where} is not the one on the tape: {found}{advice}")
            self._asked[at] = played + 1
            return line

    async def aclose(self) -> None:
        """Let the model that is recorded go of what it holds; runs on the runtime's loop."""
        close = getattr(self._model, "aclose", None)
        if close is not None:
            await close()


def _read(path: Path, name: str) -> dict[tuple[int, str], list[Json]]:
    """Read a tape, each request whole again; raises ModelFailed with the line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ModelFailed(f"{name}: cannot be read: {error.strerror}; record it first") from error
    tape: dict[tuple[int, str], list[Json]] = {}
    for number, text in enumerate(lines, 1):
        try:
            line = _line(text)
            tape.setdefault((line["tree"], line["place"]), []).append(line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelFailed(f"{name}: line {number} is no line of a tape: {error!r}") from error
    for (tree, place), part in tape.items():
        part.sort(key=lambda line: line["n"])  # a cancelled request may be written late
        if [line["n"] for line in part] != [*range(1, len(part) + 1)]:
            raise ModelFailed(f"{name}: tree {tree}, place {place!r}: a line is missing or twice")
        _unfold(part)
    return tape


def _line(text: str) -> Json:
    line: Json = json.loads(text)
    if not isinstance(line["n"], int) or not isinstance(line["request"]["messages"], list):
        raise TypeError("no request")
    if "answer" in line:
        answer_from_json(line["answer"])
    return line


def _unfold(part: list[Json]) -> None:
    before: Json = {}
    for line in part:
        before = line["request"] = unfolded(line["request"], before)
