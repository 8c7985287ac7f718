"""Tests of retinue.protocol."""
