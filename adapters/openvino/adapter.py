"""OpenVINO, on the processor, behind the protocol of docs/protocol.md."""

import ctypes
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import numpy
import onnx
import openvino
from onnx import TensorProto
from onnx_conformance_adapter import LoadError, Unsupported, blamed_node, model_of, operator_version, serve, stable, walk
from onnx_conformance_adapter.values import bytes_of, from_python, parse, tensor_from_bytes

# The element types that both have: ONNX's name and OpenVINO's.
NAMES = {
    "float": "f32",
    "double": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8e4m3fn": "f8e4m3",
    "float8e5m2": "f8e5m2",
    "float8e8m0": "f8e8m0",
    "float4e2m1": "f4e2m1",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "int4": "i4",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
    "uint4": "u4",
    "bool": "boolean",
    "string": "string",
}
OPENVINO = {TensorProto.DataType.Value(name.upper()): getattr(openvino.Type, theirs) for name, theirs in NAMES.items()}
TYPES = {f"tensor({name})" for name in NAMES}

# Accuracy goes before speed: float is not computed in bfloat16 where the processor is faster with it. One thread runs a model.
CONFIGURATION = {
    "EXECUTION_MODE_HINT": "ACCURACY",
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    "ENABLE_CPU_PINNING": False,
}

CORE = openvino.Core()

# How the frontend says that it has no translation of operators: `Det-18, ai.onnx.ml.Scaler`. The number is the opset. The second
# wording, without numbers, is of 2025.
NO_OPERATOR = re.compile(
    r"(?:No conversion rule found for operations|OpenVINO does not support the following ONNX operations): (?P<operators>[^\n]+)"
)

# How the frontend of 2025 says that it has no such element type: its name, which is missing where the type is newer than it, and those
# that it has, all in ONNX's spelling.
NO_DATA_TYPE = re.compile(r"Unsupported data type (?P<missing>\w+ )?expected: (?P<known>[\w, ]+)")

# How it says so of an element type, in OpenVINO's spelling, and of an attribute. What is not said in such words is an error: a
# message that ends with "not supported" is as often about a shape or about an input that is no constant.
NO_TYPE = re.compile(
    r"unsupported (?:\w+ )?(?:type|precision|src_prc|dst_prc)\b\W*(?P<one>\w+)|can't convert from: (?P<source>\w+) precision to: (?P<target>\w+)",
    re.IGNORECASE,
)
NO_ATTRIBUTE = re.compile(r"(?P<attribute>\w+) legacy attribute of (?P<operator>\w+) op is not supported")

# What the frontend says of a type of ONNX's that it has no counterpart of.
NO_VALUE = re.compile(r"Unsupported (?:type|value_info type)|with dynamic rank")


def run(path, inputs, outputs):
    try:
        compiled = CORE.compile_model(CORE.read_model(path), "CPU", CONFIGURATION)
    except Exception as error:
        raise missing_feature(path, inputs + outputs, error) or LoadError(short(error)) from error
    if beyond := beyond_tensors(inputs + outputs):
        raise Unsupported(beyond, f"OpenVINO's values are tensors; it has no {beyond}")
    try:
        request = compiled.create_infer_request()
        for theirs, port in fed(compiled, inputs, path):
            request.set_tensor(theirs, tensor(parse(port.read(), port.type)))
        request.infer()
    except Exception as error:
        raise missing_feature(path, inputs + outputs, error) or RuntimeError(short(error)) from error
    for port in outputs:
        theirs = output(compiled, port, path)
        port.write(message(request.get_tensor(theirs), port).SerializeToString())


def fed(compiled, inputs, path):
    """The inputs of the compiled model, each with what is given for it.

    They are found by name. Where OpenVINO has removed a node that does nothing, as Dropout, an input has the name of that node's
    output, and is found by its order among those that are left. One that nothing reads any more may be gone.
    """
    constants = {tensor.name for tensor in onnx.load(path, load_external_data=False).graph.initializer}
    if constant := next((port.name for port in inputs if port.name in constants), None):
        raise RuntimeError(f"OpenVINO takes the initializer of the input '{constant}' for a constant")
    found = [(theirs, port) for port in inputs for theirs in compiled.inputs if port.name in theirs.names]
    renamed = [theirs for theirs in compiled.inputs if not any(theirs == other for other, _ in found)]
    others = [port for port in inputs if not any(port is other for _, other in found)]
    if renamed and len(renamed) != len(others):
        raise RuntimeError(f"the compiled model has inputs of other names: {sorted(name for each in renamed for name in each.names)}")
    return found + list(zip(renamed, others))


