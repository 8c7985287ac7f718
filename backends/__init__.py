"""Who does the work: one file per provider, model or store."""

if __name__ != "retinue.backends":
    raise ImportError(f"import retinue.backends, not {__name__!r}")
