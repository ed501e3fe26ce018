"""The package that the adapters in Python share. Needs onnx and numpy; `cargo xtask wheel` runs it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

kit = pytest.importorskip("onnx_conformance_adapter")
numpy = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
values = pytest.importorskip("onnx_conformance_adapter.values")
library = pytest.importorskip("onnx_conformance_adapter.library")

PRELU = """<ir_version: 8, opset_import: ["": 17]> g (float[2] x, float[2] s) => (float[2] y) { y = PRelu (x, s) }"""
RNN = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 2, 3] x, float[1, 4, 3] w, float[1, 4, 4] r) => (float[1, 1, 2, 4] y) {
    y = RNN <hidden_size = 4, activations = ["Relu"]> (x, w, r)
}"""
ADD = """<ir_version: 8, opset_import: ["": 17]> g (uint8[2] x, uint8[2] w) => (uint8[2] y) { y = Add (x, w) }"""
REDUCE = """<ir_version: 8, opset_import: ["": 18]> g (uint32[2] x, int64[1] a) => (uint32[1] y) { y = ReduceMax (x, a) }"""
CAST = """<ir_version: 8, opset_import: ["": 17]> g (uint8[2] x) => (int16[2] y) { y = Cast <to = 5> (x) }"""
CONSTANT = """<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) {
    s = Constant <value_float = 2.0> ()
    y = PRelu (x, s)
}"""


def port(name: str, type_text: str, path: Path) -> Any:
    return kit.Port(name, type_text, str(path))


def what(tmp_path: Path, text: str, said: str, pattern: str, types: dict[str, str] | None = None) -> Any:
    """The missing feature of a model that a pattern finds in a message."""
    model = pytest.importorskip("onnx.parser").parse_model(text)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    declared = [*model.graph.input, *model.graph.output]
    names = [onnx.TensorProto.DataType.Name(each.type.tensor_type.elem_type).lower() for each in declared]
    ports = [port(each.name, f"tensor({name})", path) for each, name in zip(declared, names)]
    return kit.what_of(path, ports, said, [pattern], types)


def test_what_a_library_writes_is_caught_and_later_writes_are_not(capfd: Any) -> None:
    with kit.logged() as log:
        os.write(1, b"to 1, ")
        os.write(2, b"to 2, ")
        if sys.platform != "win32":
            ctypes.CDLL(None).puts(b"from C")
    os.write(2, b"afterwards")
    assert capfd.readouterr().err == "afterwards"
    assert log.text == ("to 1, to 2, " if sys.platform == "win32" else "to 1, to 2, from C\n")


def test_an_exception_leaves_a_log_and_the_descriptors_as_they_were(capfd: Any) -> None:
    with pytest.raises(ValueError), kit.logged() as log:
        os.write(2, b"reason")
        raise ValueError
    os.write(1, b"afterwards")
    assert (log.text, capfd.readouterr().out) == ("reason", "afterwards")


def test_a_message_names_no_folder_of_the_harness() -> None:
    path = "/dev/shm/onnx-conformance-run-5vh5x1/239/model.onnx"
    said = f"cannot read '{path}' at 0x7f15ab, nor {path[:-10]}weights"
    assert kit.masked(said, path) == "cannot read 'model.onnx' at 0x, nor ..."


def test_an_operator_is_missing_in_all_versions_or_in_one(tmp_path: Path) -> None:
    said = "no layer of type PRelu"
    assert what(tmp_path, PRELU, said, r"type (?P<operator>\w+)") == "operator ai.onnx/PRelu"
    assert what(tmp_path, PRELU, said, r"type (?P<version>\w+)") == "operator ai.onnx/PRelu-16"
    assert what(tmp_path, PRELU, "no layer of type Det", r"type (?P<operator>\w+)") is None


def test_an_attribute_is_one_of_the_node(tmp_path: Path) -> None:
    pattern = r"Attribute\[(?P<attribute>\w+)\]"
    assert what(tmp_path, RNN, "Attribute[activations]: strings", pattern) == "attribute activations of ai.onnx/RNN-14"
    assert what(tmp_path, RNN, "Attribute[clip]: strings", pattern) is None


