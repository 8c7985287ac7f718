"""Tests of the actors and of the runtime that wires them."""
