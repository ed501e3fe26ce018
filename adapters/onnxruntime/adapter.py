"""onnxruntime, on the processor, behind the protocol of docs/protocol.md."""

import ctypes
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from onnx_adapter import LoadError, Unsupported, serve
from onnx_values import from_python, parse, tensor_from_bytes, to_python

LEVELS = {
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
}

# What numpy has itself; all other element types go through memory, as onnxruntime keeps them.
NUMPY = {
    f"tensor({name})"
    for name in "float double float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 complex128".split()
}

# The types that an operator has in the first place if onnxruntime has it at all.
COMMON = {"tensor(float)", "tensor(int64)", "tensor(bool)", "tensor(string)"}

# How onnxruntime says that it lacks something, as against that a model is wrong.
LACKS = re.compile(
    r"NOT_IMPLEMENTED|Could not find an implementation|is not currently registered or supported|No Op registered for"
    r"|is not a registered function/op|is under development and support for this is limited|Unsupported model IR version"
    r"|not supported|not implemented|Unsupported|INVALID_GRAPH.*Type Error: Type '.*' is invalid|Type Error: Type '.*' of input parameter",
    re.IGNORECASE,
)


def options():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = LEVELS["none" if "--no-optimization" in sys.argv else "all"]
    return options


OPTIONS = options()


def run(path, inputs, outputs):
    try:
        session = onnxruntime.InferenceSession(path, OPTIONS, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise lacking(path, inputs + outputs, error) or LoadError(short(error)) from error
    try:
        values = evaluate(session, inputs, outputs)
    except Exception as error:
        raise lacking(path, inputs + outputs, error) or RuntimeError(short(error)) from error
    for port, value in zip(outputs, values):
        port.write(value.SerializeToString())


def evaluate(session, inputs, outputs):
    """The outputs as messages. Tensors go in and come out as memory, so that no element type needs numpy's consent."""
    names = [output.name for output in session.get_outputs()]
    if any(port.name not in names for port in outputs):
        raise RuntimeError(f"the session has the outputs {names}")
    wanted = [port.name for port in outputs] or names
    direct = all(port.type.startswith("tensor(") and port.type != "tensor(string)" for port in inputs) and all(
        port.type.startswith("tensor(") for port in outputs
    )
    if direct:
        feed = {port.name: ort_value(parse(port.read(), port.type)) for port in inputs}
        results = session.run_with_ort_values(wanted, feed)
        return [message(result, port) for result, port in zip(results, outputs)]
    feed = {port.name: fed(port) for port in inputs}
    results = session.run(wanted, feed)
    return [from_python(result, port.type, port.name) for result, port in zip(results, outputs)]


def fed(port):
    value = parse(port.read(), port.type)
    if port.type.startswith("tensor(") and port.type not in NUMPY:
        return ort_value(value)
    return to_python(value, port.type)


def ort_value(tensor):
    """The tensor in onnxruntime's own memory, byte for byte."""
    data = tensor.raw_data if tensor.HasField("raw_data") else numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(tensor.dims), tensor.data_type)
    if len(data) != value.tensor_size_in_bytes():
        raise RuntimeError(f"onnxruntime keeps {value.tensor_size_in_bytes()} bytes for a tensor of {len(data)}")
    ctypes.memmove(value.data_ptr(), data, len(data))
    return value


def message(value, port):
    element = value.element_type()
    if element == TensorProto.STRING:
        return from_python(value.numpy(), port.type, port.name)
    data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return tensor_from_bytes(port.name, element, value.shape(), data)


def lacking(path, ports, error):
    """What onnxruntime lacks, in words that are the same for all cases that lack it; nothing for a failure of another kind."""
    said = str(error)
    if not LACKS.search(said):
        return None
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception:
        return None
    if "is under development" in said or "Unsupported model IR version" in said:
        # The newest domain is what asks for a newer format.
        newest = max(model.opset_import, key=lambda entry: ((entry.domain or "ai.onnx") == "ai.onnx", entry.version))
        return Unsupported(f"opset {newest.version} of {newest.domain or 'ai.onnx'}", short(error))
    node = blamed(model, said)
    version = version_of(model, node) if node is not None else None
    if version is None:
        return None
    # A message may name types that the case has not: those of implementations that there are, or of a cast put before.
    types = re.findall(r"has the following type \((tensor\([a-z0-9]+\))\)", said) or re.findall(r"tensor\([a-z0-9]+\)", said)
    found = next((found for found in types if any(found in port.type for port in ports)), None)
    if found:
        return Unsupported(f"{found} in {version}", short(error))
    # An implementation is sought by operator and types at once. The type is what is missing where it is one of the rarer.
    rare = sorted(port.type for port in ports if port.type not in COMMON)
    return Unsupported(f"{rare[0]} in {version}" if rare else f"operator {version}", short(error))


def version_of(model, node):
    """The operator version that a node calls; nothing for what is no operator of ONNX."""
    domain = node.domain or "ai.onnx"
    opset = next((entry.version for entry in model.opset_import if (entry.domain or "ai.onnx") == domain), 0)
    try:
        since = onnx.defs.get_schema(node.op_type, opset, node.domain).since_version
    except Exception:
        return None
    return f"{domain}/{node.op_type}-{since}"


def blamed(model, said):
    """The node that a message is about: the one whose operator it names, else the only one."""
    nodes = list(model.graph.node)
    named = [node for node in nodes if re.search(rf"\b{re.escape(node.op_type)}\b", said)]
    return (named or nodes or [None])[0]


def short(error):
    """The message without what differs from run to run and from build to build: paths and addresses."""
    said = re.sub(r"\S*/(onnxruntime_src|onnx-conformance-)\S*", "...", str(error))
    return re.sub(r"0x[0-9a-f]+", "0x", said)


if __name__ == "__main__":
    serve(
        {
            "name": "onnxruntime",
            "version": onnxruntime.__version__,
            "language": "C++",
            "issues": "https://github.com/microsoft/onnxruntime/issues",
        },
        run,
    )
