"""tinygrad and its ONNX frontend, behind the protocol of docs/protocol.md.

    adapter.py [--device NAME]
"""

import argparse
import importlib.metadata
import os
import re
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

ARGUMENTS = argparse.ArgumentParser()
ARGUMENTS.add_argument("--device", default="python", help="tinygrad's device, as `cpu`, which needs clang")
DEVICE = ARGUMENTS.parse_args().device.lower()
# tinygrad reads it when it is imported.
os.environ["DEV"] = DEVICE.upper()

import numpy
from onnx import OptionalProto, SequenceProto, TensorProto
from onnx_conformance_adapter import LoadError, Unsupported, blamed_node, model_of, operator_version, serve, stable
from onnx_conformance_adapter.values import from_python, item_type, optional_item, parse, sequence_items, tensor_from_bytes, to_python
from tinygrad import Tensor, dtypes
from tinygrad.nn.onnx import OnnxRunner

# The element types that the frontend has, by ONNX's names.
ELEMENTS = "float double float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()

NO_OPERATOR = re.compile(r"op='(?P<operator>\w+)' is not supported(?P<version> for domain)?")
NO_ATTRIBUTE = re.compile(r"got an unexpected keyword argument '(?P<attribute>\w+)'")
NO_TYPE = re.compile(r"(?P<code>\d+) is not a valid OnnxDataType")


def run(path, inputs, outputs):
    try:
        runner = OnnxRunner(path)
    except Exception as error:
        raise missing_feature(path, error) or beyond(inputs + outputs) or LoadError(f"{type(error).__name__}: {stable(error)}") from error
    if strange := beyond(inputs + outputs):
        raise strange
    constants = set(runner.graph_values) - {""}
    if given := next((port.name for port in inputs if port.name in constants), None):
        raise RuntimeError(f"tinygrad takes the initializer of the input '{given}' for a constant")
    try:
        results = runner({port.name: value(parse(port.read(), port.type), port.type) for port in inputs})
        messages = [from_python(message(results[port.name]), port.type, port.name) for port in outputs]
        if not outputs:
            [message(result) for result in results.values()]
    except Exception as error:
        raise missing_feature(path, error) or RuntimeError(f"{type(error).__name__}: {stable(error)}") from error
    for port, written in zip(outputs, messages):
        port.write(written.SerializeToString())


def beyond(ports):
    """The answer for the first type that the frontend has no values of."""
    strange = next((port.type for port in ports if not has(port.type)), None)
    return Unsupported(strange, f"the frontend has no {strange}") if strange else None


def has(type_text):
    """Whether the frontend has values of the type: tensors, and sequences and optionals of them."""
    if type_text.startswith("tensor("):
        return item_type(type_text) in ELEMENTS
    return type_text.startswith(("seq(", "optional(")) and has(item_type(type_text))


def value(message, type_text):
    """A value as tinygrad takes it: a tensor, a list of such, or nothing."""
    if isinstance(message, TensorProto):
        array = to_python(message, type_text)
        if message.data_type == TensorProto.BFLOAT16:
            return Tensor(array.view("uint16")).bitcast(dtypes.bfloat16)
        return Tensor(array)
    if isinstance(message, SequenceProto):
        return [value(item, item_type(type_text)) for item in sequence_items(message)]
    assert isinstance(message, OptionalProto)
    return value(optional_item(message), item_type(type_text)) if message.elem_type else None


def message(result):
    """What a result holds, computed: a message of the type that tinygrad gave it, a list of such, or nothing."""
    if isinstance(result, (list, tuple)):
        return [message(item) for item in result]
    if not isinstance(result, Tensor):
        if result is None:
            return None
        raise TypeError(f"an output is no tensor but of Python's {type(result).__name__}")
    # On its own device: a constant that is only read is made on the processor, which needs a compiler.
    result = result.contiguous().realize()
    if result.dtype == dtypes.bfloat16:
        array = result.bitcast(dtypes.uint16).numpy()
        return tensor_from_bytes("", TensorProto.BFLOAT16, array.shape, array.tobytes())
    return result.numpy()


def missing_feature(path, error):
    """What the frontend does not have; nothing for a failure of another kind."""
    said, model = str(error), model_of(path)
    if model is None:
        return None
    if found := NO_TYPE.search(said):
        name = next((name for name, code in TensorProto.DataType.items() if code == int(found["code"])), "")
        return Unsupported(f"tensor({name.lower()})", said) if name else None
    if found := NO_OPERATOR.search(said):
        node = blamed_node(model, found["operator"])
        version = operator_version(model, node) if node is not None else None
        if version:
            # It looks most operators up by name alone.
            return Unsupported(f"operator {version if found['version'] else version.rsplit('-', 1)[0]}", stable(said))
    if (found := NO_ATTRIBUTE.search(said)) and (node := blamed_node(model, said)) is not None:
        version = operator_version(model, node)
        return Unsupported(f"attribute {found['attribute']} of {version}", stable(said)) if version else None
    return None


def check_device():
    """Ends the process where the device cannot compute, and not at the first case that needs it: from 0.14 on the processor makes
    the tensors without dimensions of every device, and that is compiled by clang.
    """
    try:
        (Tensor(numpy.ones((), dtype="float32")) + 1).numpy()
    except Exception as error:
        version = importlib.metadata.version("tinygrad")
        sys.exit(f"tinygrad {version} cannot compute on its device '{DEVICE}': {error}; install what it names, as clang, or take tinygrad 0.13")


if __name__ == "__main__":
    check_device()
    warnings.simplefilter("ignore")
    serve(
        {
            "name": "tinygrad" if DEVICE == "python" else f"tinygrad-{DEVICE}",
            "version": importlib.metadata.version("tinygrad"),
            "language": "Python",
            "issues": "https://github.com/tinygrad/tinygrad/issues",
        },
        run,
    )
