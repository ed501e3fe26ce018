"""`onnx_conformance.backend`: the built-in executor as a backend of ONNX. Needs the packages of `onnx-conformance[adapters]`."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

import pytest
from models import unary
from onnx_conformance import ConformanceError

onnx = pytest.importorskip("onnx")
numpy = pytest.importorskip("numpy")
pytest.importorskip("onnx_conformance_adapter")

from onnx_conformance import backend  # noqa: E402


def test_a_model_runs_on_the_built_in_executor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    model = onnx.load_from_string(unary("Relu"))
    x = numpy.array([-1, 2], numpy.float32)
    for inputs in ([x], (x,), x, {"x": x}):
        (y,) = backend.run_model(model, inputs)
        assert y.dtype == numpy.float32 and y.tolist() == [0, 2]
    prepared = backend.prepare(model)
    assert [prepared.run([x + step])[0].tolist() for step in (0, 1)] == [[0, 2], [0, 3]]
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA")
    assert not list(tmp_path.iterdir())


def sequence_model() -> Any:
    text = "<ir_version: 8, opset_import: ['' : 17]> g (seq(float[N]) s, float[N] t) => (seq(float[N]) more, float[N] last) {\n"
    text += "zero = Constant<value_int: int = 0>()\nmore = SequenceInsert(s, t)\nlast = SequenceAt(more, zero)\n}"
    return onnx.parser.parse_model(text.replace("'", '"'))


def test_sequences_are_lists() -> None:
    one, two = (numpy.array([number], numpy.float32) for number in (1, 2))
    more, last = backend.run_model(sequence_model(), [[one], two])
    assert [item.tolist() for item in more] == [[1], [2]] and last.tolist() == [1]


def test_a_refused_model_has_the_message_of_the_runtime() -> None:
    with pytest.raises(ConformanceError, match="Reluu"):
        backend.run_model(onnx.load_from_string(unary("Reluu")), [numpy.zeros(2, numpy.float32)])
    with pytest.raises(ConformanceError, match="1 inputs, and 2 are given"):
        backend.run_model(onnx.load_from_string(unary("Relu")), [numpy.zeros(2, numpy.float32)] * 2)


ADAPTER = '''
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["cmd"] == "start":
        print(json.dumps({"runtime": {"name": "none", "version": "1"}}), flush=True)
    elif request["cmd"] == "run":
        if "crash" in sys.argv:
            os.abort()
        missing = {"what": "operator ai.onnx/Relu", "message": "there is no Relu"}
        print(json.dumps({"seq": request["seq"], "unsupported": missing}), flush=True)
'''


def test_a_model_that_a_runtime_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "adapter.py").write_text(ADAPTER, encoding="utf-8")
    runtime = f'"{sys.executable}" "{tmp_path / "adapter.py"}"'
    model, inputs = onnx.load_from_string(unary("Relu")), [numpy.zeros(2, numpy.float32)]
    monkeypatch.setenv("ONNX_CONFORMANCE_RUNTIME", runtime)
    with pytest.raises(unittest.SkipTest, match="there is no Relu"):
        backend.run_model(model, inputs)
    monkeypatch.setenv("ONNX_CONFORMANCE_RUNTIME", f"{runtime} crash")
    with pytest.raises(ConformanceError, match="crash: "):
        backend.run_model(model, inputs)
    monkeypatch.setenv("ONNX_CONFORMANCE_RUNTIME", "no-such-runtime")
    with pytest.raises(ConformanceError, match="no-such-runtime"):
        backend.run_model(model, inputs)
