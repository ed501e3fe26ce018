"""float16 of onnxconverter-common behind the protocol of docs/protocol.md."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
from onnx_conformance_tool import Unsupported, serve_tool
from onnxconverter_common.float16 import convert_float_to_float16


def float16(path):
    try:
        return convert_float_to_float16(onnx.load(path))
    except ValueError as error:
        if "already converted to float16" in str(error):
            raise Unsupported("conversion of models with float16", str(error)) from error
        raise


if __name__ == "__main__":
    serve_tool(
        {
            "name": "onnxconverter-common",
            "version": importlib.metadata.version("onnxconverter-common"),
            "language": "Python",
            "issues": "https://github.com/microsoft/onnxconverter-common/issues",
        },
        {"float16": float16},
    )
