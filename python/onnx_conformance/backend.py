"""A runtime behind the program, as an `onnx.backend.base.Backend`: the built-in executor, or any adapter.

    import onnx.backend.test
    import onnx_conformance.backend

    globals().update(onnx.backend.test.BackendTest(onnx_conformance.backend, __name__).test_cases)

The environment variable `ONNX_CONFORMANCE_RUNTIME` has the runtime, as `--runtime` takes it; without it, the built-in executor runs
the models. Each run of a model starts the program, so a crash of the runtime is an exception. The backend needs the packages of
`onnx-conformance[adapters]`.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto
from onnx.backend.base import Backend as BaseBackend
from onnx.backend.base import BackendRep as BasePrepared
from onnx_conformance_adapter.values import from_python, parse, to_python  # type: ignore[import-not-found,import-untyped,unused-ignore]

from .errors import ConformanceError
from .process import call

__all__ = ["Backend", "Prepared", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]

# The environment variable with the runtime.
RUNTIME = "ONNX_CONFORMANCE_RUNTIME"

# The id and the folder of the only case.
CASE = "model"

# The first line of a manifest, in the format that this package writes.
MANIFEST = {"format": 2, "tool": "", "suite": ""}

# Outcomes of a model that the runtime does not support.
UNSUPPORTED = ("unsupported", "not-declared")


class Prepared(BasePrepared):
    """A model and the runtime that runs it."""

    def __init__(self, model: ModelProto, runtime: str) -> None:
        self.model = model
        self.runtime = runtime

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Runs the model on inputs in order, or by name. Returns the outputs in order.

        A tensor is an array of numpy, a sequence a list, and an absent optional `None`. Raises `unittest.SkipTest` if the runtime does
        not support the model, and `ConformanceError` if the runtime fails.
        """
        with tempfile.TemporaryDirectory(prefix="onnx-conformance-") as folder:
            home = Path(folder)
            self.write(home / "suite", self.given(inputs))
            result = self.result(home)
            if result["outcome"] in UNSUPPORTED:
                raise unittest.SkipTest(result["message"])
            written = home / "failures" / CASE / "actual" / "test_data_set_0"
            if not written.is_dir():
                raise ConformanceError(f"{result['outcome']}: {result['message']}")
            types = [type_text(port.type) for port in self.model.graph.output]
            files = [(written / f"output_{number}.pb").read_bytes() for number in range(len(types))]
            return tuple(to_python(parse(file, text), text) for file, text in zip(files, types))  # type: ignore[no-untyped-call,unused-ignore]

    def write(self, suite: Path, given: Sequence[tuple[Any, ValueInfoProto]]) -> None:
        """Writes the model and its inputs as a suite of one case. No value is expected, so the program writes the actual outputs."""
        files = {"model.onnx": self.model.SerializeToString()}
        inputs = []
        for number, (value, port) in enumerate(given):
            text = type_text(port.type)
            inputs.append({"name": port.name, "type": text})
            files[f"test_data_set_0/input_{number}.pb"] = from_python(value, text, port.name).SerializeToString()  # type: ignore[no-untyped-call,unused-ignore]
        outputs = [{"name": port.name, "rule": {"any_of": []}} for port in self.model.graph.output]
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        data = [{"inputs": inputs, "outputs": outputs}]
        case = {"id": CASE, "folder": CASE, "level": "required", "data": data, "sha256": digests}
        (suite / CASE / "test_data_set_0").mkdir(parents=True)
        (suite / "manifest.jsonl").write_text(f"{json.dumps(MANIFEST)}\n{json.dumps(case)}\n", encoding="utf-8")
        for name, content in files.items():
            (suite / CASE / name).write_bytes(content)

    def given(self, inputs: Any) -> list[tuple[Any, ValueInfoProto]]:
        """The inputs of the graph that have no initializer, with their values."""
        graph = self.model.graph
        constants = {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}
        ports = [port for port in graph.input if port.name not in constants]
        if isinstance(inputs, dict):
            return [(inputs[port.name], port) for port in ports]
        values: Sequence[Any] = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        if len(values) > len(ports):
            raise ConformanceError(f"the model has {len(ports)} inputs, and {len(values)} are given")
        return list(zip(values, ports))

    def result(self, home: Path) -> dict[str, Any]:
        """The line of the results file about the model."""
        results, failures = home / "results.jsonl", home / "failures"
        options = [f"--suite={home / 'suite'}", f"--results={results}", f"--failures={failures}", "--jobs=1"]
        called = call(["run", f"--runtime={self.runtime}", *options])
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
        found = next((line for line in map(json.loads, lines) if line.get("id") == CASE), None)
        if found is None:
            raise ConformanceError(called.error() or f"onnx-conformance run ended with {called.code} and has no result")
        return {"message": "", **found}


class Backend(BaseBackend):
    """The runtime in the environment variable `ONNX_CONFORMANCE_RUNTIME`, or the built-in executor."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """Returns the model. It is loaded when it is run."""
        return Prepared(model, os.environ.get(RUNTIME, "builtin"))

    @classmethod
    def run_node(cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> Any:
        raise NotImplementedError("a node has no types; make a model of it, and call run_model")

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"


def type_text(declared: TypeProto) -> str:
    """The type as the protocol spells it, such as `seq(tensor(float))`."""
    kind = declared.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({type_text(declared.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(declared.optional_type.elem_type)})"
    if kind == "map_type":
        return f"map({element(declared.map_type.key_type)}, {type_text(declared.map_type.value_type)})"
    if kind == "sparse_tensor_type":
        return f"sparse_tensor({element(declared.sparse_tensor_type.elem_type)})"
    return f"tensor({element(declared.tensor_type.elem_type)})"


def element(number: int) -> str:
    name: str = TensorProto.DataType.Name(number)  # type: ignore[arg-type,unused-ignore]
    return name.lower()


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
