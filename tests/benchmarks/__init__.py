"""Tests of the benchmarks: that they run, not what they measure."""
