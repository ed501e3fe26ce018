"""onnxruntime's graph optimizer at the level basic, behind the protocol of docs/protocol.md."""

import importlib.util
import sys
from pathlib import Path

RUNTIME = Path(__file__).resolve().parent.parent / "onnxruntime"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.path.append(str(RUNTIME))

import onnx
import onnxruntime
from onnx import TensorProto
from onnx_conformance_tool import Port, Unsupported, model_of, serve_tool

CPU = "CPUExecutionProvider"
LEVEL = "basic"


def runtime_adapter():
    """Returns the adapter of the runtime as a module. Its name, `adapter`, is also that of this file."""
    spec = importlib.util.spec_from_file_location("runtime_adapter", RUNTIME / "adapter.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ADAPTER = runtime_adapter()


def optimize(path):
    options = ADAPTER.options(LEVEL)
    saved = Path(path).with_name("optimized.onnx")
    options.optimized_model_filepath = str(saved)
    try:
        onnxruntime.InferenceSession(path, options, providers=[CPU])
        return onnx.load(saved)
    except Exception as error:
        if missing := ADAPTER.missing_feature(path, ports(path), error, CPU):
            raise missing from error
        said = ADAPTER.short(error)
        if "NOT_IMPLEMENTED" in said or "is not currently registered" in said:
            # The session needs a kernel of each node, also of those in the body of a function.
            raise Unsupported("a kernel in the body of a function", said) from error
        raise type(error)(said) from error
    finally:
        saved.unlink(missing_ok=True)


def ports(path):
    """Returns the inputs and outputs of the graph with their types."""
    model = model_of(path)
    values = [*model.graph.input, *model.graph.output] if model else []
    return [Port(value.name, type_text(value.type), "") for value in values]


def type_text(type_proto):
    """Returns the type as in ONNX's schemas, such as `seq(tensor(float))`. A map has no text here."""
    kind = type_proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        element = TensorProto.DataType.Name(getattr(type_proto, kind).elem_type).lower()
        return f"{kind.removesuffix('_type')}({element})"
    if kind == "sequence_type":
        return f"seq({type_text(type_proto.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(type_proto.optional_type.elem_type)})"
    return ""


if __name__ == "__main__":
    ADAPTER.provide_locale()
    serve_tool(
        {
            "name": "onnxruntime-optimizer",
            "version": onnxruntime.__version__,
            "language": "C++",
            "issues": "https://github.com/microsoft/onnxruntime/issues",
        },
        {"optimize": optimize},
    )
