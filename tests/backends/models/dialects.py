"""How three vendors stream one and the same answer, and how they word an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs

from tests.doubles import Gate

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
ANTHROPIC = "/v1/messages"


@attrs.frozen(kw_only=True)
class Streamed:
    """
    One answer: pieces of text, then calls as (id, name, JSON text).

    After the pieces it may wait at a gate, for the client to hang up, or break off.
    """

    pieces: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()
    refusal: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    finish: str = "stop"
    tokens: tuple[int, int] = (10, 5)
    model: str = "x"
    hold: Gate | None = None
    until_gone: bool = False
    breaks_off: bool = False


@attrs.frozen
class Refused:
    """An error in place of an answer."""

    status: int
    message: str = "no"
    code: str | None = None
    kind: str = "invalid_request_error"
    headers: tuple[tuple[str, str], ...] = ()


def error_body(path: str, refused: Refused) -> bytes:
    """Word an error as the vendor does who serves *path*."""
    said: dict[str, Any] = {"message": refused.message, "type": refused.kind}
    if path == ANTHROPIC:
        return json.dumps({"type": "error", "error": said}).encode()
    return json.dumps({"error": {**said, "code": refused.code, "param": None}}).encode()


def opening(path: str, answer: Streamed) -> Iterator[bytes]:
    """Stream an answer up to the end of its text."""
    if path == CHAT:
        if answer.refusal:
            yield _chat(answer, {"refusal": answer.refusal})
        for text in answer.thoughts:
            yield _chat(answer, {"reasoning_content": text})
        for text in answer.pieces:
            yield _chat(answer, {"role": "assistant", "content": text})
    elif path == ANTHROPIC:
        yield from _anthropic_opening(answer)
    else:
        yield _event("response.created", {"response": _response(answer, "in_progress", [])})
        if answer.pieces:
            item = {"id": "m1", "type": "message", "role": "assistant", "content": []}
            yield _item("added", {**item, "status": "in_progress"}, 0)
        for text in answer.pieces:
            at = {"item_id": "m1", "output_index": 0, "content_index": 0, "logprobs": []}
            yield _event("response.output_text.delta", {**at, "delta": text})


def closing(path: str, answer: Streamed) -> Iterator[bytes]:
    """Stream the rest of an answer."""
    if path == CHAT:
        yield from _chat_closing(answer)
    elif path == ANTHROPIC:
        yield from _anthropic_closing(answer)
    else:
        yield from _responses_closing(answer)


def _chat(answer: Streamed, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    whole = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": answer.model}
    return f"data: {json.dumps({**whole, 'choices': [choice], **more})}\n\n".encode()


def _chat_closing(answer: Streamed) -> Iterator[bytes]:
    for index, (call_id, name, arguments) in enumerate(answer.calls):
        half = len(arguments) // 2
        head = {"name": name, "arguments": arguments[:half]}
        yield _chat(
            answer,
            {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": head}]},
        )
        rest = {"arguments": arguments[half:]}
        yield _chat(answer, {"tool_calls": [{"index": index, "function": rest}]})
    finishes = {"stop": "tool_calls" if answer.calls else "stop", "filter": "content_filter"}
    yield _chat(answer, {}, finishes.get(answer.finish, answer.finish))
    read, written = answer.tokens
    counted = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    yield _chat(answer, {}, None, choices=[], usage=counted)
    yield b"data: [DONE]\n\n"


def _event(name: str, data: dict[str, Any]) -> bytes:
    data = {"type": name, "sequence_number": 0, **data}
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _anthropic_opening(answer: Streamed) -> Iterator[bytes]:
    usage = {"input_tokens": answer.tokens[0], "output_tokens": 1}
    head = {"id": "m", "type": "message", "role": "assistant", "model": answer.model, "content": []}
    message = {**head, "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield _event("message_start", {"message": message})
    if answer.thoughts:
        yield _block(0, {"type": "thinking", "thinking": "", "signature": ""})
        for text in answer.thoughts:
            yield _delta(0, {"type": "thinking_delta", "thinking": text})
        yield _delta(0, {"type": "signature_delta", "signature": "signed"})
        yield _event("content_block_stop", {"index": 0})
    if answer.pieces:
        yield _block(1, {"type": "text", "text": ""})
        for text in answer.pieces:
            yield _delta(1, {"type": "text_delta", "text": text})


def _anthropic_closing(answer: Streamed) -> Iterator[bytes]:
    if answer.pieces:
        yield _event("content_block_stop", {"index": 1})
    for index, (call_id, name, arguments) in enumerate(answer.calls, 2):
        yield _block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}})
        yield _delta(index, {"type": "input_json_delta", "partial_json": arguments})
        yield _event("content_block_stop", {"index": index})
    finishes = {"stop": "tool_use" if answer.calls else "end_turn", "length": "max_tokens"}
    reason = finishes.get(answer.finish, "refusal")
    end = {"stop_reason": reason, "stop_sequence": None}
    yield _event("message_delta", {"delta": end, "usage": {"output_tokens": answer.tokens[1]}})
    yield _event("message_stop", {})


def _block(index: int, block: dict[str, Any]) -> bytes:
    return _event("content_block_start", {"index": index, "content_block": block})


def _delta(index: int, delta: dict[str, Any]) -> bytes:
    return _event("content_block_delta", {"index": index, "delta": delta})


def _item(what: str, item: dict[str, Any], index: int) -> bytes:
    return _event(f"response.output_item.{what}", {"output_index": index, "item": item})


def _responses_closing(answer: Streamed) -> Iterator[bytes]:
    output: list[dict[str, Any]] = []
    if answer.pieces:
        text = {"type": "output_text", "text": "".join(answer.pieces), "annotations": []}
        item: dict[str, Any] = {"id": "m1", "type": "message", "role": "assistant"}
        output.append({**item, "status": "completed", "content": [text]})
        yield _item("done", output[-1], 0)
    for index, (call_id, name, arguments) in enumerate(answer.calls, 1):
        item = {"id": f"f{index}", "type": "function_call", "call_id": call_id, "name": name}
        yield _item("added", {**item, "arguments": "", "status": "in_progress"}, index)
        at = {"item_id": f"f{index}", "output_index": index}
        yield _event("response.function_call_arguments.delta", {**at, "delta": arguments})
        output.append({**item, "arguments": arguments, "status": "completed"})
        yield _item("done", output[-1], index)
    status = "completed" if answer.finish == "stop" else "incomplete"
    yield _event(f"response.{status}", {"response": _response(answer, status, output)})


def _response(answer: Streamed, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    reasons = {"length": "max_output_tokens", "filter": "content_filter"}
    reason = reasons.get(answer.finish)
    read, written = answer.tokens
    usage = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }
    head = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": answer.model,
        "status": status,
    }
    return {
        **head,
        "output": output,
        "usage": None if status == "in_progress" else usage,
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
