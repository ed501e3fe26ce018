"""`onnx_conformance.check`, `convert` and `trace`, from a user's view. Needs pytest alone; `cargo xtask wheel` runs it on the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import onnx_conformance
import pytest
from models import DOUBLE, external, unary
from onnx_conformance import (
    ConformanceError,
    ModelNotFoundError,
    NotAModelError,
    NotConvertedError,
    ProgramNotFoundError,
    UsageError,
    check,
    check_all,
    convert,
    trace,
)

RELU = unary("Relu")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(RELU)
    return path


class Message:
    """A message of protobuf, as far as the package needs it."""

    def __init__(self, data: bytes, size: int | None = None) -> None:
        self.data, self.size = data, len(data) if size is None else size

    def ByteSize(self) -> int:
        return self.size

    def SerializeToString(self) -> bytes:
        return self.data


def test_models_of_the_onnx_package(model: Path) -> None:
    onnx = pytest.importorskip("onnx")
    loaded = onnx.load(str(model))
    assert check(loaded).facts == check(model).facts
    converted = onnx.load_from_string(convert(loaded, opset=15).model)
    assert converted.opset_import[0].version == 15
    onnx.checker.check_model(converted)


class Broken:
    def SerializeToString(self) -> bytes:
        raise ValueError("it is broken")


def test_a_path_bytes_and_a_message_have_the_same_report(model: Path) -> None:
    by_path = check(model)
    assert by_path.is_valid and by_path.status == "valid" and not by_path.findings
    assert by_path.file == str(model) and by_path.verdict == "valid"
    assert by_path.facts and by_path.facts.operators == {"ai.onnx/Relu-13": 1} and by_path.facts.opsets == {"": 13}
    assert by_path.unedited["ai.onnx"][0] == 1 and by_path.same_operators["ai.onnx"] == (13, 13)
    for in_memory in (RELU, bytearray(RELU), memoryview(RELU), Message(RELU)):
        report = check(in_memory)
        assert report.file == "<stdin>" and report.facts == by_path.facts and report.unedited == by_path.unedited


def test_a_finding_has_its_rule_its_node_and_its_fix() -> None:
    report = check(unary("Reluu"))
    assert not report.is_valid and report.status == "findings"
    (finding,) = report.errors
    assert finding.rule == "node/operator" and finding.node and finding.node.name == "only" and finding.node.index == 0
    assert str(finding).startswith(f"error node/operator: node 'only' (Reluu): {finding.message}")
    assert str(report) == f"<stdin>: {report.verdict}\n  {finding}"
    assert report.json["findings"][0]["rule"] == finding.rule
    # A name that reorders the line of a terminal.
    assert "\u202e" in check(unary("Re\u202elu")).errors[0].message


def test_another_opset_and_a_runtime_are_asked_about() -> None:
    assert check(RELU, opset=14).target == check(RELU, opset={"ai.onnx": 14}).target
    target = check(RELU, opset=14).target
    assert target and (target.label, target.answer) == ("opset 14", "relabel-only")
    refused = check(unary("Relu", opset=14, element_type=7), opset=13)
    assert refused.target and refused.target.answer == "cannot" and refused.target.reasons[0].text
    assert check(RELU, release="1.8").target
    (runtime,) = check(RELU, runtime="onnxruntime").runtimes
    assert (runtime.runtime, runtime.verdict, len(runtime.kinds)) == ("onnxruntime", "runs", 1)
    assert runtime.kinds[0].kind == "Relu-13 T=float" and runtime.kinds[0].cases >= runtime.kinds[0].of_these > 0
    assert len(check(RELU, runtime=["onnxruntime", "openvino"]).runtimes) == 2
    values = check(RELU, shapes=True).values
    assert values and [(value.name, value.type, value.shape) for value in values] == [
        ("x", "tensor(float)", ("2",)),
        ("y", "tensor(float)", ("2",)),
    ]


def test_many_models_are_checked_at_once(tmp_path: Path, model: Path) -> None:
    (tmp_path / "bad.onnx").write_text("no model")
    reports = check_all([tmp_path, model])
    assert sorted(report.status for report in reports) == ["unreadable", "valid", "valid"]
    assert check_all([]) == []


def test_a_conversion_has_its_edits_its_proof_and_its_model(tmp_path: Path, model: Path) -> None:
    conversion = convert(model, opset=15)
    assert conversion.summary == "only version numbers change" and conversion.verified and conversion.path is None
    assert [str(edit) for edit in conversion.edits] == ["model: opset 13 of ai.onnx becomes 15"]
    assert conversion.verification.text.startswith("verified: ")
    assert "model: opset 13" in str(conversion)
    facts = check(conversion.model).facts
    assert facts and facts.opsets == {"": 15}
    assert convert(Message(RELU), opset=15).model == convert(RELU, opset=15).model == conversion.model
    saved = tmp_path / "saved.onnx"
    conversion.save(saved)
    assert saved.read_bytes() == conversion.model
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        conversion.save(saved)
    convert(RELU, opset=14).save(saved, overwrite=True)
    assert saved.read_bytes() == convert(model, opset=14).model
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "saved.onnx"]


def test_a_conversion_is_written_by_the_program(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "output.onnx"
    conversion = convert(model, opset=15, output=output, verify=0)
    assert conversion.path == output and output.read_bytes() == conversion.model and not conversion.verified
    with pytest.raises(UsageError, match="already exists"):
        convert(model, opset=15, output=output)
    assert convert(model, opset=14, output=output, overwrite=True).model == output.read_bytes()
    monkeypatch.chdir(tmp_path)
    assert convert(RELU, opset=14, output="here.onnx", folder=tmp_path.parent).path == tmp_path / "here.onnx"


def test_a_refusal_has_its_reasons() -> None:
    with pytest.raises(NotConvertedError, match="1 place cannot be converted") as caught:
        convert(unary("Mish", opset=18, element_type=DOUBLE), opset=17, relabel_only=True)
    assert caught.value.status == "refused" and "Mish" in caught.value.reasons[0].place
    assert str(caught.value).startswith("the model: 1 place cannot be converted\n  node ")
    assert isinstance(caught.value, ConformanceError)


# An adapter whose every output is a single zero, whatever was requested.
ZERO = r"""
import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    if request["cmd"] == "start":
        print(json.dumps({"runtime": {"name": "zero", "version": "1"}}), flush=True)
    elif request["cmd"] == "run":
        for output in request["outputs"]:
            with open(output["path"], "wb") as file:
                file.write(bytes([8, 1, 16, 1, 34, 4, 0, 0, 0, 0]))
        print(json.dumps({"seq": request["seq"], "ok": True}), flush=True)
    else:
        break
