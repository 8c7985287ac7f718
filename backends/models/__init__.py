"""Models: what an agent without a behaviour works with; one file per kind."""

if __name__ != "retinue.backends.models":
    raise ImportError(f"import retinue.backends.models, not {__name__!r}")
