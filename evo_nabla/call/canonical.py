"""The one written form of a call, and the hash that names the call everywhere."""

from __future__ import annotations

import hashlib
import json

from .call import Call
from .serialise import call_document

_KEPT = "_hash"
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_text(call: Call) -> str:
    """The call's one written form: JSON in ASCII, keys sorted, no spaces, extras left out."""
    return _CANONICAL.encode(call_document(call))


def call_hash(call: Call) -> str:
    """32 hexadecimal digits of BLAKE2b over the canonical text; the same in every process, Python and NumPy.

    Kept with the call, which does not change: everything that draws for a call asks for it.
    """
    kept = vars(call)
    if _KEPT not in kept:
        kept[_KEPT] = hashlib.blake2b(canonical_text(call).encode("ascii"), digest_size=16).hexdigest()
    return str(kept[_KEPT])
