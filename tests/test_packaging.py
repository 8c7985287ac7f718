"""What installing and importing the library brings, and what it leaves alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any, Final

from tests.checkout import FOLDERS, ROOT, imports, sources

PROJECT: Final[dict[str, Any]] = tomllib.loads(
    (ROOT / "pyproject.toml").read_text(encoding="utf-8")
)["project"]
HEAVY: Final = {"asyncio", "cattrs", "cloudpickle", "jsonschema", "msgspec", "sqlalchemy"}
CORE: Final = "import attrs, loguru, pykka"
BROUGHT_ALONG: Final = {
    "jsonschema_specifications",  # by jsonschema, since 4.18
    "referencing",  # likewise
    "anyio",  # by mcp
}
NEEDED_TO_START: Final = ("HOME", "LD_LIBRARY_PATH", "PATH", "TMPDIR")

# Distributions whose import name is not their own in lower case, with underscores.
IMPORT_NAMES: Final = {
    "agent-client-protocol": "acp",
    "deepseek-harness-sdk": "deepseek_harness",
    "pydantic-ai-slim": "pydantic_ai",
}

STATE = """
import asyncio, gc, logging, os, signal, sys, threading, warnings

def state():
    root = logging.getLogger()
    return repr({
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "root logger": (root.level, root.handlers, root.filters),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.get_freeze_count()),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": sys.path,
        "loop policy": asyncio.get_event_loop_policy(),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook),
        "threads": threading.enumerate(),
        "warnings": warnings.filters,
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval()),
    })
"""


def run_fresh(code: str, folder: Path) -> str:
    """
    Run code in a new interpreter, away from the checkout, and return what it printed.

    Of the environment it gets what it needs to start: what an import in this process has
    set would hide that the import sets it.
    """
    environ = {key: os.environ[key] for key in NEEDED_TO_START if key in os.environ}
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environ["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in paths if path)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder,
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout + done.stderr


def modules_after(statement: str, folder: Path) -> set[str]:
    """Return the top-level names in `sys.modules` after one statement in a new interpreter."""
    printed = run_fresh(f"import json, sys\n{statement}\nprint(json.dumps([*sys.modules]))", folder)
    return {name.partition(".")[0] for name in json.loads(printed)}


def import_name(requirement: str) -> str:
    """Return what a requirement is imported as."""
    name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()
    return IMPORT_NAMES.get(name, name.replace("-", "_"))


def third_party_imports() -> set[str]:
    """Return the top-level names that the library imports, without its own and Python's."""
    names = {
        name.partition(".")[0]
        for folder in FOLDERS
        for path in sources(folder)
        for _, name in imports(path)
    }
    return names - {"retinue"} - sys.stdlib_module_names


def test_importing_the_actors_leaves_heavy_packages_for_later(tmp_path: Path) -> None:
    """
    `import retinue.actors` takes in no package that a start does not need. What pykka,
    attrs and loguru import themselves is theirs: loguru brings asyncio.
    """
    ours = modules_after("import retinue.actors", tmp_path) - modules_after(CORE, tmp_path)

    assert set() == HEAVY & ours
    assert {"retinue"} == ours - sys.stdlib_module_names


def test_importing_the_actors_changes_nothing_else(tmp_path: Path) -> None:
    """
    No handler, hook, gc setting, environment variable, loop policy or thread appears.
    """
    code = f"{STATE}\n{CORE}\nbefore = state()\nimport retinue.actors\nprint(before == state())"

    assert "True\n" == run_fresh(code, tmp_path)


def test_the_library_is_silent_until_its_host_asks(tmp_path: Path) -> None:
    """
    Records of `retinue` are dropped, those of the host are not; `logger.enable` shows both.
    """
    code = """
    import retinue.actors
    from loguru import logger

    ours = {"__name__": "retinue.actors.run", "logger": logger}
    exec("logger.warning('dropped')", ours)
    logger.warning("of the host")
    logger.enable("retinue")
    exec("logger.warning('asked for')", ours)
    """

    printed = run_fresh(code, tmp_path)

    assert "dropped" not in printed
    assert "of the host" in printed
    assert "asked for" in printed


def test_every_core_dependency_is_imported() -> None:
    """
    A dependency that no file of the library imports has not earned its line.
    """
    declared = {import_name(requirement) for requirement in PROJECT["dependencies"]}

    assert set() == declared - third_party_imports()


def test_every_import_is_declared() -> None:
    """
    What the library imports stands among its dependencies or in an extra for its users.
    """
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    for_users = [extras[name] for name in extras if name not in {"test", "dev"}]
    requirements = sum(for_users, start=list(PROJECT["dependencies"]))
    declared = {import_name(line) for line in requirements} | BROUGHT_ALONG

    assert set() == third_party_imports() - declared
