"""`onnx_conformance.pytest` in sessions of pytest. Needs pytest alone; with pytest-xdist, there is one more test."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest
from onnx_conformance.pytest import Cases

# Three types of three operator versions.
FILTERS = ["ai.onnx/Identity-{1,13,14}/known_values/?={double,float,int64}"]

# Pytest as a terminal starts it. A shell starts a command in the background with SIGINT ignored, and Python keeps that.
PYTEST = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))
"""

# A runtime that has Identity alone. It fails as the arguments say, by the type of the input: TYPE=crash, or TYPE=wrong.
ADAPTER = '''
import json, os, signal, sys

ways = dict(argument.split("=") for argument in sys.argv[1:])
for line in sys.stdin:
    request = json.loads(line)
    if request["cmd"] == "stop":
        break
    if request["cmd"] == "start":
        if "start" in ways:
            sys.exit("it does not start")
        print(json.dumps({"runtime": {"name": "copy", "version": "1", "opsets": {"ai.onnx": [1, 26]}, "ir": [3, 14]}}), flush=True)
        continue
    way = ways.get(request["inputs"][0]["type"])
    if way == "crash":
        os.abort()
    if way == "interrupt":
        os.kill(int(os.environ["SESSION"]), signal.SIGINT)
        sys.stdin.read()
    answer = {"seq": request["seq"], "ok": True}
    if way == "wrong":
        answer = {"seq": request["seq"], "error": {"phase": "run", "message": "it is wrong"}}
    else:
        (given,), (wanted,) = request["inputs"], request["outputs"]
        name = wanted["name"].encode()
        with open(given["path"], "rb") as source, open(wanted["path"], "wb") as target:
            # The last of two names counts.
            target.write(source.read() + bytes([8 << 3 | 2, len(name)]) + name)
    print(json.dumps(answer), flush=True)
'''

# A test file that notes each start of the program with the ids that it gets.
TESTS = '''
import json, os, sys
import pytest
from onnx_conformance.pytest import Cases

os.environ.setdefault("SESSION", str(os.getpid()))
call = Cases._call

def noted(self, arguments, lines):
    with open("calls.jsonl", "a") as file:
        file.write(json.dumps([arguments[0], list(lines)]) + "\\n")
    return call(self, arguments, lines)

Cases._call = noted
settings = json.loads(os.environ["SETTINGS"])
cases = Cases(settings["runtime"], settings["filters"], expectations=settings["expectations"], options=settings["options"])

@pytest.mark.parametrize("case", cases)
def test_conformance(case):
    cases.check(case)
'''


@dataclass
class Session:
    """The end of a session: its exit code, its output, and the ids of each run of the program."""

    code: int
    out: str
    runs: list[list[str]]


@dataclass
class User:
    """A user with a test file and a runtime in a folder."""

    home: Path

    def test(
        self,
        *options: str,
        ways: tuple[str, ...] = (),
        filters: list[str] = FILTERS,
        expectations: str | None = None,
        run: tuple[str, ...] = (),
        chosen: tuple[str, ...] = (),
    ) -> Session:
        calls = self.home / "calls.jsonl"
        calls.unlink(missing_ok=True)
        (self.home / "temporary").mkdir(exist_ok=True)
        settings = {"runtime": self.runtime(*ways), "filters": filters, "expectations": expectations, "options": run}
        places = dict.fromkeys(["TMPDIR", "TEMP", "TMP"], str(self.home / "temporary"))
        environment = {**os.environ, **places, "SETTINGS": json.dumps(settings)}
        command = [sys.executable, "-c", PYTEST, "-p", "no:cacheprovider", "-W", "error", "-q", "-rA", *options]
        command += [f"test_copy.py::test_conformance[{case}]" for case in chosen] or ["test_copy.py"]
        ran = subprocess.run(command, cwd=self.home, env=environment, capture_output=True, text=True)
        lines = map(json.loads, calls.read_text().splitlines())
        return Session(ran.returncode, ran.stdout + ran.stderr, [ids for name, ids in lines if name == "run"])

    def runtime(self, *ways: str) -> str:
        return f'"{sys.executable}" "{self.home / "adapter.py"}" {" ".join(ways)}'.strip()

    def left(self) -> list[str]:
        """Our files in the folder for temporary ones."""
        return [path.name for path in (self.home / "temporary").iterdir() if path.name.startswith("onnx-conformance")]


@pytest.fixture
def user(tmp_path: Path) -> User:
    (tmp_path / "adapter.py").write_text(ADAPTER, encoding="utf-8")
    (tmp_path / "test_copy.py").write_text(TESTS, encoding="utf-8")
    return User(tmp_path)


IDS = Cases("builtin", FILTERS).ids


def test_cases_are_a_sequence_of_ids() -> None:
    cases = Cases("builtin", FILTERS)
    assert isinstance(cases, Collection) and len(cases) == len(IDS) and list(cases) == cases.ids == IDS
    assert cases[0] in cases and "ai.onnx/Abs-1/other" not in cases and cases[:2] == IDS[:2] and cases.index(IDS[1]) == 1
    assert cases.result(IDS[0])["outcome"] == "pass" and cases.result(IDS[0])["verdict"] == "pass"


def test_a_session_runs_its_cases_together_and_without_a_warning(user: User) -> None:
    session = user.test()
    assert session.code == 0 and f"{len(IDS)} passed" in session.out, session.out
    assert session.runs == [IDS]
    assert not user.left()


