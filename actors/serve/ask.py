"""
One question to an agent that may delegate: from the options of the command to a run.

Its children work on the provider that is named; the agent itself is started with ``spawn``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import attrs

from retinue.actors._providers import maker_of
from retinue.actors.tools import subagent
from retinue.protocol.agent import Agent
from retinue.protocol.delegation import Limits
from retinue.protocol.errors import InvalidRequest, InvalidSchema
from retinue.protocol.tool import Tool, ToolSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retinue.actors import Cancellation, Reply, Run, Runtime

# Where a question is recorded or played again, ids are the same each time.
SEED: Final = "retinue ask"
_REPLAYED: Final = "recorded:"
MAX_DEPTH: Final = 3


@attrs.frozen
class Question:
    """
    What is asked, of whom, and within which limits.

    Args:
        text: the question.
        model: the name of a model.
        tools: where the agent's tools are, each as ``module:name,name``.
        instructions: the agent's part.
        provider: the provider of its children; None lets it delegate nothing.
        max_depth: the deepest that a child may be.
        limits: what the agent and everything below it may use.
        deadline: seconds that it has.
        schema: a JSON Schema that its answer has to satisfy.
        record: a file to record the model in.
    """

    text: str
    model: str
    tools: tuple[str, ...] = ()
    instructions: str = ""
    provider: str | None = "spawn"
    max_depth: int = MAX_DEPTH
    limits: Limits | None = None
    deadline: float | None = None
    schema: Any = None
    record: str | None = None

    @property
    def seed(self) -> str | None:
        """The seed of its runtime."""
        is_replay = self.record is not None or self.model.startswith(_REPLAYED)
        return SEED if is_replay else None

    def agent(self) -> Agent:
        """
        Make the agent.

        Raises:
            InvalidRequest: a tool cannot be imported, or is none.
            ModelFailed: the model cannot be recorded.
        """
        tools = [tool for where in self.tools for tool in tools_at(where)]
        if self.provider is not None:
            tools.append(subagent(self.provider, max_depth=self.max_depth))
        return Agent(
            model=self._model(),
            name="agent",
            instructions=self.instructions,
            tools=tuple(tools),
            # Many models answer in text first; nobody is there to ask them again.
            nudges=0 if self.schema is None else 1,
        )

    def _model(self) -> Any:
        if self.record is None:
            return self.model
        # A backend, which is named here and imported by whoever uses it.
        recorded = importlib.import_module("retinue.backends.models.recorded")
        return recorded.RecordedModel(self.record, self.model, mode="record")

    def start(self, runtime: Runtime, agent: Agent, cancel: Cancellation) -> Reply[Run]:
        """
        Ask it.

        Raises:
            NoProvider: there is none for its children. A model would just not see the tool.
            MissingExtra: there is one, and what it needs is not installed.
        """
        if self.provider is not None and runtime.provider(self.provider) is None:
            maker_of(self.provider)
        return runtime.start(
            "spawn",
            self.text,
            agent=agent,
            output_schema=self.schema,
            limits=self.limits,
            deadline=self.deadline,
            cancel=cancel,
        )


def tools_at(where: str) -> list[Any]:
    """
    Import the tools that ``module:name,name`` stands for, from the working directory too.

    Raises:
        InvalidRequest: there is no such module or name, or it holds no tool.
    """
    module, colon, names = where.partition(":")
    if not module or not colon or not names:
        raise InvalidRequest(f"--tools {where}: expected MODULE:NAME or MODULE:NAME,NAME")
    if os.getcwd() not in sys.path:  # noqa: PTH109 - as sys.path has it
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        imported = importlib.import_module(module)
    except Exception as error:  # the module's own code may raise anything
        reason = f"{type(error).__name__}: {error}"
        if module.endswith(".py"):
            reason = f"a module is named as in 'import', here {module[:-3]}"
        raise InvalidRequest(f"--tools {where}: cannot import {module}: {reason}") from error
    found: list[Any] = []
    for name in names.split(","):
        try:
            found += _tools_in(imported, name.strip())
        except InvalidRequest as error:
            raise InvalidRequest(f"--tools {where}: {error}") from None
    return found


def _tools_in(module: Any, name: str) -> list[Any]:
    if not hasattr(module, name):
        raise InvalidRequest(f"{module.__name__} has no tool {name!r}")
    value: Any = getattr(module, name)
    several = isinstance(value, (list, tuple))
    listed = list(cast("Iterable[Any]", value)) if several else [value]
    for tool in listed:
        if not callable(tool) and not isinstance(tool, (Tool, ToolSource)):
            raise InvalidRequest(
                f"{module.__name__}.{name} has no tool: expected a function, a Tool or a list"
                f" of them, got {type(tool).__name__}"
            )
    return listed


def read_instructions(given: str) -> str:
    """
    Take instructions, or read them from the file behind an ``@``.

    Raises:
        InvalidRequest: the file cannot be read.
    """
    return _read(given[1:], "--instructions") if given.startswith("@") else given


def read_schema(file: str | None) -> Any:
    """
    Read a JSON Schema from a file.

    Raises:
        InvalidRequest: the file cannot be read, or holds no JSON.
        InvalidSchema: it holds JSON that is no JSON Schema; every violation is named.
    """
    if file is None:
        return None
    try:
        schema = json.loads(_read(file, "--schema"))
    except ValueError as error:
        raise InvalidRequest(f"--schema {file}: is no JSON: {error}") from error
    from retinue.protocol.schema import as_schema

    try:
        as_schema(schema)
    except InvalidSchema as error:
        raise InvalidSchema(f"--schema {file}: no JSON Schema", error.violations) from error
    return schema


def _read(file: str, option: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidRequest(f"{option} {file}: {reason}") from error
