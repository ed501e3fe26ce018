"""The example of docs/python.md, which the task that runs this copies next to it."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from models import reduce_sum

DOCUMENT = Path(__file__).resolve().parent / "python.md"


def test_the_example_prints_what_the_document_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.onnx").write_bytes(reduce_sum())
    monkeypatch.chdir(tmp_path)
    results = doctest.testfile(str(DOCUMENT), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 5 and not results.failed
