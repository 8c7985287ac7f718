"""Tests of the faces that a runtime shows to the outside."""
