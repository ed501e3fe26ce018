"""OpenCV's dnn module, behind the protocol of docs/protocol.md.

    adapter.py [--engine new|classic|auto]
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import cv2
from onnx_conformance_adapter import LoadError, answered, logged, option, serve
from onnx_conformance_adapter.values import read, require_tensors, write

# The element types that OpenCV has and its binding has arrays of, by ONNX's names. OpenCV 4 has fewer.
TYPES = {"CV_32F": "float", "CV_64F": "double", "CV_16F": "float16", "CV_8S": "int8", "CV_16S": "int16", "CV_32S": "int32"}
TYPES |= {"CV_64S": "int64", "CV_8U": "uint8", "CV_16U": "uint16", "CV_32U": "uint32", "CV_64U": "uint64", "CV_Bool": "bool"}
TYPES = {theirs: name for theirs, name in TYPES.items() if hasattr(cv2, theirs)}

# How OpenCV says what it does not have. The last four are of checks of types: with the type in words; of one value, and of a value that
# must be float, with the type of the value; with the types that it may be; without any.
LACKS = [
    r"Unsupported operations:\s+(?P<operator>\w+)",
    r"Can't create layer \"[^\"]*\" of type \"(?P<operator>[\w.]+)\"",
    r"(?:unsupported datatype '(?:<unknown_type #)?|Unsupported data type: )(?P<type>\w+)",
    r"Attribute\[(?P<attribute>\w+)\]: (?:'\w+' \(\d+\) are not supported|(?<=sparse_value\]: )unsupported)",
    r"isConstArg\(node_inputs\[(?P<input>\d+)\]\)",
    r"Blob (?P<input>\S+) not found in const blobs",
    r"(?:unsupported tensor type:|\) type) (?P<type_in>CV_\w+?)C1\b",
    r"(?:\n> where|only .{0,40}float32 .{0,200}, where)\n>\s+'[^'\n]*' is \d+ \((?P<type_in>CV_\w+?)C1\)",
    r"Assertion failed\) (?P<unlisted>.*== CV_.*)",
    r"(?P<unlisted>(?i:unsupported (?:input |output |input/output )?(?:data )?(?:type|depth)\b.*))",
]

# The reason in the log of an engine that returns an empty net and raises no exception, and behind the node in a message of the other.
REASON = re.compile(r"(?s)error '(.+?)\s*' occurred|parse error: (.+)|(Unsupported operations:\s+\w+|unknown input|can't find layer for output)")


def run(path, inputs, outputs):
    ports = inputs + outputs
    require_tensors(ports, TYPES.values(), "the Python binding of OpenCV")
    with answered(LoadError, path, ports, LACKS, TYPES, short):
        with logged() as log:
            net = cv2.dnn.readNetFromONNX(path, *ENGINE)
        if net.empty():
            raise RuntimeError(log.text)
    with answered(RuntimeError, path, ports, LACKS, TYPES, short):
        for port in inputs:
            net.setInput(read(path, port, {"int64": "int32", "uint64": "int32"}), port.name)
        write(outputs, net.forward([port.name for port in outputs]) if outputs else [net.forward()])


def short(said):
    said = found[found.lastindex] if (found := REASON.search(said)) else said
    return re.sub(r"\[ *\w+:\d+@[\d.]+\] |OpenCV\(\S+\) \S*/modules/", "", re.sub(r"operations:\s+(\w+)", r"operations: '\1'", said))


engine = option("engine", ["new", "classic", "auto"])
ENGINE = [getattr(cv2.dnn, f"ENGINE_{engine.upper()}")] if hasattr(cv2.dnn, "ENGINE_NEW") else []
cv2.setNumThreads(1)
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_INFO)
name, issues = "opencv" if engine == "new" else f"opencv-{engine}", "https://github.com/opencv/opencv/issues"
serve({"name": name, "version": cv2.__version__, "language": "C++", "issues": issues}, run)
