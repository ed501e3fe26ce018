"""onnxsim behind the protocol of docs/protocol.md."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
import onnxsim
from onnx_conformance_tool import serve_tool


def optimize(path):
    model, _valid = onnxsim.simplify(onnx.load(path), check_n=0)
    return model


if __name__ == "__main__":
    serve_tool(
        {
            "name": "onnxsim",
            "version": importlib.metadata.version("onnxsim"),
            "language": "C++",
            "issues": "https://github.com/onnxsim/onnxsim/issues",
        },
        {"optimize": optimize},
    )
