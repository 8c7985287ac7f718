"""Tests of the backends: one contract for every provider, and what each has beyond it."""