def test_a_computed_input_is_found_by_position_or_by_name(tmp_path: Path) -> None:
    slope = "computed input slope of ai.onnx/PRelu-16"
    assert what(tmp_path, PRELU, "isConst(1)", r"isConst\((?P<input>\d)\)") == slope
    assert what(tmp_path, PRELU, "blob s not found", r"blob (?P<input>\w+) not found") == slope
    assert what(tmp_path, PRELU, "isConst(7)", r"isConst\((?P<input>\d)\)") is None
    # A constant is not what is missing.
    assert what(tmp_path, CONSTANT, "PRelu: isConst(1)", r"isConst\((?P<input>\d)\)") is None


def test_a_type_is_one_that_the_model_has(tmp_path: Path) -> None:
    types = {"CV_8U": "uint8", "CV_32F": "float", "CV_16S": "int16"}
    for said in ("datatype 'UINT8'", "datatype '2'", "datatype 'CV_8U'"):
        assert what(tmp_path, ADD, said, r"datatype '(?P<type>\w+)'", types) == "tensor(uint8)"
    assert what(tmp_path, ADD, "is 0 (CV_8U)", r"\((?P<type_in>CV_\w+)\)", types) == "tensor(uint8) in ai.onnx/Add-14"
    assert what(tmp_path, ADD, "datatype 'STRING'", r"datatype '(?P<type>\w+)'", types) is None
    unlisted = r"(?P<unlisted>.*failed.*)"
    assert what(tmp_path, ADD, "t == CV_32F || t == CV_16S failed", unlisted, types) == "tensor(uint8) in ai.onnx/Add-14"
    assert what(tmp_path, ADD, "t == CV_8U || t == CV_32F failed", unlisted, types) is None
    assert what(tmp_path, REDUCE, "type failed", unlisted, types) == "tensor(uint32) in ai.onnx/ReduceMax-18"
    assert what(tmp_path, CAST, "type failed", unlisted, types) is None


def test_an_exception_becomes_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(pytest.importorskip("onnx.parser").parse_model(PRELU), path)
    patterns = [r"of type (?P<operator>\w+)"]
    with pytest.raises(kit.Unsupported, match="^no layer of type PRelu$") as missing, kit.answered(kit.LoadError, path, [], patterns):
        raise ValueError("no layer of type PRelu")
    assert missing.value.what == "operator ai.onnx/PRelu"
    with pytest.raises(kit.LoadError, match="^CANNOT READ MODEL.ONNX$"), kit.answered(kit.LoadError, path, [], patterns, short=str.upper):
        raise ValueError(f"cannot read {path}")
    with pytest.raises(RuntimeError, match="^nothing$"), kit.answered(RuntimeError, path, [], patterns):
        raise ValueError("nothing")
    with pytest.raises(kit.Unsupported, match="^mine$"), kit.answered(RuntimeError, path, [], patterns):
        raise kit.Unsupported("tensor(int4)", "mine")


