"""A call whose thread blocks SIGTRAP, which the kernel answers with death when that thread runs into a probe."""

import signal

import torch


def block_and_compute(x):
    """Reach code that no test reaches before, with the signal blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTRAP])
    try:
        return torch.special.modified_bessel_k1(x)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTRAP])
