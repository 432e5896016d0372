"""Calls that are hard to observe: one blocks SIGTRAP, which is death at a probe, one is never the same."""

import signal

import torch


def block_and_compute(x):
    """Reach code that no test reaches before, with the signal blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
    try:
        return torch.special.modified_bessel_k1(x)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTRAP])


evaluations = []


def another_each_time(x):
    """Airy functions when the oracle runs the call plainly for the first time, twice; logarithms from then on."""
    evaluations.append(None)
    return torch.special.airy_ai(x) if len(evaluations) <= 2 else torch.special.log_ndtr(x)
