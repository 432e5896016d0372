"""Operators that are right but awkward to differentiate: a checker must stay silent about every one."""
