"""The script for ONNX's backend scoreboard, which is installed with the adapters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from onnx_conformance import adapters, program

onnx = pytest.importorskip("onnx")


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    folder = adapters()
    assert folder, "the adapters are not installed"
    command = [sys.executable, str(folder / "scoreboard" / "scoreboard.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def run(results: Path, *filters: str) -> None:
    subprocess.run([program(), "run", "--results", str(results), *filters], check=True, capture_output=True)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_results_of_upstreams_tests_have_the_names_of_the_scoreboard(tmp_path: Path) -> None:
    results, out = tmp_path / "results.jsonl", tmp_path / "out"
    run(results, f"onnx-{onnx.__version__}/node/test_relu", f"onnx-{onnx.__version__}/light/test_bvlc_alexnet", "ai.onnx/Relu-14/**")
    lines = results.read_text(encoding="utf-8").splitlines()
    lines.append(json.dumps({"id": f"onnx-{onnx.__version__}/simple/test_sign_model", "outcome": "crash"}))
    lines.append(json.dumps({"id": f"onnx-{onnx.__version__}/node/test_tan", "outcome": "unsupported"}))
    results.write_text("\n".join(lines), encoding="utf-8")
    for _ in range(3):
        ran = script(str(results), "-o", str(out))
        assert ran.returncode == 0 and "2 passed, 1 failed, " in ran.stdout and not ran.stderr, ran
    report, trend = read(out / "report.json"), read(out / "trend.json")
    assert report["passed"] == ["OnnxBackendNodeModelTest::test_relu_cpu", "OnnxBackendRealModelTest::test_bvlc_alexnet_cpu"]
    assert report["failed"] == ["OnnxBackendSimpleModelTest::test_sign_model_cpu"]
    assert "OnnxBackendNodeModelTest::test_tan_cpu" in report["skipped"]
    # Of equal results, the first and the last are kept.
    assert len(trend) == 2 and trend[0]["passed"] == 2 and trend[0]["skipped"] == len(report["skipped"])
    assert {"name": "onnx", "version": onnx.__version__} in trend[0]["versions"] and report["date"] == trend[1]["date"]
    operators = {(row["domain"], row["op_type"]): row for row in read(out / "ops.json")}
    assert operators["", "Relu"]["passed_tests"] == 2 and len(operators) == trend[0]["total_ops"]
    rows = (out / "nodes.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "Op,None" and "Relu,Passed!" in rows and "Sign,Failed!" in rows and rows[-1].startswith("Summary,")


def test_results_of_another_release_are_refused(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    run(results, "onnx-1.2.2/node/test_relu")
    ran = script(str(results), "-o", str(tmp_path / "out"))
    assert ran.returncode == 1 and "releases with results: 1.2.2" in ran.stderr and onnx.__version__ in ran.stderr, ran
    assert not (tmp_path / "out").exists()
