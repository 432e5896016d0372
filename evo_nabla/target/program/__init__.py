"""Measures the coverage of a library in any Python program, from inside it."""
