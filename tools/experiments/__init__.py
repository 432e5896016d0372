"""Experiments whose results docs/experiments.md reports."""
