"""A tensor's memory: where its elements lie in a flat buffer, and what becomes of those that share a place."""

from __future__ import annotations

import numpy as np

from evo_nabla.call import TensorArgument
from evo_nabla.call.layouts import extent, overlaps, strides_of


class Memory:
    """The memory layout of a tensor argument: strides and offset in elements."""

    def __init__(self, argument: TensorArgument) -> None:
        self.shape = argument.shape
        self.is_plain = argument.layout.kind == "contiguous"
        self.strides, self.offset = strides_of(argument.layout, argument.shape)
        self._positions = np.zeros(0, dtype=np.int64)
        self.tied = False
        if not self.is_plain:
            self._positions = self._all_positions()
            self.tied = overlaps(argument.layout) and np.unique(self._positions).size < self._positions.size

    def _all_positions(self) -> np.ndarray:
        positions = np.full(self.shape, self.offset, dtype=np.int64)
        for axis, (size, stride) in enumerate(zip(self.shape, self.strides)):
            line = np.arange(size, dtype=np.int64) * stride
            positions += line.reshape([-1 if a == axis else 1 for a in range(len(self.shape))])
        return positions.reshape(-1)

    def buffer(self, array: np.ndarray) -> np.ndarray:
        """The flat memory that holds the array; of elements that share a place the first in row-major order wins."""
        flat = np.zeros(extent(self.shape, self.strides, self.offset), dtype=array.dtype)
        flat[self._positions[::-1]] = array.reshape(-1)[::-1]
        return flat

    def project(self, array: np.ndarray) -> np.ndarray:
        """What can be read back after the array is written."""
        if not self.tied:
            return array
        return np.asarray(self.buffer(array)[self._positions].reshape(self.shape))
