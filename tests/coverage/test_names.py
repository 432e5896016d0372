"""Demangled names and the source area they belong to."""

from __future__ import annotations

import pytest

from evo_nabla.coverage.names import area, demangle


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void at::native::copy_impl<float>(at::Tensor&)", "at::native"),
        ("torch::autograd::generated::AddBackward0::apply(std::vector<at::Tensor>&&)", "torch::autograd"),
        ("at::native::(anonymous namespace)::foo(int)", "at::native"),
        ("at::(anonymous namespace)::foo(int)", "at"),
        ("mkl_blas_dgemm", ""),
        ("main()", ""),
        ("", ""),
        ("non-virtual thunk to c10::X::foo()", "c10::X"),
        ("c10::impl::wrap<void (*)(int), std::pair<a, b> >::call(c10::OperatorKernel*)", "c10::impl"),
        ("bool c10::operator==<int>(a const&)", "c10"),
        ("c10::ArrayRef<long>::operator()(int)", "c10::ArrayRef"),
        ("at::native::foo(int)::{lambda()#1}::operator()() const", "at::native"),
        ("std::enable_if<(1 > 0), void>::type at::internal::f<int>(x)", "at::internal"),
        ("torch::jit::Node::~Node()", "torch::jit"),
    ],
)
def test_area(name: str, expected: str) -> None:
    assert area(name) == expected


def test_demangle() -> None:
    assert demangle("_ZN2at6native3fooEi") == "at::native::foo(int)"
    assert demangle("mkl_blas_dgemm") == "mkl_blas_dgemm"
    assert demangle("_Znot a name") == "_Znot a name"
