"""The basic-block leaders of one function, found by recursive descent from its start.

Indirect jumps hide their targets (a switch's cases behind a jump table): those blocks are not found and not counted.
"""

from __future__ import annotations

from iced_x86 import Decoder, FlowControl, Instruction, OpKind

_GOES_ON = (FlowControl.NEXT, FlowControl.CALL, FlowControl.INDIRECT_CALL, FlowControl.XBEGIN_XABORT_XEND)
_NEAR_TARGETS = (OpKind.NEAR_BRANCH16, OpKind.NEAR_BRANCH32, OpKind.NEAR_BRANCH64)


def leaders(code: bytes, start: int) -> list[int]:
    """The addresses of all found blocks of the function whose bytes these are, sorted, its own start left out.

    Descent never leaves the function's bytes, and gives up a path where they do not decode.
    """
    end = start + len(code)
    decoder = Decoder(64, code, ip=start)
    instruction = Instruction()
    found: set[int] = set()
    decoded: set[int] = set()
    inside: set[int] = set()  # of an instruction: a probe there would change what the instruction before does
    waiting = [start]
    while waiting:
        address = waiting.pop()
        if address in found or not start <= address < end:
            continue
        found.add(address)
        while start <= address < end and address not in decoded:
            decoded.add(address)
            decoder.ip, decoder.position = address, address - start
            decoder.decode_out(instruction)
            if instruction.is_invalid:
                found.discard(address)
                break
            inside.update(range(address + 1, instruction.next_ip))
            address = instruction.next_ip
            flow = instruction.flow_control
            if flow not in _GOES_ON:
                waiting += _successors(instruction)
                break
    # Jumps into the middle of an instruction exist: past a lock prefix, or where data was taken for code.
    return sorted((found & decoded) - inside - {start})


def _successors(instruction: Instruction) -> list[int]:
    """Where a block's last instruction may lead."""
    flow = instruction.flow_control
    if flow == FlowControl.CONDITIONAL_BRANCH:
        return [instruction.near_branch_target, instruction.next_ip]
    if flow == FlowControl.UNCONDITIONAL_BRANCH and instruction.op0_kind in _NEAR_TARGETS:
        return [instruction.near_branch_target]
    return []
