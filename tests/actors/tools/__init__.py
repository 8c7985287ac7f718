"""Tests of the tools with which models delegate."""
