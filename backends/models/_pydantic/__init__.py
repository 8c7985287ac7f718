"""What stands between our words and those of pydantic-ai; needs the extra ``models``."""

if __name__ != "retinue.backends.models._pydantic":
    raise ImportError(f"import retinue.backends.models._pydantic, not {__name__!r}")

from retinue.protocol.errors import MissingExtra

try:
    import pydantic_ai as _  # noqa: F401 - whether it is there
except ImportError as error:
    raise MissingExtra(
        "models by name, as 'openai:gpt-5', need pydantic-ai: pip install 'retinue[models]'"
    ) from error
