"""Tests of the models that the library ships, and of the waits in front of them."""
