"""onnxruntime, on the processor, behind the protocol of docs/protocol.md."""

import contextlib
import ctypes
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnx
import onnxruntime
from c_library import CannotMake, library
from onnx import TensorProto, helper, numpy_helper
from onnx_adapter import LoadError, Unsupported, serve
from onnx_values import from_python, item_type, optional_item, parse, sequence_items, size_in_bytes, tensor_from_bytes, to_python, walk
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

LEVELS = {
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
}

# What numpy has itself; all other element types go through memory, as onnxruntime keeps them.
NUMPY = {
    f"tensor({name})"
    for name in "float double float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 complex128".split()
}

# The types that most kernels have.
COMMON = {"tensor(float)", "tensor(int64)", "tensor(bool)", "tensor(string)"}

# The last version of a kernel that has none.
ENDLESS = (1 << 31) - 1

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


def provide_locale():
    """Gives the process a locale en_US that is the same on every machine.

    StringNormalizer asks the system for en_US.UTF-8 unless the model names another, takes nothing from it but the upper and lower
    case of single characters, and fails where it is not installed. glibc has one table of cases for C.UTF-8, which is installed
    with it, and for en_US; so C.UTF-8 stands in under these names, from a folder in the virtual environment.
    """
    source = next((path for path in map(Path, ("/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8")) if path.is_dir()), None)
    if source is None or sys.prefix == sys.base_prefix:
        return
    folder = Path(sys.prefix) / "locale"
    try:
        folder.mkdir(exist_ok=True)
        for name in ("en_US.UTF-8", "en_US"):
            # Another process of the run may be faster.
            with contextlib.suppress(FileExistsError):
                (folder / name).symlink_to(source)
    except OSError:
        return
    os.environ["LOCPATH"] = str(folder)


def run(path, inputs, outputs):
    try:
        session = onnxruntime.InferenceSession(path, OPTIONS, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise lacking(path, inputs + outputs, error) or LoadError(short(error)) from error
    try:
        values = evaluate(session, path, inputs, outputs)
    except Unsupported:
        raise
    except Exception as error:
        raise lacking(path, inputs + outputs, error) or RuntimeError(short(error)) from error
    for port, value in zip(outputs, values):
        port.write(value.SerializeToString())


def evaluate(session, path, inputs, outputs):
    """The outputs as messages. Tensors go in and come out as memory, so that no element type needs numpy's consent."""
    names = [output.name for output in session.get_outputs()]
    if any(port.name not in names for port in outputs):
        raise RuntimeError(f"the session has the outputs {names}")
    wanted = [port.name for port in outputs] or names
    given = [(port, parse(port.read(), port.type)) for port in inputs]
    beyond = next((port for port, value in given if beyond_binding(value, port.type)), None)
    if beyond:
        lack = f"{beyond.type} in {version_of_first(path)}"
        if library() is None:
            raise Unsupported(lack, f"the Python binding cannot make a {beyond.type}")
        feed = [(port.name, port.type, value) for port, value in given]
        try:
            results = library().run(path, OPTIONS.graph_optimization_level, feed, wanted, len(outputs))
        except CannotMake as error:
            raise Unsupported(lack, f"the Python binding cannot make a {beyond.type}, and {error}") from error
        return [from_python(result, port.type, port.name) for result, port in zip(results, outputs)]
    if all(is_tensor(value, port.type) for port, value in given) and all(holds_tensor(port.type) for port in outputs):
        kept = []
        feed = {port.name: ort_value(inner(value), kept) for port, value in given}
        results = session.run_with_ort_values(wanted, feed)
        return [from_python(message(result, port), port.type, port.name) for result, port in zip(results, outputs)]
    feed = {port.name: fed(value, port.type) for port, value in given}
    results = session.run(wanted, feed)
    return [from_python(result, port.type, port.name) for result, port in zip(results, outputs)]


def holds_tensor(type_text):
    return type_text.startswith(("tensor(", "optional(tensor("))


def is_tensor(value, type_text):
    """Whether the value is a tensor, by itself or as what an optional holds, which is the same value to onnxruntime."""
    return holds_tensor(type_text) and (type_text.startswith("tensor(") or value.elem_type != 0)


def inner(value):
    return value if isinstance(value, TensorProto) else optional_item(value)


def beyond_binding(value, type_text):
    """Whether the binding has no way to make the value: it makes the items of a sequence of numpy's own types alone, an item of a
    map of a float alone, and a map without items not at all.
    """
    kind = type_text.split("(")[0]
    if kind == "optional":
        return value.elem_type != 0 and beyond_binding(optional_item(value), item_type(type_text))
    if kind == "seq":
        item = item_type(type_text)
        values = sequence_items(value)
        return len(values) > 0 and (item not in NUMPY if item.startswith("tensor(") else any(beyond_binding(v, item) for v in values))
    return kind == "map" and (item_type(type_text) != "tensor(float)" or not value.values.tensor_values)


def fed(value, type_text):
    if type_text.startswith("tensor(") and type_text not in NUMPY:
        return ort_value(value, [])
    return to_python(value, type_text)


def ort_value(tensor, kept):
    """The tensor in onnxruntime's own memory, byte for byte; what it needs to stay there is put into `kept`."""
    if tensor.data_type == TensorProto.STRING:
        return strings(tensor, kept)
    data = tensor.raw_data if tensor.HasField("raw_data") else numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(tensor.dims), tensor.data_type)
    if len(data) != size(value):
        raise RuntimeError(f"onnxruntime keeps {size(value)} bytes for a tensor of {len(data)}")
    ctypes.memmove(value.data_ptr(), data, len(data))
    return value


