"""onnxruntime, on one execution provider, behind the protocol of docs/protocol.md.

    adapter.py [--provider NAME] [--level LEVEL]
"""

import argparse
import contextlib
import ctypes
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnxruntime
from c_library import CannotMake, library
from missing import missing_feature, short, version_of_first
from onnx import TensorProto, helper, load, numpy_helper
from onnx_conformance_adapter import LoadError, Unsupported, operators, serve
from onnx_conformance_adapter.values import (
    bytes_of,
    from_python,
    item_type,
    optional_item,
    parse,
    sequence_items,
    size_in_bytes,
    tensor_from_bytes,
    to_python,
)

# The levels of the optimizer that this version has; `layout` came with 1.21.
LEVELS = {
    name: getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level}")
    for name, level in {
        "disabled": "DISABLE_ALL",
        "basic": "ENABLE_BASIC",
        "extended": "ENABLE_EXTENDED",
        "layout": "ENABLE_LAYOUT",
        "all": "ENABLE_ALL",
    }.items()
    if hasattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level}")
}

# What numpy has itself; all other element types go through memory, as onnxruntime keeps them.
NUMPY = {
    f"tensor({name})"
    for name in "float double float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 complex128".split()
}

# The element types of which every release's binding makes an `OrtValue` from an array.
FROM_ARRAY = {getattr(TensorProto, name) for name in "FLOAT DOUBLE FLOAT16 INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 BOOL".split()}

CPU = "CPUExecutionProvider"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--provider", default="cpu", help="the execution provider, as `cuda` for CUDAExecutionProvider")
    parser.add_argument("--level", default="all", choices=LEVELS, help="the level of the graph optimizer")
    return parser.parse_args()


def provider_named(name):
    """The execution provider of a name, which the installed package must have."""
    available = {each.removesuffix("ExecutionProvider").lower(): each for each in onnxruntime.get_available_providers()}
    if name.lower() not in available:
        sys.exit(
            f"this package of onnxruntime {onnxruntime.__version__} has no execution provider '{name}'; it has "
            f"{', '.join(sorted(available))}. Another is in another package, as cuda in onnxruntime-gpu: install it in place of this one"
        )
    return available[name.lower()]


def options(level):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = LEVELS[level]
    if PROVIDER != CPU:
        # What the provider has not is not to be run by the processor's kernels in its name.
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return options


def takes_codes():
    """Whether the binding makes an `OrtValue` of an element type by ONNX's number, as it does from 1.20 on."""
    try:
        onnxruntime.OrtValue.ortvalue_from_shape_and_type([1], TensorProto.FLOAT)
    except Exception:
        return False
    return True


ARGUMENTS = arguments() if __name__ == "__main__" else argparse.Namespace(provider="cpu", level="all")
PROVIDER = provider_named(ARGUMENTS.provider)
OPTIONS = options(ARGUMENTS.level)
TAKES_CODES = takes_codes()


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
        session = onnxruntime.InferenceSession(path, OPTIONS, providers=[PROVIDER])
        refuse_other_providers(session)
    except Exception as error:
        raise missing_feature(path, inputs + outputs, error, PROVIDER) or LoadError(short(error)) from error
    try:
        values = evaluate(session, path, inputs, outputs)
    except Unsupported:
        raise
    except Exception as error:
        raise missing_feature(path, inputs + outputs, error, PROVIDER) or RuntimeError(short(error)) from error
    for port, value in zip(outputs, values):
        port.write(value.SerializeToString())


def optimize(path):
    """The operators of a graph at the level of the run. What onnxruntime does at the level `disabled`, too, is no optimization: it
    expands functions without a kernel, and inserts casts around kernels of other types.
    """
    after = operators_at(path, ARGUMENTS.level)
    try:
        return {"before": operators_at(path, "disabled"), "after": after}
    except Exception:
        # Some graphs have kernels only after optimization.
        return {"after": after}


def operators_at(path, level):
    """The operators of the model that onnxruntime saves at a level."""
    saving = options(level)
    saving.optimized_model_filepath = str(Path(path).with_name(f"{level}.onnx"))
    onnxruntime.InferenceSession(path, saving, providers=[PROVIDER])
    return operators(load(saving.optimized_model_filepath, load_external_data=False))


