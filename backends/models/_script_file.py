"""Scripts of models as JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from retinue.protocol.errors import ModelFailed


def read_script(file: str | Path) -> Any:
    """
    Read a script: a list of replies, or an object from places to such lists.

    Raises:
        ModelFailed: the file cannot be read, or is no JSON; the message says where.
    """
    path = Path(file)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFailed(f"scripted:{file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ModelFailed(
            f"scripted:{file}: is no JSON ({error}); expected a list of replies, as"
            ' ["hello"], or an object from places to such lists, as {"": ["hello"], "0": []}'
        ) from error
