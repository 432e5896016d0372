"""Prints each call's hash and the digest of its tensors' bytes, one line per call; runs on any target's interpreter."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path


def main(path: str) -> None:
    """`path` is a JSONL file; evo_nabla is found beside this test suite, whether installed or not."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from evo_nabla.call import TensorArgument, call_hash, materialise, read_calls, walk

    for call in read_calls(path):
        content = hashlib.sha256()
        for place, item in walk(call):
            if isinstance(item, TensorArgument):
                content.update(place.encode() + str(item.shape).encode() + materialise(item).tobytes())
        print(call_hash(call), content.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])
