"""Plugin of pytest: the cases of a session's tests run together, before the first of the tests. An option selects a profile of them.

It is loaded by pytest where the package is installed. Without it, the cases of an operator version run together.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import pytest as cases_module
from .pytest import Case, Cases

# The name by which a process of pytest-xdist gets the folder with shared results.
SHARED = "onnx_conformance"

FOLDER = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()

# The settings that select a profile: an option, a variable of the environment, and a key of pytest's configuration file.
OPTION, VARIABLE, KEY = "--onnx-conformance-profile", "ONNX_CONFORMANCE_PROFILE", "onnx_conformance_profile"


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run the cases of this profile of onnx-conformance: values, pr, float or full"
    parser.getgroup("onnx-conformance").addoption(OPTION, metavar="NAME", help=f"{text}; the default is {VARIABLE}, then the key {KEY}")
    parser.addini(KEY, text, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Sets the profile before the first file with tests is read."""
    name = config.getoption(OPTION) or os.environ.get(VARIABLE) or config.getini(KEY)
    cases_module.session_profile = str(name) if name else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Plans the runs of the cases that are left after deselection, in the order of their tests."""
    selected: dict[int, tuple[Cases, list[str]]] = {}
    for item in session.items:
        for case in cases_of(item):
            selected.setdefault(id(case.cases), (case.cases, []))[1].append(case)
    option = session.config.option
    stops_early = bool(getattr(option, "maxfail", 0) or getattr(option, "stepwise", False))
    shared = getattr(session.config, "workerinput", {}).get(SHARED)
    for cases, ids in selected.values():
        cases.plan(ids, stops_early=stops_early, shared=Path(shared) if shared else None)


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Runs the cases before the time limit of the first test begins."""
    for case in cases_of(item):
        case.cases.prepare(case)
    yield


def cases_of(item: pytest.Item) -> Iterator[Case]:
    """The cases among the parameters of a test."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return (value for value in parameters.values() if isinstance(value, Case))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Gives each process of pytest-xdist the same folder."""
    stash = node.config.stash
    if FOLDER not in stash:
        stash[FOLDER] = tempfile.TemporaryDirectory(prefix="onnx-conformance-pytest-")
    node.workerinput[SHARED] = stash[FOLDER].name


def pytest_unconfigure(config: pytest.Config) -> None:
    cases_module.session_profile = None
    if FOLDER in config.stash:
        config.stash[FOLDER].cleanup()
