"""Operators whose derivatives are wrong on purpose, one fault each: a checker must report every one."""
