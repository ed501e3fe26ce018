"""onnxscript.optimizer behind the protocol of docs/protocol.md."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
from onnx_conformance_tool import Unsupported, root_cause, serve_tool
from onnxscript import optimizer


def optimize(path):
    try:
        return optimizer.optimize(onnx.load(path))
    except Exception as error:
        # The exception of a pass is the cause of a PassError, whose message names only the pass.
        cause = root_cause(error)
        if "Map types are not supported" in str(cause):
            raise Unsupported("map types", str(cause)) from error
        if "Sparse tensors are not supported" in str(cause):
            raise Unsupported("sparse tensors", str(cause)) from error
        raise cause from None


if __name__ == "__main__":
    serve_tool(
        {
            "name": "onnxscript-optimizer",
            "version": importlib.metadata.version("onnxscript"),
            "language": "Python",
            "issues": "https://github.com/microsoft/onnxscript/issues",
        },
        {"optimize": optimize},
    )
