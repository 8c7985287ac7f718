"""What is said and what may follow: values and decisions, without threads, clocks or I/O."""

if __name__ != "retinue.protocol":
    raise ImportError(f"import retinue.protocol, not {__name__!r}")
