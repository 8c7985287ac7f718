"""One fault, or several, at any moment of any start: nothing is lost, nothing is left."""

from __future__ import annotations

import random
from typing import Final

import pytest

from tests.actors.faults import FAULTS
from tests.actors.injection import Fault, Program, try_everywhere, try_faults
from tests.actors.programs import PROGRAMS
from tests.actors.starts import STARTS

BATCH: Final = 250
BATCHES: Final = 8


def named(function: Fault | Program) -> str:
    """Name a test's parameter."""
    return function.__name__


@pytest.mark.parametrize("program", PROGRAMS, ids=named)
def test_a_program_without_a_fault_ends_and_leaves_nothing(program: Program) -> None:
    """
    The programs themselves are sound, under several orders.
    """
    for seed in range(5):
        assert try_faults(program, {}, seed).runs


@pytest.mark.parametrize("fault", FAULTS, ids=named)
@pytest.mark.parametrize("program", STARTS, ids=named)
def test_a_fault_at_every_moment_of_a_start_leaves_nothing(program: Program, fault: Fault) -> None:
    """
    VAL-4..8, RUN-2, RUN-6, LIF-3, LIF-6, REG-14: start, fault, end, in every order they can have.
    """
    assert try_everywhere(program, fault) > 0


@pytest.mark.parametrize("batch", range(BATCHES))
def test_up_to_three_faults_at_random_moments_leave_nothing(batch: int) -> None:
    """
    The same with other programs, other orders, and faults that meet.
    """
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        drawn = random.Random(seed)
        program = drawn.choice(PROGRAMS)
        moments = drawn.sample(range(1, 50), drawn.randint(1, 3))
        try_faults(program, {moment: drawn.choice(FAULTS) for moment in moments}, seed)
