"""Arrays as vectors of ℝⁿ and back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evo_nabla.target.oracle.space import Space

arrays = st.lists(
    st.sampled_from(["float64", "float32", "complex128", "complex64"]).flatmap(
        lambda dtype: hnp.arrays(
            dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), elements={"allow_nan": False}
        )
    ),
    max_size=4,
)


@given(arrays)
def test_round_trip(values: list[np.ndarray]) -> None:
    space = Space(values)
    vector = space.flatten(values)
    assert vector.dtype == np.float64
    assert vector.size == sum(v.size * (2 if v.dtype.kind == "c" else 1) for v in values)
    back = space.unflatten(vector)
    for a, b in zip(values, back, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@given(arrays, arrays)
def test_a_sum_of_spaces_is_their_concatenation(a: list[np.ndarray], b: list[np.ndarray]) -> None:
    both = Space(a) + Space(b)
    vector = both.flatten([*a, *b])
    assert np.array_equal(vector, np.concatenate([Space(a).flatten(a), Space(b).flatten(b)]))


def test_the_real_inner_product_of_complex_vectors() -> None:
    a, b = np.array([1 + 2j, 3 - 1j]), np.array([0.5 - 1j, 2j])
    space = Space([a])
    assert np.isclose(space.flatten([a]) @ space.flatten([b]), np.real(np.sum(np.conj(a) * b)))


def test_a_missing_array_is_zero() -> None:
    assert not Space([np.ones(3)]).flatten([None]).any()
