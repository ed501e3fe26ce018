"""onnxscript.version_converter behind the protocol of docs/protocol.md.

    adapter.py [--mode alone|fallback|proto]
"""

import argparse
import importlib.metadata
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
from onnx_conformance_tool import Unsupported, root_cause, serve_tool
from onnxscript import ir, version_converter


def convert(path, opset, mode):
    model = onnx.load(path)
    try:
        if mode == "proto":
            version_converter.convert_version(model, opset, fallback=False)
            return model
        # Not the ModelProto, whose opset_import would stay.
        converted = ir.from_proto(model)
        version_converter.convert_version(converted, opset, fallback=mode == "fallback")
        return ir.to_proto(converted)
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--mode",
        default="alone",
        choices=["alone", "fallback", "proto"],
        help="fallback: the converter of the onnx package converts between opsets that this one does not support; "
        "proto: the function gets a ModelProto",
    )
    mode = parser.parse_args().mode
    serve_tool(
        {
            "name": "onnxscript-converter" if mode == "alone" else f"onnxscript-converter-{mode}",
            "version": importlib.metadata.version("onnxscript"),
            "language": "Python",
            "issues": "https://github.com/microsoft/onnxscript/issues",
        },
        {"convert": lambda path, opset: convert(path, opset, mode)},
    )


if __name__ == "__main__":
    main()