def strings(tensor, kept):
    """An `OrtValue` of strings. The binding makes none from numpy, but what a model gives is one: here its only initializer."""
    initializer = TensorProto(name="strings", data_type=tensor.data_type, dims=tensor.dims, string_data=tensor.string_data)
    output = helper.make_tensor_value_info("strings", tensor.data_type, list(tensor.dims))
    graph = helper.make_graph([], "strings", [], [output], [initializer])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
    kept.append(session)
    return session.run_with_ort_values(["strings"], {})[0]


def message(value, port):
    """The message of a tensor; nothing for what an absent optional gives."""
    if not value.has_value():
        return None
    if value.is_sparse_tensor():
        raise RuntimeError(f"output '{port.name}' is sparse, a {value.data_type()}, and the model declares a {port.type}")
    element = value.element_type()
    if element == TensorProto.STRING:
        return from_python(value.numpy(), "tensor(string)", port.name)
    data = ctypes.string_at(value.data_ptr(), size(value))
    return tensor_from_bytes(port.name, element, value.shape(), data)


def size(value):
    """How many bytes a tensor takes, by ONNX itself where the binding, as that of 1.20, does not say it."""
    if hasattr(value, "tensor_size_in_bytes"):
        return value.tensor_size_in_bytes()
    return size_in_bytes(value.element_type(), value.shape())


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
    schema = schema_of(model, node) if node is not None else None
    if schema is None:
        return None
    version = f"{schema.domain or 'ai.onnx'}/{schema.name}-{schema.since_version}"
    kernels = kernels_of(schema)
    if "is not a registered function/op" in said or "No Op registered for" in said or not (kernels or is_replaced(schema)):
        return Unsupported(f"operator {version}", short(error))
    # There are kernels: one of the types has none. The kernel that fits best shows which.
    types = bound_types(model, node, schema, ports)
    outside = min(([name for name in types if types[name] not in allowed.get(name, [types[name]])] for allowed in kernels), key=len, default=[])
    if outside:
        return Unsupported(f"{types[outside[0]]} in {version}", short(error))
    # Or the kernel itself declines: a type that few kernels have, or a value of an attribute that it names.
    rare = sorted(port.type for port in ports if port.type not in COMMON)
    if rare and (not kernels or re.search("data ?type", said, re.IGNORECASE)):
        return Unsupported(f"{rare[0]} in {version}", short(error))
    named = [attribute.name for attribute in node.attribute if f"({attribute.name} == " in said]
    if named:
        return Unsupported(f"attribute {named[0]} of {version}", short(error))
    # Or an operator in the function that stands for this one.
    inner = schema_named(*re.findall(r"implementation for (\w+)\((\d+)\)", said)[:1])
    if inner and not (kernels_of(inner) or is_replaced(inner)):
        return Unsupported(f"operator ai.onnx/{inner.name}-{inner.since_version}", short(error))
    return None


