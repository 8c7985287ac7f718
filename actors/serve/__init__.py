"""The faces that a runtime shows to the outside."""

if __name__ != "retinue.actors.serve":
    raise ImportError(f"import retinue.actors.serve, not {__name__!r}")
