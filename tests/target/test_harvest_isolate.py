"""A piece of work in a forked copy: what it sends arrives, and its death costs only itself."""

from __future__ import annotations

import os
import signal
import time

import pytest

from evo_nabla.target.harvest.isolate import LostError, Message, Send, isolated


def collect(work: object, seconds: float = 20.0) -> tuple[list[Message], str]:
    received: list[Message] = []
    try:
        received.extend(isolated(work, seconds))  # type: ignore[arg-type]
    except LostError as error:
        return received, str(error)
    return received, ""


def test_messages_arrive_in_order() -> None:
    def work(send: Send) -> None:
        for number in range(1000):
            send({"number": number, "text": "é\n" * 50})

    received, lost = collect(work)
    assert [message["number"] for message in received] == list(range(1000))
    assert not lost


def test_the_copy_changes_nothing_here() -> None:
    state = {"changed": False}
    collect(lambda send: state.update(changed=True))
    assert state == {"changed": False}


@pytest.mark.parametrize(
    ("death", "reason"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "SIGSEGV"),
        (os.abort, "SIGABRT"),
        (lambda: os._exit(7), "exit status 7"),
    ],
)
def test_a_death_is_named_and_what_was_sent_counts(death: object, reason: str) -> None:
    def work(send: Send) -> None:
        send({"before": 1})
        death()  # type: ignore[operator]

    assert collect(work) == ([{"before": 1}], reason)


def test_an_exception_ends_the_copy_only() -> None:
    def work(send: Send) -> None:
        raise ValueError("not for the caller")

    assert collect(work) == ([], "exit status 1")


def test_an_endless_copy_is_ended() -> None:
    def work(send: Send) -> None:
        send({"pid": os.getpid()})
        while True:
            time.sleep(0.01)

    received, lost = collect(work, 0.5)
    assert lost == "no end within 0.5 s"
    with pytest.raises(ProcessLookupError):
        os.kill(received[0]["pid"], 0)


def test_a_reader_that_gives_up_leaves_no_copy_behind() -> None:
    def work(send: Send) -> None:
        while True:
            send({"pid": os.getpid()})

    messages = isolated(work, 20.0)
    pid = next(messages)["pid"]
    messages.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
