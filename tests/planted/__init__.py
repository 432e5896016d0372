"""Ground truth: operators that are wrong on purpose, honest but awkward ones, and what a checker must say of each."""
