"""The cases as tests of pytest.

    import pytest
    from onnx_conformance.pytest import Cases, backend

    cases = Cases(backend("my_package.backend:MyBackend"), ["ai.onnx/Relu-*/**"])

    @pytest.mark.parametrize("case", cases)
    def test_conformance(case):
        cases.check(case)

The cases run in processes of their own behind the adapter protocol, those of an operator version together when the first of them
is checked. So a crash fails one test and ends no other, and outputs are judged by the rules of the suite.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .errors import MissingPackageError
from .process import adapters, environment, program

__all__ = ["Cases", "backend"]

# The exit code of a selection that holds no case; those above mean that nothing could be run.
NOTHING_SELECTED = 3

# The packages of the extra `adapters`.
PACKAGES = ("onnx", "numpy", "ml_dtypes")


def backend(name: str) -> str:
    """The command line that puts an `onnx.backend.base.Backend`, named as `MODULE` or `MODULE:CLASS`, behind the adapter protocol.

    Raises `MissingPackageError` if a package of `onnx-conformance[adapters]` is not installed.
    """
    missing = [package for package in PACKAGES if importlib.util.find_spec(package) is None]
    if missing:
        raise MissingPackageError(
            f"{missing[0]} is not installed, and the adapters need it; "
            f"`{sys.executable} -m pip install 'onnx-conformance[adapters]'` installs it"
        )
    folder = adapters()
    if folder is None:
        raise FileNotFoundError(f"the adapters are not installed with {program()}; install the package with pip")
    words = [sys.executable, str(folder / "backend" / "adapter.py"), name]
    return " ".join(quoted(word) for word in words)


def quoted(word: str) -> str:
    return word if word == shlex.quote(word) else f'"{word}"'


class Cases:
    """The cases that filters choose, by id in order, and how they end on a runtime.

    `runtime` is what `--runtime` takes: the name of an adapter, or a command line. `filters` are globs over case ids. `expectations`
    is a file of failures that are known (`onnx-conformance init` writes one). `options` are further options of
    `onnx-conformance run`, such as `["--timeout", "10"]`.
    """

    def __init__(
        self,
        runtime: str,
        filters: Iterable[str],
        *,
        expectations: str | os.PathLike[str] | None = None,
        options: Iterable[str] = (),
    ) -> None:
        filters = list(filters)
        self.runtime = runtime
        self.expectations = Path(expectations).resolve() if expectations else None
        self.options = list(options)
        listed = self._call(["list", *filters], ())
        if listed.returncode != 0:
            raise ValueError(f"onnx-conformance list {' '.join(filters)}: {listed.stderr.strip() or 'no case is selected'}")
        self.ids = listed.stdout.splitlines()
        self._results: dict[str, dict[str, Any]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def check(self, case: str) -> None:
        """Passes, skips the test, or fails it with the message of the case.

        A failure that `expectations` lists is an expected failure (`pytest.xfail`); a listed case that passes fails the test, since
        the file is out of date. What the runtime does not declare, and what is not judged, is skipped.
        """
        import pytest

        if case not in self.ids:
            pytest.fail(f"{case} is none of the cases that the filters choose", pytrace=False)
        result = self.result(case)
        said = f"{result['outcome']}: {result.get('message', '')}\n{result.get('inputs', '')}".strip()
        if result["verdict"] == "regression":
            again = f"onnx-conformance run --runtime '{self.runtime}' '{case}'"
            pytest.fail(f"{said}\nto run it again: {again}", pytrace=False)
        if result["verdict"] == "improvement":
            pytest.fail(f"{said}\nbetter than {self.expectations} says: bring the file up to date", pytrace=False)
        if result["verdict"] == "expected failure":
            pytest.xfail(said)
        if result["outcome"] != "pass":
            pytest.skip(said)

    def result(self, case: str) -> dict[str, Any]:
        """The line of the results file about a case, as a dictionary, with its `verdict`."""
        if case not in self._results:
            group = "/".join(case.split("/")[:2])
            self._run([other for other in self.ids if "/".join(other.split("/")[:2]) == group])
        return self._results[case]

    def _run(self, ids: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            results, junit = Path(folder) / "results.jsonl", Path(folder) / "junit.xml"
            options = ["--from", "-", "--results", str(results), "--report", f"junit={junit}", "--failures", str(Path(folder) / "failures")]
            if self.expectations:
                options += ["--expectations", str(self.expectations)]
            ran = self._call(["run", "--runtime", self.runtime, *options, *self.options], ids)
            if ran.returncode > NOTHING_SELECTED or not results.exists():
                raise RuntimeError(f"onnx-conformance run ended with {ran.returncode}: {ran.stderr.strip()}")
            lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
            found = {line["id"]: line for line in lines if "id" in line}
            verdicts = verdicts_of(junit)
        missing = [case for case in ids if case not in found or case not in verdicts]
        if missing:
            raise RuntimeError(f"{missing[0]} has no result: {ran.stderr.strip()}")
        self._results.update((case, {**found[case], "verdict": verdicts[case]}) for case in ids)

    def _call(self, arguments: Sequence[str], lines: Iterable[str]) -> subprocess.CompletedProcess[str]:
        text = "".join(f"{line}\n" for line in lines)
        return subprocess.run(
            [program(), *arguments], input=text, env=environment(), capture_output=True, text=True, encoding="utf-8", check=False
        )


def verdicts_of(junit: Path) -> dict[str, str]:
    """The verdict of each case in a report for CI services: pass, expected failure, not judged, improvement, or regression."""
    verdicts = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        failed, skipped = (next((child for child in case if child.tag in tags), None) for tags in (("failure", "error"), ("skipped",)))
        if failed is not None:
            verdict = "improvement" if failed.get("message", "").startswith("better") else "regression"
        elif skipped is not None:
            verdict = "expected failure" if skipped.get("message", "").startswith("expected") else "not judged"
        else:
            verdict = "pass"
        verdicts[case.get("name", "")] = verdict
    return verdicts
