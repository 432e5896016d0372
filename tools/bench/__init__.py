"""Benchmarks: figures for docs/experiments.md, never tests."""
