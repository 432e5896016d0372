"""Signatures: the same bug gives the same text, another bug another one."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.call import call_from_json
from evo_nabla.executor import Crash, Finding, Report
from evo_nabla.findings import Signature, observations, signatures_of
from evo_nabla.findings.signature import class_of_dtypes, crash_frames, normalise_message, told

from .conftest import bug, written

FAULTHANDLER = """Fatal Python error: Segmentation fault

Current thread 0x00007f3c2a7fe740 (most recent call first):
  File "/home/u/lib/python3.11/site-packages/torch/nn/functional.py", line 4242 in fold
  File "/home/u/evo_nabla/target/backends/torch.py", line 321 in _run
  File "/home/u/evo_nabla/target/main.py", line 12 in main
"""
NATIVE = (
    FAULTHANDLER
    + """
Current thread's C stack trace (most recent call first):
  Binary file "/home/u/libpython3.14.so", at _Py_DumpStack+0x4b [0x7f3]
  Binary file "/home/u/libtorch_cpu.so", at _ZN2at6native4foldE+0x12 [0x7f3]
"""
)


def observed(kind: str, message: str = "", order: int = 1, suspect: str = "reverse") -> Report:
    finding = Finding(kind, suspect, order, 2.0, {"reverse": 1.0, "forward": 2.0}, message, {})
    return Report("ok", "finding", findings=(finding,))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("size of tensor a (3) must match b (4)", "size of tensor a (12) must match b (1)"),
        ("got [1, 2] but expected shape compatible with [2, 3]", "got [7] but expected shape compatible with [4]"),
        ("unknown op 'conv_a' at 0x7ffe12", "unknown op 'relu' at 0xdead"),
        ("cannot open /tmp/abc123/x.bin: denied", "cannot open /var/tmp/q: denied"),
        ("value 1e-05 is not 3.25", "value -2 is not nan"),
        ("oops\nException raised from f at a.cpp:12", "oops\nException raised from g at b.cpp:99"),
        ("Expected 3D or 4D input", "Expected 2D or 3D input"),
    ],
)  # fmt: skip
def test_messages_that_differ_in_what_one_call_put_in_are_one(one: str, other: str) -> None:
    assert normalise_message(one) == normalise_message(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("derivative for conv2d failed", "derivative for conv3d failed"),
        ("expected Float but found Half", "expected Float but found Double"),
        ("it doesn't fit, and isn't whole", "it doesn't fit, and isn't square"),
    ],
)
def test_messages_that_say_something_else_differ(one: str, other: str) -> None:
    assert normalise_message(one) != normalise_message(other)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_normalising_twice_changes_nothing(message: str) -> None:
    once = normalise_message(message)
    assert normalise_message(once) == once


@given(st.text(max_size=300))
def test_any_output_of_a_dying_process_is_read(tail: str) -> None:
    assert all(isinstance(frame, str) for frame in crash_frames(tail))


def test_frames_are_those_of_the_library_without_lines_and_addresses() -> None:
    assert crash_frames(FAULTHANDLER)[-1] == "torch/nn/functional.py:fold"
    assert not any("evo_nabla" in frame or "4242" in frame for frame in crash_frames(FAULTHANDLER))
    assert crash_frames(NATIVE)[-1] == "libtorch_cpu.so:_ZN2at6native4foldE"


def test_what_is_told_of_a_crash_is_about_the_library() -> None:
    output = told(FAULTHANDLER + "Extension modules: numpy._core\n")
    assert 'File "torch/nn/functional.py", line 4242 in fold' in output and "Segmentation fault" in output
    assert "/home" not in output and "evo_nabla" not in output and "Extension" not in output


def test_the_numbers_of_a_finding_do_not_matter() -> None:
    call = bug("ldexp")
    assert signatures_of(call, observed("gradient", "off by 3")) == signatures_of(
        call, observed("gradient", "off by 4")
    )


def test_what_matters_is_told_apart() -> None:
    call = bug("ldexp")
    found = {
        signatures_of(call, report)[0].hash
        for report in (
            observed("gradient"),
            observed("gradient", order=2),
            observed("gradient", suspect="forward"),
            observed("nonfinite"),
            observed("status", "RuntimeError: a"),
            observed("status", "RuntimeError: b"),
        )
    }
    assert len(found) == 6


def test_a_crash_is_known_by_its_signal_and_frames() -> None:
    crash = Crash("SIGSEGV", None, FAULTHANDLER, confirmed=True)
    report = Report("crashed", "finding", findings=(Finding("crash", "reverse", 0, 1.0, {}, "", {}),), crash=crash)
    (signature,) = signatures_of(bug("vander"), report)
    assert signature.symptom.startswith("SIGSEGV") and signature.symptom.endswith("torch/nn/functional.py:fold")


def test_findings_with_one_signature_count_once() -> None:
    report = observed("gradient")
    report = Report("ok", "finding", findings=report.findings * 2)
    assert len(observations(bug("ldexp"), report)) == 1


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        (["float64"], "double"),
        (["float32", "int64"], "single"),
        (["float16", "bfloat16"], "half"),
        (["complex64"], "complex single"),
        (["complex128"], "complex double"),
        (["float64", "float32"], "mixed"),
        (["int64", "bool"], "none"),
    ],
)
def test_classes_of_dtypes(dtypes: list[str], expected: str) -> None:
    assert class_of_dtypes(dtypes) == expected


def test_only_differentiated_tensors_make_the_class() -> None:
    document = {"api": "torch.mul", "args": [written([1.0]), written([1.0], "float16")], "diff": ["args.0"]}
    (signature,) = signatures_of(call_from_json(document), observed("gradient"))
    assert signature.dtype_class == "double"


signatures = st.builds(Signature, st.text(), st.text(), st.text(), st.integers(0, 9), st.text(), st.text())


@given(signatures)
def test_signatures_survive_json(signature: Signature) -> None:
    assert Signature.from_json(signature.to_json()) == signature


@given(st.recursive(st.none() | st.integers() | st.text(), lambda j: st.lists(j) | st.dictionaries(st.text(), j)))
def test_anything_else_is_refused_with_its_place(document: object) -> None:
    with pytest.raises(ValueError, match="signature"):
        Signature.from_json(document)


def test_hashes_are_the_same_in_another_process() -> None:
    signature = Signature("torch.f", "gradient", "reverse", 1, "double", "")
    code = (
        "from evo_nabla.findings import Signature; print(Signature('torch.f','gradient','reverse',1,'double','').hash)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == signature.hash


def test_dtypes_alone_do_not_make_another_bug() -> None:
    double = Signature("torch.f", "gradient", "reverse", 1, "double", "")
    assert double.matches(double.seen_with("half"))
    assert not double.matches(Signature("torch.f", "gradient", "forward", 1, "double", ""))
    assert double.generalised().matches(Signature("torch.f", "gradient", "forward", 2, "half", ""))
    assert not double.generalised().matches(Signature("torch.g", "gradient", "reverse", 1, "double", ""))
