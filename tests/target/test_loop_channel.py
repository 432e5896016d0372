"""The worker's end of the wire speaks what the driver's end reads."""

from __future__ import annotations

import math
import os
import struct

import pytest

from evo_nabla.executor.frames import Decoder, encode
from evo_nabla.target.frames import MAX_FRAME, Channel, FrameError


def received(data: bytes) -> object:
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    channel = Channel(reading, os.open(os.devnull, os.O_WRONLY))
    try:
        return channel.receive()
    finally:
        channel.close()


def test_commands_are_received() -> None:
    assert received(encode({"kind": "run", "calls": ["é"]})) == {"kind": "run", "calls": ["é"]}


def test_the_end_of_the_pipe_is_the_end_of_the_work() -> None:
    assert received(b"") is None


@pytest.mark.parametrize("data", [struct.pack("<I", MAX_FRAME + 1), struct.pack("<I", 3) + b"[1]"])
def test_what_is_no_frame_ends_the_worker(data: bytes) -> None:
    with pytest.raises(FrameError):
        received(data)


def test_reports_keep_non_finite_numbers_and_lone_surrogates() -> None:
    reading, writing = os.pipe()
    channel = Channel(os.open(os.devnull, os.O_RDONLY), writing)
    channel.send({"kind": "report", "values": [math.nan, -math.inf, 1.5], "reason": "\udc80"})
    decoder = Decoder()
    decoder.feed(os.read(reading, 4096))
    channel.close()
    os.close(reading)
    assert decoder.next() == {
        "kind": "report",
        "values": [{"float": "nan"}, {"float": "-inf"}, 1.5],
        "reason": "\udc80",
    }
