"""The answer to `optimize` of the adapters in Python. Needs onnx, and onnxruntime for its adapter; `cargo xtask wheel` runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TRANSPOSES = """<ir_version: 8, opset_import: ["": 17]>
g (float[2, 3] x) => (float[2, 3] y) {
    t = Transpose <perm = [1, 0]> (x)
    y = Transpose <perm = [1, 0]> (t)
}"""

# With a Constant, a subgraph and a function.
NESTED = """<ir_version: 8, opset_import: ["": 17, "local": 1]>
g (bool c, float[2] x) => (float[2] y) {
    two = Constant <value_float = 2.0> ()
    doubled = local.twice (x)
    y = If (c) <then_branch = a () => (float[2] p) { p = Mul (doubled, two) }, else_branch = b () => (float[2] q) { q = Neg (doubled) }>
}
<domain: "local", opset_import: ["": 17]> twice (a) => (b) { b = Add (a, a) }"""


def parsed(text: str) -> Any:
    return pytest.importorskip("onnx.parser").parse_model(text)


def adapter() -> Path:
    """The adapter of onnxruntime beside the installed program, or in the checkout."""
    places = [Path(sys.prefix) / "share/onnx-conformance/adapters", Path(__file__).resolve().parents[2] / "adapters"]
    found = [place / "onnxruntime" / "adapter.py" for place in places]
    return next(path for path in found if path.exists())


def answers(commands: list[dict[str, Any]], *arguments: str) -> list[dict[str, Any]]:
    """The answers of onnxruntime's adapter."""
    lines = "".join(json.dumps(command) + "\n" for command in [{"cmd": "start", "protocol": 1}, *commands, {"cmd": "stop"}])
    program = [sys.executable, str(adapter()), *arguments]
    ended = subprocess.run(program, input=lines, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_nodes_of_subgraphs_and_functions_count() -> None:
    model = parsed(NESTED)
    operators = pytest.importorskip("onnx_conformance_adapter").operators
    assert operators(model) == {"ai.onnx/Add": 1, "ai.onnx/If": 1, "ai.onnx/Mul": 1, "ai.onnx/Neg": 1}


def test_functions_that_call_themselves_end() -> None:
    body = '<domain: "local", opset_import: ["": 17, "local": 1]> twice (a) => (b) { c = Add (a, a) b = local.twice (c) }'
    model = parsed(NESTED.rsplit("\n", 1)[0] + "\n" + body)
    operators = pytest.importorskip("onnx_conformance_adapter").operators
    assert operators(model)["ai.onnx/Add"] > 1


def test_onnxruntime_says_what_it_rewrites(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "model.onnx"
    path.write_bytes(parsed(TRANSPOSES).SerializeToString())
    broken = tmp_path / "broken" / "model.onnx"
    broken.parent.mkdir()
    broken.write_bytes(b"\xff no model")
    commands = [{"cmd": "optimize", "seq": seq, "model": str(model)} for seq, model in enumerate([path, broken, path])]
    started, first, second, third = answers(commands)
    assert started["runtime"]["optimize"] is True
    assert first["operators"]["before"] == {"ai.onnx/Transpose": 2}
    assert "ai.onnx/Transpose" not in first["operators"]["after"]
    assert second["seq"] == 1 and second["unknown"]
    assert third == {**first, "seq": 2}
    _, plain = answers(commands[:1], "--level", "disabled")
    assert plain["operators"]["after"] == plain["operators"]["before"]
