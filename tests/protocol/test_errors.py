"""Errors: one tree, and every one survives pickle."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator

import pytest

from retinue.protocol import errors
from retinue.protocol.errors import RetinueError

ARGUMENTS: dict[str, object] = {
    "violations": ("/a: wrong", "/b: wrong too"),
    "capability": "output_schema",
    "attempted": 4,
    "maximum": 3,
    "cycle": ("a-1", "a-2"),
    "waits": ("a-1 waits for a-2",),
    "stuck": ("a-1", "a-2"),
    "run_id": "a-1",
    "stop_reason": "aborted",
    "reason": "budget",
    "retry_after": 2.5,
}


def every_error(base: type[RetinueError] = RetinueError) -> Iterator[type[RetinueError]]:
    """Iterate over the public tree, parents first."""
    if not base.__name__.startswith("_"):
        yield base
    for error in base.__subclasses__():
        if error.__module__ == errors.__name__:
            yield from every_error(error)


EVERY_ERROR = sorted(set(every_error()), key=lambda error: error.__name__)


def with_all_arguments(error: type[RetinueError]) -> RetinueError:
    """Build an error that carries everything it can."""
    names: list[str] = []
    for base in error.__mro__:
        if "__init__" in vars(base):
            if base.__module__ == errors.__name__:
                names = list(inspect.signature(vars(base)["__init__"]).parameters)[2:]
            break
    return error("a-1: it went wrong", *(ARGUMENTS[name] for name in names))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("error", EVERY_ERROR)
def test_an_error_survives_pickle_whole(error: type[RetinueError], protocol: int) -> None:
    """
    An error that comes back from another process says, and carries, what it did there.
    """
    original = with_all_arguments(error)

    loaded = pickle.loads(pickle.dumps(original, protocol))  # noqa: S301  # our own bytes

    assert type(original) is type(loaded)
    assert str(original) == str(loaded)
    assert original.args == loaded.args
    assert vars(original) == vars(loaded)


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_an_error_is_copied_whole(error: type[RetinueError]) -> None:
    """
    A deep copy of an error equals it in everything.
    """
    original = with_all_arguments(error)

    copied = copy.deepcopy(original)

    assert (str(original), original.args, vars(original)) == (
        str(copied),
        copied.args,
        vars(copied),
    )


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_a_message_alone_is_enough(error: type[RetinueError]) -> None:
    """
    Every error can be raised with nothing but a message, and says it.
    """
    assert "a-1: opening: no" == str(error("a-1: opening: no"))


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_the_tree_that_the_docstring_draws_is_the_real_one(error: type[RetinueError]) -> None:
    """
    Each error stands in the module's docstring one level below its parent.
    """
    drawn: dict[str, int] = {}
    for line in (errors.__doc__ or "").splitlines():
        name = line.lstrip("│├└─ ")
        if name and name.split()[0] in vars(errors):
            drawn[name.split()[0]] = (len(line) - len(name)) // 4
    parent = next(
        (
            base
            for base in error.__mro__[1:]
            if issubclass(base, RetinueError) and not base.__name__.startswith("_")
        ),
        None,
    )

    expected = 1 if parent is None else drawn[parent.__name__] + 1
    assert expected == drawn[error.__name__]


def test_all_violations_stand_in_the_text() -> None:
    """
    VAL-3: an invalid schema lists every violation, not the first.
    """
    error = errors.InvalidSchema("no schema", ["/a: one", "/b: two"])

    assert "no schema\n  - /a: one\n  - /b: two" == str(error)


def test_an_invalid_request_is_told_apart_from_a_refusal() -> None:
    """
    Who catches `Refused` does not catch faults of the code, and the other way round.
    """
    for error in EVERY_ERROR:
        assert not (
            issubclass(error, errors.InvalidRequest) and issubclass(error, errors.Refused)
        ), error


@pytest.mark.parametrize("error", EVERY_ERROR)
def test_no_error_escapes_what_catches_exceptions(error: type[RetinueError]) -> None:
    """
    H85: what derives from BaseException alone stops every actor of the process.
    """
    assert issubclass(error, Exception)