def refuse_other_providers(session):
    """Fails where onnxruntime has put other providers in the place of one that does not start, as CUDA without its libraries."""
    if PROVIDER not in session.get_providers():
        raise RuntimeError(f"{PROVIDER} did not start; onnxruntime took {', '.join(session.get_providers())} in its place")


def evaluate(session, path, inputs, outputs):
    """The outputs as messages. Tensors go in and come out as memory, so that no element type needs numpy's consent."""
    names = [output.name for output in session.get_outputs()]
    if any(port.name not in names for port in outputs):
        raise RuntimeError(f"the session has the outputs {names}")
    wanted = [port.name for port in outputs] or names
    given = [(port, parse(port.read(), port.type)) for port in inputs]
    beyond = next((port for port, value in given if beyond_binding(value, port.type)), None)
    if beyond:
        feature = f"{beyond.type} in {version_of_first(path)}"
        if PROVIDER != CPU or library() is None:
            raise Unsupported(feature, f"the Python binding cannot make a {beyond.type}")
        feed = [(port.name, port.type, value) for port, value in given]
        try:
            results = library().run(path, OPTIONS.graph_optimization_level, feed, wanted, len(outputs))
        except CannotMake as error:
            raise Unsupported(feature, f"the Python binding cannot make a {beyond.type}, and {error}") from error
        return [from_python(result, port.type, port.name) for result, port in zip(results, outputs)]
    if all(is_tensor(value, port.type) for port, value in given) and all(holds_tensor(port.type) for port in outputs):
        kept = []
        feed = {port.name: ort_value(inner(value), kept) for port, value in given}
        results = session.run_with_ort_values(wanted, feed)
        return [from_python(message(result, port), port.type, port.name) for result, port in zip(results, outputs)]
    feed = {port.name: fed(value, port.type) for port, value in given}
    try:
        results = session.run(wanted, feed)
    except Exception as error:
        # The binding of 1.17 and older reads no item type of an optional of a sequence.
        optional = next((port.type for port in inputs if port.type.startswith("optional(seq(")), None)
        if optional and "missing type information" in str(error):
            raise Unsupported(f"{optional} in {version_of_first(path)}", short(error)) from error
        raise
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
    if tensor.data_type == TensorProto.STRING or not (TAKES_CODES or tensor.data_type in FROM_ARRAY):
        return from_initializer(tensor, kept)
    if not TAKES_CODES:
        kept.append(numpy_helper.to_array(tensor).copy())
        return onnxruntime.OrtValue.ortvalue_from_numpy(kept[-1])
    data = bytes_of(tensor)
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(tensor.dims), tensor.data_type)
    if len(data) != size(value):
        raise RuntimeError(f"onnxruntime keeps {size(value)} bytes for a tensor of {len(data)}")
    ctypes.memmove(value.data_ptr(), data, len(data))
    return value


def from_initializer(tensor, kept):
    """An `OrtValue` of what the binding makes none of, as strings: a model gives one that is its only initializer."""
    initializer = TensorProto(name="value")
    initializer.MergeFrom(tensor)
    initializer.name = "value"
    output = helper.make_tensor_value_info("value", tensor.data_type, list(tensor.dims))
    graph = helper.make_graph([], "value", [], [output], [initializer])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=[CPU])
    kept.append(session)
    return session.run_with_ort_values(["value"], {})[0]


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


def name():
    """The name of the runtime: with the provider and the level, unless they are the default ones."""
    provider = [] if PROVIDER == CPU else [ARGUMENTS.provider.lower()]
    level = [] if ARGUMENTS.level == "all" else [ARGUMENTS.level]
    return "-".join(["onnxruntime", *provider, *level])


if __name__ == "__main__":
    provide_locale()
    serve(
        {
            "name": name(),
            "version": onnxruntime.__version__,
            "language": "C++",
            "issues": "https://github.com/microsoft/onnxruntime/issues",
        },
        run,
        optimize,
    )
