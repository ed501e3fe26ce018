"""The cases as tests of pytest.

    import pytest
    from onnx_conformance.pytest import Cases, backend

    cases = Cases(backend("my_package.backend:MyBackend"), ["ai.onnx/Relu-*/**"])

    @pytest.mark.parametrize("case", cases)
    def test_conformance(case):
        cases.check(case)

The cases run in separate processes behind the adapter protocol. One start of the program runs the cases of all tests of the session.
A crash fails one test and ends no other. Outputs are judged by the rules of the suite.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Union, overload
from xml.etree import ElementTree

from .errors import MissingPackageError
from .locks import locked
from .process import adapters, environment, program

__all__ = ["Case", "Cases", "backend"]

# The exit code of a selection that holds no case; those above mean that nothing could be run.
NOTHING_SELECTED = 3

# The packages of the extra `adapters`.
PACKAGES = ("onnx", "numpy", "ml_dtypes")

# Number of cases in the first run of a session that stops at a failure. Each further run has twice as many.
FIRST_RUN = 64

# Seconds that an interrupted program has for its end, before and after it is asked to end.
GRACE, LAST_GRACE = 1.0, 10.0

# The line of a results file about a case with its verdict, or the reason why there is none.
Found = Union["dict[str, Any]", str]

# The character before the name of a profile among filters.
PROFILE = "@"

# The profile that the session selects in place of those of the tests. The plugin of pytest sets it.
session_profile: str | None = None


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


class Case(str):
    """The id of a case, which knows its selection. A copy is only the id."""

    cases: Cases

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class Cases(Sequence[str]):
    """The cases that filters select, by id in order, and their results on a runtime.

    `runtime` is what `--runtime` takes: the name of an adapter, or a command line. `filters` are globs over case ids, and profiles such as
    `@pr`. `expectations` is a file of known failures (`onnx-conformance run --init` writes one). `options` are further options of
    `onnx-conformance run`, such as `["--timeout", "10"]`.

    `pytest --onnx-conformance-profile NAME` replaces the profile. Filters may then select nothing, if they do in the whole suite.
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
        self.ids: list[str] = []
        for line in self._list(filters):
            case = Case(line)
            case.cases = self
            self.ids.append(case)
        self._known = frozenset(self.ids)
        self._results: dict[str, Found] = {}
        # The cases that run together, by case.
        self._runs: dict[str, Sequence[str]] = {}
        # The folder in which the processes of pytest-xdist share results.
        self._shared: Path | None = None
        self._lock = threading.Lock()

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.ids[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, case: object) -> bool:
        return case in self._known

    def check(self, case: str) -> None:
        """Passes, skips the test, or fails it with the message of the case.

        A failure that `expectations` lists is an expected failure (`pytest.xfail`); a listed case that passes fails the test, since
        the file is out of date. What the runtime does not declare, and what is not judged, is skipped.
        """
        import pytest

        if case not in self:
            pytest.fail(f"{case} is none of the cases that the filters choose", pytrace=False)
        result = self.result(case)
        said = f"{result['outcome']}: {result.get('message', '')}\n{result.get('inputs', '')}".strip()
        if result["verdict"] == "regression":
            again = f"onnx-conformance run --runtime '{self.runtime}' '{case}'"
            pytest.fail(f"{said}\nto run it again: {again}", pytrace=False)
        if result["verdict"] == "improvement":
            pytest.fail(f"{said}\nbetter than {self.expectations} says: bring the file up to date", pytrace=False)
        if result["verdict"] == "expected failure":
            # `pytest.xfail` makes a traceback, which takes longer than the case.
            raise pytest.xfail.Exception(said, pytrace=False)
        if result["outcome"] != "pass":
            pytest.skip(said)

    def result(self, case: str) -> dict[str, Any]:
        """The line of the results file about a case, as a dictionary, with its `verdict`.

        Raises `RuntimeError` if the program has no result of it.
        """
        found = self._found(case)
        if isinstance(found, str):
            raise RuntimeError(found)
        return found

    def plan(self, cases: Iterable[str], *, stops_early: bool = False, shared: Path | None = None) -> None:
        """Sets the cases that run together: those of a session, in the order of its tests.

        A session that stops at a failure runs them in parts. `shared` is a folder in which several processes of one session share
        results. The plugin of pytest calls this.
        """
        ids = list(dict.fromkeys(cases))
        self._runs, self._shared = {}, shared
        start, size = 0, FIRST_RUN if stops_early else len(ids)
        while start < len(ids):
            part = ids[start : start + size]
            self._runs.update(dict.fromkeys(part, part))
            start, size = start + size, size * 2

    def prepare(self, case: str) -> None:
        """Runs the planned cases that run together with this one, unless they have run. The plugin of pytest calls this."""
        if case in self._runs:
            # The test gets the same exception.
            with contextlib.suppress(Exception):
                self._found(case)

    def _found(self, case: str) -> Found:
        if case not in self:
            raise KeyError(case)
        with self._lock:
            while case not in self._results:
                planned = self._runs.get(case)
                found = self._run_planned(planned) if planned else self._run(self._similar(case))
                self._results.update(found)
                if planned and not found:
                    # The run ended early. It is repeated by operator version.
                    groups: dict[str, list[str]] = {}
                    for other in planned:
                        groups.setdefault(group_of(other), []).append(other)
                    self._runs.update((other, groups[group_of(other)]) for other in planned)
            return self._results[case]

    def _similar(self, case: str) -> list[str]:
        """The cases of an operator version that have no results."""
        return [other for other in self.ids if group_of(other) == group_of(case) and other not in self._results]

    def _run_planned(self, ids: Sequence[str]) -> dict[str, Found]:
        """Runs the cases, or takes the results of another process."""
        if self._shared is None or not self._shared.is_dir():
            return self._run(ids)
        key = json.dumps([self.runtime, str(self.expectations), self.options, ids])
        path = self._shared / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
        with locked(path.with_suffix(".lock")):
            if path.exists():
                results: dict[str, Found] = json.loads(path.read_text(encoding="utf-8"))
                return results
            results = self._run(ids)
            path.write_text(json.dumps(results), encoding="utf-8")
            return results

    def _run(self, ids: Sequence[str]) -> dict[str, Found]:
        """Runs cases. Returns nothing if the run ended early and the cases are of several operator versions."""
        with tempfile.TemporaryDirectory(prefix="onnx-conformance-") as folder:
            results, junit = Path(folder) / "results.jsonl", Path(folder) / "junit.xml"
            options = ["--from", "-", "--results", str(results), "--report", f"junit-cases={junit}", "--failures", str(Path(folder) / "failures")]
            if self.expectations:
                options += ["--expectations", str(self.expectations)]
            ran = self._call(["run", "--runtime", self.runtime, *options, *self.options], ids)
            said = ran.stderr.strip()
            if ran.returncode < 0 or ran.returncode > NOTHING_SELECTED or not junit.exists():
                can_continue = results.exists() and len({group_of(case) for case in ids}) > 1
                return {} if can_continue else dict.fromkeys(ids, f"onnx-conformance run ended with {ran.returncode}: {said}")
            lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
            found = {line["id"]: line for line in lines if "id" in line}
            verdicts = verdicts_of(junit)
        return {
            case: {**found[case], "verdict": verdicts[case]} if case in found and case in verdicts else f"{case} has no result: {said}"
            for case in ids
        }

    def _list(self, filters: Sequence[str]) -> list[str]:
        """The ids that filters select within the profile of the session. Raises `ValueError` if they select nothing in the suite."""
        if session_profile is None:
            return self._listed(filters)
        others = [text for text in filters if not text.startswith(PROFILE)]
        chosen = [f"{PROFILE}{session_profile}", *others]
        return self._listed(chosen, or_nothing_of=others)

    def _listed(self, filters: Sequence[str], *, or_nothing_of: Sequence[str] | None = None) -> list[str]:
        """The ids that filters select. They may select nothing if `or_nothing_of` selects a case."""
        listed = self._call(["list", *filters], ())
        if listed.returncode == NOTHING_SELECTED and or_nothing_of is not None and self._listed(or_nothing_of):
            return []
        if listed.returncode != 0:
            raise ValueError(f"onnx-conformance list {' '.join(filters)}: {listed.stderr.strip() or 'no case is selected'}")
        return listed.stdout.splitlines()

    def _call(self, arguments: Sequence[str], lines: Iterable[str]) -> subprocess.CompletedProcess[str]:
        text = "".join(f"{line}\n" for line in lines)
        command = [program(), *arguments]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, env=environment(), stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8"
        ) as process:
            try:
                out, err = process.communicate(text)
            except BaseException:
                end(process)
                raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def end(process: subprocess.Popen[str]) -> None:
    """Waits for the end of a program after an interrupt, so that it removes its files. Ctrl-C has interrupted the program as well."""
    for seconds, act in ((GRACE, process.terminate), (LAST_GRACE, process.kill)):
        try:
            process.wait(seconds)
            return
        except subprocess.TimeoutExpired:
            act()


def group_of(case: str) -> str:
    """The operator version of a case, or the folder of a vendored one."""
    return "/".join(case.split("/")[:2])


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
