"""Frames come out whole however they are cut, and bytes that are no frames are refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.executor.errors import WorkerGarbledError
from evo_nabla.executor.frames import MAX_FRAME, Decoder, encode

documents = st.fixed_dictionaries({"kind": st.text(), "payload": st.lists(st.integers() | st.text(), max_size=5)})


@given(st.lists(documents, max_size=5), st.data())
def test_frames_survive_any_cut(sent: list[dict[str, object]], data: st.DataObject) -> None:
    stream = b"".join(encode(document) for document in sent)
    decoder, received = Decoder(), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        decoder.feed(stream[:cut])
        stream = stream[cut:]
        while (document := decoder.next()) is not None:
            received.append(document)
    assert received == sent
    assert decoder.next() is None


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_waits_for_more(data: bytes) -> None:
    decoder = Decoder()
    decoder.feed(data)
    try:
        while (document := decoder.next()) is not None:
            assert isinstance(document["kind"], str)
    except WorkerGarbledError as error:
        assert str(error).startswith("the worker ")


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"\xff\xfe", "not JSON"),
        (b'{"kind": "report", "x": NaN}', "NaN is not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "without a kind"),
        (b'{"kind": 1}', "without a kind"),
        (b"", "not JSON"),
    ],
)
def test_what_is_wrong_is_said(payload: bytes, message: str) -> None:
    decoder = Decoder()
    decoder.feed(struct.pack("<I", len(payload)) + payload)
    with pytest.raises(WorkerGarbledError, match=message):
        decoder.next()


def test_an_oversize_frame_is_refused_before_it_is_read() -> None:
    decoder = Decoder()
    decoder.feed(struct.pack("<I", MAX_FRAME + 1))
    with pytest.raises(WorkerGarbledError, match=str(MAX_FRAME + 1)):
        decoder.next()
    with pytest.raises(ValueError, match="smaller"):
        encode({"kind": "run", "calls": "x" * MAX_FRAME})
