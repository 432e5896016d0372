"""Writes `report.md`: a finding told to the maintainers of the library, ready to be filed."""

from __future__ import annotations

import json
import math

from evo_nabla.executor.report import Finding as Observation

from .document import Finding
from .reproducer import mode_name, ordinal, relative_spread, templates, title, tolerance, what
from .signature import normalise_message, told
from .source import SourceError, call_as_python, call_source

MAX_TAIL = 40  # lines of a dying process's output


def report(finding: Finding, repro_problem: str = "") -> str:
    """The text of `report.md`; `repro_problem` says why there is no script, where there is none."""
    observation = finding.observation
    spread = relative_spread(observation.values)
    return (
        templates()
        .get_template("report.md.jinja")
        .render(
            title=title(finding.call, observation),
            what=_sentence(what(observation)),
            what_plain=what(observation),
            kind=observation.kind,
            suspect=mode_name(observation.suspect),
            why=why(observation),
            versions=finding.versions,
            code=_code(finding),
            message=_fenced(observation.message),
            values=[(mode_name(mode), repr(value)) for mode, value in observation.values.items()],
            ordinal=ordinal(observation.order),
            discrepancy=_size(observation.discrepancy),
            crash=_fenced("\n".join(told(finding.crash.stderr_tail).splitlines()[-MAX_TAIL:])) if finding.crash else "",
            float64=finding.float64,
            rtol=f"{tolerance(finding.call, observation):.1g}",
            spread=f"{spread:.2g}" if spread else "",
            repro_problem=repro_problem,
            evo_nabla=finding.evo_nabla,
            first_seen=finding.first_seen,
            seen=finding.seen,
            runs=finding.runs,
            sightings=finding.sightings,
            provenance=[(name, _cell(value)) for name, value in finding.provenance.items()],
            signature=_cell(finding.signature.text),
        )
    )


def why(observation: Observation) -> str:
    """The reason why this mode is suspected, from the numbers themselves where they tell."""
    suspects = set(observation.suspect.split("+"))
    others = {mode: value for mode, value in observation.values.items() if mode not in suspects}
    if observation.kind in ("status", "internal_assert"):
        works = observation.detail.get("works")
        return f"it raises, while {works} works." if isinstance(works, str) and works else "it raises."
    if observation.kind in ("crash", "hang"):
        return "the process was lost while it ran."
    if len(others) >= 2 and relative_spread(others) < 1e-3:
        return f"{_listed(others)} agree with each other."
    if others:
        return f"it stands against {_listed(others)}."
    return "it is the one that differs."


def _listed(modes: dict[str, float]) -> str:
    names = [mode_name(mode) for mode in modes]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def _code(finding: Finding) -> str:
    try:
        return call_as_python(call_source(finding.call))
    except SourceError as error:
        return f"# cannot be written as code: {normalise_message(str(error))}"


def _size(discrepancy: float) -> str:
    return f"{discrepancy:.3g}" if math.isfinite(discrepancy) else ""


def _fenced(message: str) -> str:
    """Text that cannot end the fence it stands in."""
    return message.replace("```", "'''").strip()


def _cell(value: object) -> str:
    written = value if isinstance(value, str) else json.dumps(value)
    return written.replace("|", "\\|").replace("`", "'").replace("\n", " ")
