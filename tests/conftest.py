"""What holds for every test: nothing outlives it, and temporary files have a place of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import hypothesis
import pytest

from tests.doubles import PATIENCE
from tests.leftovers import Leftovers

# A deadline per example measures the machine and its load, not the property.
hypothesis.settings.register_profile("retinue", deadline=None)
hypothesis.settings.load_profile("retinue")


@pytest.fixture(scope="session", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give this session, and the processes that it starts, a temporary folder of their own."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(autouse=True)
def nothing_outlives_its_test() -> Iterator[None]:
    """Fail a test that leaves an actor, thread, process, descriptor or temporary file behind."""
    before = Leftovers(patience=PATIENCE)
    yield
    found = before.found()
    if found:
        pytest.fail("left behind: " + "; ".join(found), pytrace=False)
