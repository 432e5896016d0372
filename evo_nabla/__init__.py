"""evo_nabla: a coverage-guided evolutionary fuzzer for automatic differentiation in deep-learning libraries."""

__version__ = "0.1.0"