"""


def test_a_trace_names_the_node_that_differs(tmp_path: Path, model: Path) -> None:
    same = trace(RELU, "builtin")
    assert same.is_same and same.difference is None and same.nodes == 1 and same.inputs == "3 sets of inputs"
    assert str(same) == "<stdin>: the same: 1 output within the bounds"
    adapter = tmp_path / "zero.py"
    adapter.write_text(ZERO)
    found = trace(model, f"{sys.executable} {adapter}", output=tmp_path / "case")
    assert (found.status, found.runtime, found.path) == ("found", "zero 1", tmp_path / "case")
    difference = found.difference
    assert difference is not None and difference.fault == "node" and difference.actual is not None
    assert [str(node) for node in difference.nodes] == ["node 'only' (Relu-13)"]
    assert (difference.inputs[0].name, difference.inputs[0].shape, difference.actual[0].shape) == ("x", (2,), (1,))
    assert "actual y = tensor(float)[1] [0.0]" in str(found)
    again = trace(tmp_path / "case" / "model.onnx", "builtin", inputs=tmp_path / "case" / "test_data_set_0")
    assert again.is_same and again.inputs.endswith("test_data_set_0")
    assert trace(RELU, "builtin", against="@12").reference.endswith(" at opset 12")
    assert trace(model, "builtin", against=f"{sys.executable} {adapter}").reference == "zero 1"


def test_what_cannot_be_traced_has_the_message_of_the_program(tmp_path: Path, model: Path) -> None:
    with pytest.raises(NotAModelError, match="^the model is not a model: "):
        trace(b"no model", "builtin")
    with pytest.raises(ConformanceError, match="no-such-runtime"):
        trace(model, "no-such-runtime")
    with pytest.raises(UsageError, match="is not empty; choose another folder"):
        trace(model, "builtin", output=tmp_path)
    with pytest.raises(ModelNotFoundError, match="gone.onnx: no such file"):
        trace(tmp_path / "gone.onnx", "builtin")
    with pytest.raises(ConformanceError, match="time limit"):
        trace(model, "builtin", timeout=1e-9)


def test_an_unknown_keyword_is_a_type_error(model: Path) -> None:
    with pytest.raises(TypeError, match=r"check\(\) got an unexpected keyword argument 'opsets'"):
        check(model, opsets=13)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"check_all\(\) got an unexpected keyword argument 'opsets'"):
        check_all([], opsets=13)  # type: ignore[call-arg]


def test_errors_have_the_message_of_the_program(tmp_path: Path, model: Path) -> None:
    text = tmp_path / "text.onnx"
    text.write_text("no model")
    for call in (check, convert):
        with pytest.raises(NotAModelError, match="not an ONNX model: the file is a text file"):
            call(text, opset=13)
        with pytest.raises(NotAModelError, match="the model"):
            call(b"no model", opset=13)
        with pytest.raises(UsageError, match="--opset 999: ai.onnx has the opsets 1 to"):
            call(model, opset=999)
        with pytest.raises(UsageError, match="--bogus"):
            call(model, opset=13, options=["--bogus"])
        with pytest.raises(ModelNotFoundError, match="gone.onnx: no such file"):
            call(tmp_path / "gone.onnx", opset=13)
        with pytest.raises(UsageError, match="check_all takes folders"):
            call(tmp_path, opset=13)
        with pytest.raises(UsageError, match="expected a path, bytes or an onnx.ModelProto, not int"):
            call(3, opset=13)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="folder is for models in memory"):
            call(model, opset=13, folder=tmp_path)
        with pytest.raises(UsageError, match="gone: no such folder"):
            call(RELU, opset=13, folder=tmp_path / "gone")
    with pytest.raises(UsageError, match="the target is missing"):
        convert(model)
    with pytest.raises(ConformanceError, match="options that write its output to a file"):
        check(model, options=["--output", str(tmp_path / "report.json")])
    with pytest.raises(ConformanceError, match="time limit"):
        convert(model, opset=14, timeout=1e-9)


def test_half_precision_is_converted_with_its_errors() -> None:
    conversion = convert(RELU, half="float16")
    assert conversion.verified and conversion.json["half"]["element"] == "float16"
    assert conversion.json["half"]["nodes"] == 1 and conversion.json["half"]["casts"] == 2
    kept = convert(RELU, half="bfloat16", keep=["Relu"], half_io=True)
    assert [node["reason"] for node in kept.json["half"]["float"]] == ["named by --keep"]
    with pytest.raises(UsageError, match="did you mean 'Relu'"):
        convert(RELU, half="float16", keep=["Rely"])


def test_a_model_over_2_gb_is_refused_with_the_way_out() -> None:
    for call in (check, convert):
        with pytest.raises(UsageError, match="has 2147483648 bytes.* save it with external data, and pass its path"):
            call(Message(b"", 2**31), opset=13)
        with pytest.raises(UsageError, match="it is broken; if it is larger than 2 GB, save it with external data"):
            call(Broken(), opset=13)


def test_external_data_of_a_model_in_memory_is_in_its_folder(tmp_path: Path) -> None:
    model = unary("Relu", initializers=(external("w.bin"),))
    home = tmp_path / "home"
    home.mkdir()
    missing = check(model, folder=home)
    assert [finding.rule for finding in missing.errors] == ["external/missing"]
    (home / "w.bin").write_bytes(bytes(8))
    assert check(model, folder=home).is_valid
    with pytest.raises(UsageError, match="write the output to the same folder"):
        convert(model, opset=14, folder=home)
    assert convert(model, opset=14, folder=home, output=home / "new.onnx").path == home / "new.onnx"


def test_odd_names_are_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-", "--help", "ä b.onnx"):
        Path(name).write_bytes(RELU)
        assert check(name).is_valid, name
        assert convert(name, opset=14).verified, name


def test_calls_from_many_threads_do_not_mix() -> None:
    found: dict[int, int] = {}

    def ask(opset: int) -> None:
        facts = check(convert(RELU, opset=opset).model).facts
        found[opset] = facts.opsets[""] if facts else 0

    threads = [threading.Thread(target=ask, args=(opset,)) for opset in range(7, 19)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {opset: opset for opset in range(7, 19)}


def test_versions_agree() -> None:
    out = subprocess.run([onnx_conformance.program(), "--version"], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[0] == f"onnx-conformance {onnx_conformance.__version__}"
    assert check(RELU).json and not hasattr(onnx_conformance, "nonsense")


def test_check_and_convert_load_no_other_package() -> None:
    code = "import onnx_conformance, sys; print({'onnx', 'numpy', 'ml_dtypes', 'google'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnx_conformance.process.installed_program", lambda: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ProgramNotFoundError, match="pip install onnx-conformance"):
        check(RELU)


@pytest.mark.skipif(os.name == "nt", reason="a script stands for the program")
def test_a_program_that_answers_differently_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    monkeypatch.setattr("onnx_conformance.process.installed_program", lambda: str(program))
    for body, message in (
        ('echo \'{"format": 2}\'', "writes format 2 of its JSON, and this package reads format 1"),
        ("echo no", "printed no JSON"),
        ("exit 3", "ended with 3 and printed nothing"),
        ("kill -9 $$", "was ended by signal 9"),
        ("echo note >&2; echo error: it is so >&2; exit 4", "^it is so$"),
    ):
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        with pytest.raises(ConformanceError, match=message):
            check(__file__)
    program.chmod(0o644)
    with pytest.raises(ConformanceError, match="cannot be started"):
        check(__file__)


def test_an_adapter_names_its_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from onnx_conformance.pytest import backend

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(onnx_conformance.MissingPackageError, match=r"pip install 'onnx-conformance\[adapters\]'"):
        backend("module")
