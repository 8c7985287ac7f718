"""The command `retinue ask`, with typer."""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console

from retinue.actors import Cancellation, Limits, Reply, Run, Runtime
from retinue.actors.serve._ask_progress import AskProgress
from retinue.actors.serve._ask_report import Answer, answer_of, code_of_refusal, words_of_refusal
from retinue.actors.serve._ask_view import LineView, Streaming, TreeView
from retinue.actors.serve._foreground import BY_SIGNAL, FAILED, Foreground, View
from retinue.actors.serve._streams import write
from retinue.actors.serve._survey_report import visible
from retinue.actors.serve.ask import MAX_DEPTH, Question, read_instructions, read_schema
from retinue.protocol.errors import InvalidRequest, RetinueError

_STDIN = "-"
# A model that calls tools for ever costs no more than this, unless its user says so.
MOST_REQUESTS = 500


def ask(
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="QUESTION",
            help="The question; - reads it from stdin, as does a pipe if none is given.",
        ),
    ] = None,
    *,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            envvar="RETINUE_MODEL",
            help="The model: openai:gpt-5, anthropic:..., any other that pydantic-ai knows,"
            " scripted:FILE or recorded:FILE.",
        ),
    ] = "",
    tools: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE:NAMES", help="Tools, as module:name,name; repeatable."),
    ] = None,
    instructions: Annotated[
        str, typer.Option(metavar="TEXT", help="The agent's part; @FILE reads it from a file.")
    ] = "",
    provider: Annotated[
        str, typer.Option(metavar="NAME", help="The provider of its children: spawn, fork, ...")
    ] = "spawn",
    no_delegate: Annotated[
        bool, typer.Option("--no-delegate", help="It works alone: no tool starts a child.")
    ] = False,
    max_depth: Annotated[
        int, typer.Option(min=0, metavar="N", help="How deep the tree of runs may grow.")
    ] = MAX_DEPTH,
    max_live: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most so many runs alive at once.")
    ] = None,
    requests: Annotated[
        int, typer.Option(min=0, metavar="N", help="Requests to models, of all runs.")
    ] = MOST_REQUESTS,
    tokens: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Tokens, input and output, of all runs.")
    ] = None,
    cost: Annotated[
        float | None, typer.Option(min=0.0, metavar="AMOUNT", help="Cost, of all runs.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="How long it may take.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="FILE", help="A JSON Schema that the answer has to fit.")
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Record the model; --model recorded:FILE plays it."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the answer.")
    ] = False,
) -> None:
    """
    Ask an agent that may delegate.

    The answer goes to stdout: as it comes in a terminal, else at the end and alone. Who
    works on it, at what and for how many tokens goes to stderr: a live tree in a terminal,
    else a line for each child that starts or ends.

    Ctrl-C or SIGTERM cancels all runs and prints what there is; a second one ends everything
    at once. An answer that is not the whole one is said to be partial.

    Exit codes: 0 answered, 1 a run failed or a limit was reached and the answer is partial,
    2 refused (no such model, tool, file or option), 3 out of time by --deadline, 130 by
    Ctrl-C, 143 by SIGTERM.
    """
    try:
        asked = Question(
            _text(question),
            _named(model),
            tuple(tools or ()),
            read_instructions(instructions),
            None if no_delegate else provider,
            max_depth,
            Limits(live=max_live, requests=requests, tokens=tokens, cost=cost),
            deadline,
            read_schema(schema),
            record,
        )
        code = _ask(asked, as_json=as_json)
    except KeyboardInterrupt:  # before or after the run, which handles its own
        code = BY_SIGNAL + signal.SIGINT
    except RetinueError as error:
        code = code_of_refusal(error)
        _say(words_of_refusal(error))
    raise typer.Exit(code)


def _text(question: str | None) -> str:
    stdin: TextIO | None = sys.stdin  # None where it was closed before this process began
    is_piped = question is None and stdin is not None and not stdin.isatty()
    if question == _STDIN or is_piped:
        question = "" if stdin is None else stdin.read()
    if question is None or not question.strip():
        raise InvalidRequest("there is no question: give it as an argument, or - and stdin")
    return question


def _named(model: str) -> str:
    if not model:
        raise InvalidRequest(
            "there is no model: --model openai:gpt-5, or RETINUE_MODEL in the environment;"
            " --model scripted:FILE needs no key"
        )
    return model


def _ask(question: Question, *, as_json: bool) -> int:
    agent = question.agent()
    progress = AskProgress()

    def begin(runtime: Runtime, cancellation: Cancellation) -> Reply[Run]:
        start = question.start(runtime, agent, cancellation)
        progress.follow(runtime, start)
        return start

    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    streams = is_terminal and not as_json and question.schema is None
    streaming = Streaming(sys.stdout if streams else None)
    came = Foreground(begin, progress, _view(streaming), seed=question.seed).run()
    answer = answer_of(came, progress.ended)
    for note in answer.notes:
        _say(note)
    try:
        _give(answer, streaming, progress.said(), as_json=as_json)
    except OSError as error:
        _say(f"the answer could not be written: {error.strerror}")
        return FAILED
    return answer.code


def _view(streaming: Streaming) -> View[AskProgress]:
    console = Console(stderr=True)
    return (
        TreeView(console, streaming)
        if console.is_terminal and not console.is_dumb_terminal
        else LineView(sys.stderr, streaming)
    )


def _give(answer: Answer, streaming: Streaming, last: list[str], *, as_json: bool) -> None:
    if as_json:
        write(sys.stdout, f"{answer.as_json()}\n")
    elif streaming.is_on:
        streaming.give(last)
        streaming.finish(answer.text)
    elif answer.text:
        write(sys.stdout, answer.text + "\n" * (not answer.text.endswith("\n")))


def _say(text: str) -> None:
    lines: list[Any] = [visible(line) for line in text.splitlines()]
    write(sys.stderr, "\n".join([f"retinue: {lines[0]}", *lines[1:], ""]) if lines else "")
