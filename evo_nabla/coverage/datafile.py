"""Python lines as coverage.py's own data file, for its reports."""

from __future__ import annotations

from pathlib import Path

import coverage

from .areas import LINE
from .errors import MeasurementError
from .measurement import Measurement


def write(measurement: Measurement, path: Path) -> int:
    """Write the lines that were reached to a `.coverage` file at `path`; how many. Raises MeasurementError."""
    lines: dict[str, list[int]] = {}
    for name in measurement.features.get(LINE, ()):
        file, _, number = name.rpartition(":")
        if not number.isdecimal():
            raise MeasurementError(f"{name!r} is no line of Python")
        lines.setdefault(str(Path(measurement.root) / file), []).append(int(number))
    try:
        path.unlink(missing_ok=True)
        data = coverage.CoverageData(basename=str(path))
        data.add_lines(lines)
        data.write()
    except (OSError, coverage.CoverageException) as error:
        raise MeasurementError(f"{path}: cannot be written: {error}") from None
    return sum(map(len, lines.values()))