def test_a_session_runs_the_selected_cases_in_their_order(user: User) -> None:
    chosen = (IDS[-1], IDS[0])
    session = user.test(chosen=chosen)
    assert session.code == 0 and session.runs == [list(chosen)], session.out
    session = user.test("-k", "double")
    assert session.code == 0 and session.runs == [[case for case in IDS if "double" in case]], session.out
    assert not user.test("--collect-only").runs


def test_a_session_selects_a_profile(user: User) -> None:
    floats = [case for case in IDS if case.endswith("=float")]
    session = user.test("--onnx-conformance-profile", "float")
    assert session.code == 0 and session.runs == [floats] and 0 < len(floats) < len(IDS), session.out
    session = user.test("-p", "no:onnx-conformance", filters=[*FILTERS, "@float"])
    assert session.code == 0 and [case for ids in session.runs for case in ids] == floats, session.out
    # The profile of the session replaces that of the tests.
    session = user.test("--onnx-conformance-profile=full", filters=[*FILTERS, "@float"])
    assert session.code == 0 and session.runs == [IDS], session.out
    (user.home / "pytest.ini").write_text("[pytest]\nonnx_conformance_profile = float\n", encoding="utf-8")
    assert user.test().runs == [floats]
    assert user.test("--onnx-conformance-profile=full").runs == [IDS]


def test_the_environment_selects_a_profile(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNX_CONFORMANCE_PROFILE", "float")
    assert user.test().runs == [[case for case in IDS if case.endswith("=float")]]
    assert user.test("--onnx-conformance-profile=full").runs == [IDS]


def test_tests_outside_a_profile_are_skipped_and_mistakes_are_not(user: User) -> None:
    session = user.test("--onnx-conformance-profile=values", filters=["ai.onnx/Relu-14/**"])
    assert session.code == 0 and "1 skipped" in session.out and not session.runs, session.out
    session = user.test("--onnx-conformance-profile=values", filters=["ai.onnx/NoSuch-1/**"])
    assert session.code == 2 and "no case matches" in session.out, session.out
    session = user.test("--onnx-conformance-profile=flaot")
    assert session.code == 2 and "there is no such profile" in session.out and "@values, @pr" in session.out, session.out


def test_a_crash_fails_one_test(user: User) -> None:
    crashing = [case for case in IDS if case.endswith("T=double") or case.endswith("V=double")]
    session = user.test(ways=("tensor(double)=crash",))
    assert crashing and session.code == 1, session.out
    assert f"{len(crashing)} failed, {len(IDS) - len(crashing)} passed" in session.out, session.out
    assert "crash: " in session.out and f"'{crashing[0]}'" in session.out
    assert session.runs == [IDS]


def test_a_session_that_stops_early_runs_a_part(user: User) -> None:
    filters = ["ai.onnx/Identity-*/**"]
    ids = Cases("builtin", filters).ids
    for option in ("-x", "--maxfail=1"):
        session = user.test(option, ways=("tensor(float)=wrong",), filters=filters)
        assert session.code == 1 and "1 failed" in session.out, session.out
        assert session.runs == [ids[:64]] and len(ids) > 64


def test_expected_failures_and_unexpected_passes(user: User) -> None:
    (user.home / "copy.yaml").write_text("runtime: copy\nexpect:\n  - {cases: '**/*=double', outcome: error}\n")
    double = [case for case in IDS if case.endswith("=double")]
    session = user.test(ways=("tensor(double)=wrong",), expectations="copy.yaml")
    assert session.code == 0 and f"{len(double)} xfailed" in session.out and "it is wrong" in session.out, session.out
    session = user.test(expectations="copy.yaml")
    assert session.code == 1 and f"{len(double)} failed" in session.out and "bring the file up to date" in session.out, session.out


def test_a_runtime_that_does_not_start_is_started_once(user: User) -> None:
    session = user.test(ways=("start=no",))
    assert session.code == 1 and f"{len(IDS)} failed" in session.out and "it does not start" in session.out, session.out
    assert session.runs == [IDS]


def test_a_run_that_ends_early_is_repeated_by_operator_version(user: User) -> None:
    ids = ["ai.onnx/Identity-1/known_values/T=float", "ai.onnx/Identity-13/known_values/T=int64"]
    session = user.test(ways=("tensor(int64)=crash",), filters=ids, run=("--restarts", "1"))
    assert session.code == 1 and "1 failed, 1 passed" in session.out and "ended without an answer" in session.out, session.out
    assert session.runs == [ids, ids[:1], ids[1:]]


def test_without_the_plugin_operator_versions_run_apart(user: User) -> None:
    session = user.test("-p", "no:onnx-conformance")
    assert session.code == 0 and f"{len(IDS)} passed" in session.out, session.out
    assert len(session.runs) == 3 and [case for ids in session.runs for case in ids] == IDS


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT for one process")
def test_an_interrupted_session_leaves_no_files(user: User) -> None:
    session = user.test(ways=("tensor(double)=interrupt",))
    assert session.code == 2 and "KeyboardInterrupt" in session.out and len(session.runs) == 1, session.out
    assert not user.left()


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_processes_of_xdist_share_a_run(user: User) -> None:
    session = user.test("-n", "2")
    assert session.code == 0 and f"{len(IDS)} passed" in session.out, session.out
    assert session.runs == [IDS]
    assert not user.left()
