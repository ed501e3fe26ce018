"""onnxruntime's symbolic shape inference behind the protocol of docs/protocol.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
import onnxruntime
from onnx_conformance_tool import Unsupported, serve_tool
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference, get_opset

# The oldest opset that the tool supports.
OLDEST = 7


def infer(path):
    model = onnx.load(path)
    # The arguments are the defaults of the command line.
    try:
        inferred = SymbolicShapeInference.infer_shapes(model, int_max=2**31 - 1, auto_merge=False, guess_output_rank=False, verbose=0)
    except Exception as error:
        if "Incomplete symbolic shape inference" in str(error):
            raise Unsupported("complete inference", str(error)) from error
        raise
    opset = get_opset(model)
    if inferred is None and not opset:
        raise Unsupported("models without ai.onnx", "the tool returns no model")
    if inferred is None and opset and opset < OLDEST:
        raise Unsupported(f"opset {opset} of ai.onnx", f"Only support models of onnx opset {OLDEST} and above.")
    return inferred


if __name__ == "__main__":
    serve_tool(
        {
            "name": "onnxruntime-inference",
            "version": onnxruntime.__version__,
            "language": "Python",
            "issues": "https://github.com/microsoft/onnxruntime/issues",
        },
        {"infer": infer},
    )
