"""OnnxSlim behind the protocol of docs/protocol.md."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
import onnxslim
from onnx_conformance_tool import serve_tool


def optimize(path):
    return onnxslim.slim(onnx.load(path))


if __name__ == "__main__":
    serve_tool(
        {
            "name": "onnxslim",
            "version": importlib.metadata.version("onnxslim"),
            "language": "Python",
            "issues": "https://github.com/inisis/OnnxSlim/issues",
        },
        {"optimize": optimize},
    )
