"""The machinery behind `spawn` and `fork`: turns, behaviours and the model loop in this process."""

if __name__ != "retinue.backends._inprocess":
    raise ImportError(f"import retinue.backends._inprocess, not {__name__!r}")
