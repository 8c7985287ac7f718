"""The architecture fails as a test rather than being a description."""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import subprocess
import sys
from typing import Final

import pytest

from tests.checkout import FOLDERS, ROOT, imports, is_within, packages, project_files, sources

MAY_NOT_IMPORT: Final = {
    "protocol": {
        "retinue.actors",
        "retinue.backends",
        "pykka",
        "loguru",
        "asyncio",
        "concurrent",
        "multiprocessing",
        "queue",
        "select",
        "selectors",
        "signal",
        "socket",
        "subprocess",
        "threading",
        "time",
    },
    "backends": {"retinue.actors", "pykka"},
    "actors": set[str](),
}
LONGEST_FILE: Final = 300
MACHINE_PATH: Final = re.compile(r"(?<![\w.~*-])/(?:work|root|home|Users)/")


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_follow_the_arrows(folder: str) -> None:
    """
    Actors and backends know the protocol, and nothing points the other way.
    """
    forbidden = MAY_NOT_IMPORT[folder]

    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(folder)
        for line, name in imports(path)
        if any(is_within(name, package) for package in forbidden)
    ]

    assert [] == wrong


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_are_absolute_and_start_at_retinue(folder: str) -> None:
    """
    No file imports relatively, or a folder of this library under its bare name.
    """
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(folder)
        for line, name in imports(path)
        if name.startswith(".") or name.split(".")[0] in FOLDERS
    ]

    assert [] == wrong


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_refuses_its_bare_name(folder: str) -> None:
    """
    From the checkout `import actors` would make second copies of every class; the error
    says what to import instead.
    """
    command = [sys.executable, "-c", f"import {folder}"]

    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)

    assert 1 == done.returncode
    assert f"ImportError: import retinue.{folder}, not '{folder}'" in done.stderr


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_package_guards_its_name(folder: str) -> None:
    """
    Each `__init__` compares its name with the only one that is right.
    """
    for name, place in packages(folder).items():
        text = (place / "__init__.py").read_text(encoding="utf-8")

        assert f'if __name__ != "{name}":\n    raise ImportError(' in text, place


@pytest.mark.parametrize("folder", FOLDERS)
def test_all_lists_what_a_folder_re_exports(folder: str) -> None:
    """
    Public is what `__all__` lists: every name in it exists, once, and what the `__init__`
    imports from the library is in it.
    """
    module = importlib.import_module(f"retinue.{folder}")
    public: list[str] = list(getattr(module, "__all__", ()))
    tree = ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8"))
    re_exported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and is_within(node.module or "", "retinue")
        for alias in node.names
    }

    assert [] == [name for name in public if not hasattr(module, name)]
    assert len(set(public)) == len(public)
    assert set() == re_exported - set(public)


def test_setup_names_every_package() -> None:
    """
    What setup.cfg installs is what the folders hold; it says nothing else.
    """
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    held = sorted(name for folder in FOLDERS for name in packages(folder))

    assert held == sorted(setup["options"]["packages"].split())
    assert {"options", "options.package_data"} == set(setup.sections())
    assert {"package_dir", "packages"} == set(setup["options"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_with_code_is_a_typed_package(folder: str) -> None:
    """
    A folder with Python files has an `__init__.py`, and a `py.typed` of its own, since the
    namespace `retinue` has no place for one.
    """
    for place in {path.parent for path in sources(folder)}:
        assert (place / "__init__.py").is_file(), place
        assert (place / "py.typed").is_file(), place


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_type_checkers_see_the_folders(folder: str) -> None:
    """
    `.typing/retinue` leads to the folders themselves, by a relative path.
    """
    link = ROOT / ".typing" / "retinue" / folder

    assert (ROOT / folder).samefile(link)
    assert not link.readlink().is_absolute()


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    """
    A Python file has at most 300 lines; a longer one is two.
    """
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for path in project_files()
        if path.suffix == ".py"
    }

    assert {} == {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE}


def test_no_file_names_a_path_of_one_machine() -> None:
    """
    Nothing in the project points at a folder that only one machine has.
    """
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in project_files()
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        if MACHINE_PATH.search(line.decode(errors="replace"))
    ]

    assert [] == wrong