def kernels_of(schema):
    """For each kernel of an operator version on the processor, the types that it takes, by type parameter."""

    def serves(first, last):
        # A kernel without an end is for the version that it begins with, and none that ONNX made afterwards.
        return first == schema.since_version if last == ENDLESS else first <= schema.since_version <= last

    return [
        kernel.type_constraints
        for kernel in get_all_opkernel_def()
        if kernel.provider == "CPUExecutionProvider"
        and (kernel.op_name, kernel.domain or "") == (schema.name, schema.domain)
        and serves(*kernel.version_range)
    ]


def is_replaced(schema):
    """Whether onnxruntime needs no kernel of an operator: it expands functions, and makes constants initializers."""
    return schema.has_function or schema.has_context_dependent_function or schema.name == "Constant"


def bound_types(model, node, schema, ports):
    """The type of each type parameter of a node, and of each formal input and output, as far as ports and initializers tell."""
    declared = {port.name: port.type for port in ports}
    for initializer in model.graph.initializer:
        declared.setdefault(initializer.name, f"tensor({TensorProto.DataType.Name(initializer.data_type).lower()})")
    types = {}
    for formals, names in ((schema.inputs, node.input), (schema.outputs, node.output)):
        for position, name in enumerate(names):
            formal = formals[min(position, len(formals) - 1)]
            if name and name in declared:
                types.setdefault(formal.type_str, declared[name])
                types.setdefault(formal.name, declared[name])
    return types


def schema_of(model, node):
    """The operator version that a node calls; nothing for what is no operator of ONNX."""
    domain = node.domain or "ai.onnx"
    opset = next((entry.version for entry in model.opset_import if (entry.domain or "ai.onnx") == domain), 0)
    try:
        return onnx.defs.get_schema(node.op_type, opset, "" if domain == "ai.onnx" else domain)
    except Exception:
        return None


def schema_named(found=None):
    """The operator version of ONNX's own domain by name and opset, as a message gives them."""
    try:
        return onnx.defs.get_schema(found[0], int(found[1])) if found else None
    except Exception:
        return None


def version_of_first(path):
    """The operator version of a model's first node, for what is lacking whatever the operator."""
    model = onnx.load(path, load_external_data=False)
    schema = schema_of(model, model.graph.node[0])
    return f"{schema.domain or 'ai.onnx'}/{schema.name}-{schema.since_version}" if schema else "ai.onnx/none"


def blamed(model, said):
    """The node that a message is about: the one whose operator it names, else the first."""
    nodes = list(walk(model.graph))
    named = [node for node in nodes if re.search(rf"\b{re.escape(node.op_type)}\b", said)]
    return (named or nodes or [None])[0]


def short(error):
    """The message without what differs from run to run and from build to build: paths and addresses."""
    said = re.sub(r"\S*/(onnxruntime_src|onnx-conformance-)\S*", "...", str(error))
    return re.sub(r"0x[0-9a-f]+", "0x", said)


if __name__ == "__main__":
    provide_locale()
    serve(
        {
            "name": "onnxruntime",
            "version": onnxruntime.__version__,
            "language": "C++",
            "issues": "https://github.com/microsoft/onnxruntime/issues",
        },
        run,
    )
