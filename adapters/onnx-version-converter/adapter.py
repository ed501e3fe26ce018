"""onnx.version_converter behind the protocol of docs/protocol.md."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
from onnx import TensorProto, version_converter
from onnx_conformance_tool import Unsupported, blamed_node, serve_tool

# Messages in which the converter declines a conversion, as opposed to a failure.
DECLINES = re.compile(
    r"No Adapter |No Previous Version|is unallowed for Opset|not supported|unsupported|cannot be downgraded|cannot be performed"
    r"|does not have broadcastable inputs|can only broadcast|cannot include Indices|no registered schema"
    r"|Dimension is a param|Shape of input \d+ is not available|only supports|No initializer or constant input|must have value"
    r"|must be 'stretch'|must be -1 \(disabled\)|must be a constant",
    re.IGNORECASE,
)


def convert(path, opset):
    model = onnx.load(path)
    try:
        return version_converter.convert_version(model, opset)
    except Exception as error:
        said = str(error)
        if "invalid version (must be between" in said:
            raise Unsupported(f"opset {opset} of ai.onnx", said) from error
        if DECLINES.search(said):
            raise Unsupported(declined(model, said, opset), said) from error
        raise


def declined(model, said, opset):
    """Returns the conversion that a message is about: the operator, and the step that the message names, else the whole conversion."""
    step = re.search(r"No Adapter (To|From) Version \$?(\d+) for (\S+)", said)
    if step:
        return f"conversion of ai.onnx/{step[3]} {step[1].lower()} opset {step[2]}"
    named = re.search(r"operator '(\w+)'|No Adapter For (\w+)|No Previous Version of (\w+)|Op '(\w+)'", said)
    node = blamed_node(model, said)
    operator = next(filter(None, named.groups())) if named else node and node.op_type
    step = re.search(r"Opset Version (\d+)|to opset (\d+)", said)
    target = next(filter(None, step.groups())) if step else opset
    if operator is None:
        return f"conversion to opset {target}"
    type_code = re.search(r"DataType \((\d+)\)", said)
    of_type = f" with tensor({TensorProto.DataType.Name(int(type_code[1])).lower()})" if type_code else ""
    return f"conversion of ai.onnx/{operator}{of_type} to opset {target}"


if __name__ == "__main__":
    serve_tool(
        {
            "name": "onnx-version-converter",
            "version": onnx.__version__,
            "language": "C++",
            "issues": "https://github.com/onnx/onnx/issues",
        },
        {"convert": convert},
    )
