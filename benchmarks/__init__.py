"""The benchmarks: `python -m benchmarks` from the checkout, with `retinue` installed."""
