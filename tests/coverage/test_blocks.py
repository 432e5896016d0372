"""Basic-block leaders of hand-written machine code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.coverage.blocks import leaders

START = 0x1000


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("c3", []),  # ret
        ("85ff 7402 90 c3 90 c3", [4, 6]),  # test edi,edi; je +2; nop; ret | nop; ret
        ("90 ebfd", []),  # nop; jmp back to the start
        ("90 90 ebfd", [1]),  # a loop into the second instruction
        ("e800000000 c3", []),  # a call ends no block
        ("ffe0 90 c3", []),  # an indirect jump hides what follows
        ("eb7f c3", []),  # a tail call leaves the function
        ("740a", []),  # a branch beyond the end, both ways
        ("7401 06 c3", [3]),  # the fall-through does not decode in 64-bit mode; the target does
    ],
)
def test_leaders(code: str, expected: list[int]) -> None:
    assert leaders(bytes.fromhex(code.replace(" ", "")), START) == [START + offset for offset in expected]


@given(st.binary(max_size=200))
def test_any_bytes_have_leaders_inside_themselves(code: bytes) -> None:
    found = leaders(code, START)
    assert found == sorted(set(found))
    assert all(START < address < START + len(code) for address in found)


def test_a_leader_inside_an_instruction_is_none() -> None:
    # je past the lock prefix of a lock cmpxchg: a probe on what follows the prefix would change the whole instruction.
    assert leaders(bytes.fromhex("7401f00fb10fc3"), 0x1000) == [0x1002]
