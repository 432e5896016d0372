"""One measurement as a page: counts by kind, differentiation rules, source areas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jinja2

from evo_nabla.coverage.areas import Row
from evo_nabla.coverage.measurement import Measurement
from evo_nabla.coverage.nativemap import RULE
from evo_nabla.coverage.unreached import by_reason

_LONGEST = 400  # rows of areas; the rest is summed up
_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("evo_nabla.report"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
_ENVIRONMENT.filters["grouped"] = lambda number: f"{number:,}"


@dataclass(frozen=True)
class Denominators:
    """Of how many: by kind, where it is known; and all differentiation rules by name."""

    totals: Mapping[str, int]
    rules: Sequence[str]


def coverage_page(measurement: Measurement, rows: Sequence[Row], of: Denominators) -> str:
    """The page's HTML: self-contained, readable on a phone."""
    executed = measurement.features.get(RULE, frozenset())
    kinds = [(kind, count, of.totals.get(kind)) for kind, count in measurement.counts().items()]
    areas = {kind: [row for row in rows if row.kind == kind] for kind in dict.fromkeys(row.kind for row in rows)}
    return _ENVIRONMENT.get_template("coverage.html.jinja").render(
        measurement=measurement,
        kinds=kinds,
        areas={kind: own[:_LONGEST] for kind, own in areas.items() if kind != RULE},
        rest={kind: sum(row.features for row in own[_LONGEST:]) for kind, own in areas.items()},
        largest={kind: own[0].features for kind, own in areas.items()},
        executed=sorted(executed),
        unreached=by_reason(set(of.rules) - executed),
    )
