"""A report survives JSON, and anything else is refused with the place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_nabla.executor.report import KINDS, MODE_STATES, STATUSES, Crash, Finding, Report, Seconds
from evo_nabla.executor.signature import Signature

numbers = st.floats()
words = st.text(max_size=8)
findings = st.builds(
    Finding,
    kind=st.sampled_from(KINDS),
    suspect=words,
    order=st.integers(0, 4),
    discrepancy=numbers,
    values=st.dictionaries(words, numbers, max_size=3),
    message=words,
    detail=st.dictionaries(words, st.integers() | words, max_size=2),
)
crashes = st.builds(Crash, words, st.none() | st.integers(0, 255), words, st.booleans())


@st.composite
def reports(draw: st.DrawFn) -> Report:
    found = tuple(draw(st.lists(findings, max_size=2)))
    return Report(
        status=draw(st.sampled_from(STATUSES)),
        verdict="finding" if found else draw(st.sampled_from(("agree", "inconclusive"))),
        reason=draw(words),
        findings=found,
        discrepancy=draw(numbers),
        values=draw(st.dictionaries(words, numbers, max_size=3)),
        modes=draw(st.dictionaries(words, st.sampled_from(MODE_STATES), max_size=3)),
        differentiated=draw(st.booleans()),
        features=draw(
            st.dictionaries(
                words, st.dictionaries(words, st.lists(words, max_size=3).map(tuple), max_size=2), max_size=2
            )
        ),
        seconds=Seconds(draw(st.floats(0, 1e6)), draw(st.floats(0, 1e6))),
        crash=draw(st.none() | crashes),
    )


@given(reports())
def test_reports_survive_json(report: Report) -> None:
    text = json.dumps(report.to_json(), allow_nan=False)
    assert json.dumps(Report.from_json(json.loads(text)).to_json(), allow_nan=False) == text


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@given(reports(), st.data())
def test_a_field_of_another_kind_is_refused_by_place_or_read(report: Report, data: st.DataObject) -> None:
    document = report.to_json()
    field = data.draw(st.sampled_from(sorted(document)))
    document[field] = data.draw(json_values)
    try:
        read = Report.from_json(document)
    except ValueError as error:
        assert str(error).startswith("report")
    else:
        assert Report.from_json(read.to_json()).to_json() == read.to_json()


@pytest.mark.parametrize("field", sorted(Report("ok", "agree").to_json()))
def test_a_missing_field_is_named(field: str) -> None:
    document = Report("ok", "agree").to_json()
    del document[field]
    with pytest.raises(ValueError, match=f"report.{field}: missing"):
        Report.from_json(document)


def test_places_are_exact() -> None:
    document = Report("ok", "agree").to_json()
    document["features"] = {"line": {"direct": ["a.py:1", 7]}}
    with pytest.raises(ValueError, match=r"report\.features\.line\.direct\[1\]: a text expected, not int"):
        Report.from_json(document)
    document["features"], document["verdict"] = {}, "finding"
    with pytest.raises(ValueError, match="verdict finding with 0 findings"):
        Report.from_json(document)
    document["verdict"], document["discrepancy"] = "agree", 10**400
    with pytest.raises(ValueError, match="beyond double precision"):
        Report.from_json(document)


def test_non_finite_numbers_are_read() -> None:
    document = Report("ok", "agree", discrepancy=math.inf).to_json()
    assert document["discrepancy"] == {"float": "inf"}
    assert Report.from_json(document).discrepancy == math.inf


def test_a_default_of_none_is_told_from_no_default() -> None:
    parameters = [
        {"name": "input", "kind": "positional", "type": "Tensor"},
        {"name": "out", "kind": "keyword", "default": None, "type": None, "choices": ["sum", "mean"]},
    ]
    signature = Signature.from_json({"parameters": parameters, "method": False, "module": False})
    assert [parameter.has_default for parameter in signature.parameters] == [False, True]
    assert signature.parameters[1].choices == ("sum", "mean")
    bad = {"parameters": [{"name": "x", "kind": "keyword", "default": {"nosuch": 1}}], "method": False, "module": False}
    with pytest.raises(ValueError, match=r"signature\.parameters\[0\]\.default"):
        Signature.from_json(bad)
