"""The table of dtypes agrees with NumPy and with torch."""

from __future__ import annotations

import numpy as np
import pytest

from evo_nabla.call.dtypes import COMPLEX, DTYPES, FLOATING, INTEGER, NAMES, differentiable


@pytest.mark.parametrize("name", [name for name in NAMES if DTYPES[name].family == FLOATING])
def test_limits_of_floating_types(name: str) -> None:
    torch = pytest.importorskip("torch")
    dtype, limits = DTYPES[name], torch.finfo(getattr(torch, name))
    assert (dtype.highest, dtype.lowest, dtype.tiny, dtype.bits) == (limits.max, limits.min, limits.tiny, limits.bits)
    if name != "float8_e5m2fnuz":  # torch 2.13 gives 2**-3 for its two fraction bits
        assert dtype.eps == limits.eps


@pytest.mark.parametrize("name", NAMES)
def test_partners_and_storage(name: str) -> None:
    dtype = DTYPES[name]
    storage = np.dtype(dtype.storage)
    assert storage.kind == {"bool": "b", "floating": "f", "complex": "c"}.get(dtype.family, storage.kind)
    assert storage.itemsize * 8 >= dtype.bits
    assert differentiable(name) == (dtype.family in (FLOATING, COMPLEX))
    if dtype.family == COMPLEX:
        assert dtype.real is not None
        assert DTYPES[dtype.real].complex == dtype.complex == name
    elif dtype.family == INTEGER:
        assert (dtype.lowest, dtype.highest) == (np.iinfo(name).min, np.iinfo(name).max)
        assert dtype.real is None
        assert dtype.complex is None