def output(compiled, port, path):
    """The output of the compiled model that has the name of the graph's, else that in its place."""
    names = [value.name for value in onnx.load(path, load_external_data=False).graph.output]
    if len(names) != len(compiled.outputs):
        raise RuntimeError(f"the compiled model has {len(compiled.outputs)} outputs, and the model {len(names)}")
    found = next((theirs for theirs in compiled.outputs if port.name in theirs.names), None)
    return found or compiled.outputs[names.index(port.name)]


def tensor(value):
    """The tensor in OpenVINO's own memory, byte for byte."""
    if value.data_type == TensorProto.STRING:
        made = openvino.Tensor(openvino.Type.string, openvino.Shape(value.dims))
        if value.string_data:
            made.bytes_data = list(value.string_data)
        return made
    made = openvino.Tensor(OPENVINO[value.data_type], openvino.Shape(value.dims))
    data = bytes_of(value)
    if len(data) != made.byte_size:
        raise RuntimeError(f"OpenVINO keeps {made.byte_size} bytes for a tensor of {len(data)}")
    ctypes.memmove(made.data.ctypes.data, data, len(data))
    return made


def message(result, port):
    """The message of a tensor with the element type that OpenVINO gave it, whatever was asked for."""
    if result.element_type == openvino.Type.string:
        # The binding divides by the length of an empty array's longest string.
        data = result.bytes_data if result.size else numpy.empty(list(result.shape), dtype=object)
        for each in data.reshape(-1).tolist():
            each.decode()
        return from_python(data, "tensor(string)", port.name)
    code = next((code for code, theirs in OPENVINO.items() if theirs == result.element_type), None)
    if code is None:
        raise RuntimeError(f"output '{port.name}' is of OpenVINO's type {result.element_type.to_string()}")
    data = ctypes.string_at(result.data.ctypes.data, result.byte_size)
    return tensor_from_bytes(port.name, code, list(result.shape), data)


def beyond_tensors(ports):
    """The first type that is no tensor of an element that OpenVINO has."""
    return next((port.type for port in ports if port.type not in TYPES), None)


def missing_feature(path, ports, error):
    """What OpenVINO does not have, in words that are the same for all cases that need it; nothing for a failure of another kind."""
    said = str(error)
    model = model_of(path)
    if model is None:
        return None
    if found := NO_OPERATOR.search(said):
        named = [re.sub(r"-\d+$", "", each.strip()) for each in found["operators"].split(",")]
        node = next((node for node in walk(model.graph) if qualified(node) in named), None)
        version = operator_version(model, node) if node is not None else None
        if version:
            return Unsupported(f"operator {version}", short(error))
    if data_type := NO_DATA_TYPE.search(said):
        known = [name.strip().lower() for name in data_type["known"].split(",")]
        named = (data_type["missing"] or "").strip().lower()
        types = [f"tensor({named})"] if named else [port.type for port in ports if port.type.startswith("tensor(")]
        absent = next((each for each in types if each not in [f"tensor({name})" for name in known]), None)
        if absent:
            return Unsupported(absent, short(error))
    # The frontend has operators of its own that stand for those of sequences, and values of a dynamic rank for what is no tensor.
    beyond = beyond_tensors(ports)
    if beyond and (found or NO_VALUE.search(said)):
        return Unsupported(beyond, short(error))
    node = blamed_node(model, said)
    version = operator_version(model, node) if node is not None else None
    if version is None:
        return None
    if found := NO_ATTRIBUTE.search(said):
        return Unsupported(f"attribute {found['attribute']} of {version}", short(error))
    if found := NO_TYPE.search(said):
        named = {f"tensor({name})" for name, theirs in NAMES.items() if theirs in found.groups()}
        # What casts is short of the rarer of its two types.
        absent = sorted(named & {port.type for port in ports}, key=lambda each: (each != "tensor(string)", each))
        return Unsupported(f"{absent[0]} in {version}", short(error)) if absent else None
    return None


def qualified(node):
    """The operator as the frontend's messages name it."""
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def short(error):
    """The message without what differs from run to run: the path of the model, addresses, and the numbers of nodes."""
    return re.sub(r"\b([A-Za-z]\w*?)_\d+\b", r"\1", stable(error))


if __name__ == "__main__":
    serve(
        {
            "name": "openvino",
            "version": openvino.__version__.split("-")[0],
            "language": "C++",
            "issues": "https://github.com/openvinotoolkit/openvino/issues",
        },
        run,
    )
