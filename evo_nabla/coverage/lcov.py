"""Native functions as an LCOV tracefile, for genhtml and the many tools that read it.

LCOV speaks of source files and lines, which a stock wheel does not carry; here a "file" is a source area of a shared
object and a function's "line" is its address in that object. The records (TN, SF, FN, FNDA, FNF, FNH) are those of the
tracefile format in geninfo(1).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from .areas import Namer
from .measurement import Measurement
from .nativemap import FUNCTION


class _Function(NamedTuple):
    source: str
    address: int
    name: str


def write(measurement: Measurement, namer: Namer, stream: TextIO) -> int:
    """Write the functions that were reached; how many."""
    functions = sorted(_functions(measurement, namer))
    stream.write("TN:\n")
    for source, group in itertools.groupby(functions, lambda function: function.source):
        own = list(group)
        stream.write(f"SF:{source}\n")
        stream.writelines(f"FN:{function.address},{function.name}\n" for function in own)
        stream.writelines(f"FNDA:1,{function.name}\n" for function in own)
        stream.write(f"FNF:{len(own)}\nFNH:{len(own)}\nend_of_record\n")
    return len(functions)


def _functions(measurement: Measurement, namer: Namer) -> Iterator[_Function]:
    for feature in measurement.features.get(FUNCTION, ()):
        library, _, address = feature.rpartition(":")
        try:
            named = namer.describe(feature)
        except ValueError:
            yield _Function(library, int(address, 16), feature)
            continue
        area = named.area.replace("::", "/")
        yield _Function(f"{library}/{area}" if area else library, int(address, 16), " ".join(named.function.split()))
