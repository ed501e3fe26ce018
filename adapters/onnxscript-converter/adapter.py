"""onnxscript.version_converter behind the protocol of docs/protocol.md."""

import importlib.metadata
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
from onnx_conformance_tool import Unsupported, root_cause, serve_tool
from onnxscript import ir, version_converter


def convert(path, opset):
    try:
        # With a ModelProto, convert_version changes the graph in place and leaves opset_import as it was.
        model = ir.from_proto(onnx.load(path))
        version_converter.convert_version(model, opset, fallback=False)
    except Exception as error:
        cause = root_cause(error)
        said = str(cause)
        if re.search(r"Target opset version \d+ is not supported", said):
            raise Unsupported(f"opset {opset} of ai.onnx", said) from error
        if "downstream version conversion not currently handled" in said:
            raise Unsupported("conversion to an older opset", said) from error
        if "has ref attribute, which is not supported" in said:
            raise Unsupported("conversion of attribute references", said) from error
        if "Map types are not supported" in said:
            raise Unsupported("map types", said) from error
        if "Sparse tensors are not supported" in said:
            raise Unsupported("sparse tensors", said) from error
        raise cause from None
    return ir.to_proto(model)


if __name__ == "__main__":
    serve_tool(
        {
            "name": "onnxscript-converter",
            "version": importlib.metadata.version("onnxscript"),
            "language": "Python",
            "issues": "https://github.com/microsoft/onnxscript/issues",
        },
        {"convert": convert},
    )