def test_a_value_that_a_binding_would_change_is_unsupported(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(pytest.importorskip("onnx.parser").parse_model(ADD.replace("uint8", "int64")), model)
    given = port("x", "tensor(int64)", tmp_path / "input_0.pb")
    for last, fits in ((2**31 - 1, True), (2**31, False)):
        given.write(onnx.numpy_helper.from_array(numpy.array([-3, last]), "x").SerializeToString())
        assert values.read(model, given, {})[1] == last
        if fits:
            assert values.read(model, given, {"int64": "int32"}).dtype == "int64"
            continue
        with pytest.raises(kit.Unsupported) as missing:
            values.read(model, given, {"int64": "int32"})
        assert missing.value.what == "tensor(int64) in ai.onnx/Add-14"


def test_an_output_keeps_the_type_that_the_runtime_returned(tmp_path: Path) -> None:
    out = port("y", "tensor(float16)", tmp_path / "output_0.pb")
    values.write([out], [numpy.ones((2, 3), dtype="float32")])
    message = values.parse(out.read(), out.type)
    assert (message.data_type, list(message.dims)) == (onnx.TensorProto.FLOAT, [2, 3])
    with pytest.raises(TypeError, match="output 'y' is None"):
        values.write([out], [None])


def test_none_is_no_tensor() -> None:
    with pytest.raises(TypeError, match="'y' is None"):
        values.from_python(None, "tensor(float)", "y")
    assert not values.from_python(None, "optional(tensor(float))", "y").HasField("tensor_value")


def test_types_that_a_runtime_does_not_have_are_unsupported() -> None:
    ports = [SimpleNamespace(type="tensor(float)"), SimpleNamespace(type="seq(tensor(float))")]
    values.require_tensors(ports[:1], ["float"], "it")
    with pytest.raises(kit.Unsupported, match=r"^it has no seq\(tensor\(float\)\)$"):
        values.require_tensors(ports, ["float"], "it")


def prelu(tmp_path: Path, kind: str = "float") -> tuple[str, list[Any], list[Any]]:
    """The file of a model, its inputs and its output."""
    path = tmp_path / "model.onnx"
    onnx.save(pytest.importorskip("onnx.parser").parse_model(PRELU), path)
    inputs = [port(name, f"tensor({kind})", tmp_path / f"{name}.pb") for name in ("x", "s")]
    for each in inputs:
        each.write(onnx.numpy_helper.from_array(numpy.ones(2, dtype="float32"), each.name).SerializeToString())
    return str(path), inputs, [port("y", "tensor(float)", tmp_path / "y.pb")]


def engine() -> Any:
    binding = SimpleNamespace(__name__="engine", __version__="1.0", F32=1)
    types, lacks = {"F32": "float", "F64": "double"}, [r"no layer (?P<operator>\w+)"]
    return library.Library({"name": "engine"}, binding, types, lacks, r"error: (.+)", r"/build/\S+ ")


def test_a_library_loads_a_model_and_then_runs_it(tmp_path: Path) -> None:
    made = engine()
    assert (made.about, made.types) == ({"name": "engine", "version": "1.0"}, {"F32": "float"})
    path, inputs, outputs = prelu(tmp_path)

    def steps(given: str, values_by_name: Any, names: list[str]) -> Any:
        assert (given, names) == (path, ["y"])
        yield True
        yield [sum(value for _, value in values_by_name)]

    made.run(steps, path, inputs, outputs)
    assert onnx.numpy_helper.to_array(values.parse(outputs[0].read(), outputs[0].type)).tolist() == [2.0, 2.0]
    with pytest.raises(kit.Unsupported, match=r"^the module engine has no tensor\(double\)$"):
        made.run(steps, *prelu(tmp_path, "double"))


def test_the_log_of_a_library_says_why_a_model_is_not_loaded(tmp_path: Path) -> None:
    def fails(said: bytes, late: bool = False) -> Any:
        def steps(path: str, inputs: Any, names: list[str]) -> Any:
            os.write(2, b"" if late else said)
            yield late
            raise ValueError(said.decode())

        return lambda: engine().run(steps, *prelu(tmp_path))

    with pytest.raises(kit.Unsupported, match="^no layer 'PRelu'$") as missing:
        fails(b"[7] error: /build/net.cpp no layer PRelu")()
    assert missing.value.what == "operator ai.onnx/PRelu"
    with pytest.raises(kit.LoadError, match="^no layer 'Det'$"):
        fails(b"error: no layer Det")()
    with pytest.raises(RuntimeError, match="^out of range$"):
        fails(b"error: out of range", late=True)()
    assert engine().short('no layer "Det"') == 'no layer "Det"'


def test_an_option_is_one_of_its_values(monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["adapter.py"])
    assert kit.option("engine", ["new", "classic"]) == "new"
    monkeypatch.setattr(sys, "argv", ["adapter.py", "--engine", "classic"])
    assert kit.option("engine", ["new", "classic"]) == "classic"
    monkeypatch.setattr(sys, "argv", ["adapter.py", "--engine", "other"])
    with pytest.raises(SystemExit):
        kit.option("engine", ["new", "classic"])
