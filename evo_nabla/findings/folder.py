"""The folder of findings on disk: one sub-folder per finding, written whole or not at all, never overwritten."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from .document import Finding, FindingError, read_finding
from .report import report
from .reproducer import reproducer
from .signature import Signature
from .source import SourceError

FINDING, REPORT, REPRO = "finding.json", "report.md", "repro.py"
_UNFINISHED = ".new-"
_NUMBERED = re.compile(r"(\d{4,})-.+")


class FindingsFolder:
    """Reads and writes the sub-folders. One process writes at a time (the campaign's lock sees to that)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        for leftover in path.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def read(self) -> tuple[dict[str, Finding], list[str]]:
        """All findings by folder name, and one message for every folder that cannot be read (it is left as it is)."""
        findings, problems = {}, []
        for sub in sorted(self.path.iterdir()):
            if not sub.is_dir() or not _NUMBERED.fullmatch(sub.name):
                continue
            try:
                findings[sub.name] = read_finding(sub / FINDING)
            except FindingError as error:
                problems.append(f"{error}; skipped, its bug may be reported again")
        return findings, problems

    def write(self, finding: Finding) -> str:
        """Write a new finding; the name of its folder, `0007-torch.xlogy-gradient-reverse-o1-<hash8>`."""
        temporary = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.path))
        try:
            problem = ""
            try:
                _write(temporary / REPRO, reproducer(finding.call, finding.observation, finding.versions))
            except (SourceError, KeyError) as error:
                problem = str(error)
            _write(temporary / REPORT, report(finding, problem))
            _write(temporary / FINDING, json.dumps(finding.to_json(), indent=2) + "\n")
            temporary.chmod(0o755)
            name = f"{self._next_number():04d}-{stem(finding.signature)}"
            temporary.rename(self.path / name)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _sync(self.path)
        return name

    def update(self, name: str, finding: Finding) -> None:
        """Replace `finding.json` alone: sightings and aliases grow, the report and the script stay as they are."""
        file = self.path / name / FINDING
        temporary = file.with_name(f"{FINDING}.new")
        _write(temporary, json.dumps(finding.to_json(), indent=2) + "\n")
        temporary.replace(file)
        _sync(file.parent)

    def append(self, name: str, line: str) -> None:
        """Add a line to a file beside the sub-folders; a line that a kill cut short stays a line of its own."""
        file = self.path / name
        torn = file.exists() and file.stat().st_size > 0 and not file.read_bytes().endswith(b"\n")
        with file.open("a", encoding="utf-8") as stream:
            stream.write(("\n" if torn else "") + line + "\n")

    def _next_number(self) -> int:
        numbers = [int(match[1]) for sub in self.path.iterdir() if (match := _NUMBERED.fullmatch(sub.name))]
        return max(numbers, default=0) + 1


def stem(signature: Signature) -> str:
    """What a folder's name says of its finding."""
    words = (signature.api, signature.kind, signature.suspect, f"o{signature.order}")
    return "-".join(re.sub(r"[^A-Za-z0-9_.+]+", "_", word)[:80] for word in words) + f"-{signature.hash}"


def _write(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
