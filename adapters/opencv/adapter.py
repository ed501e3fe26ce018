"""OpenCV's dnn module, behind the protocol of docs/protocol.md: adapter.py [--engine new|classic|auto]."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import cv2
from onnx_conformance_adapter import option
from onnx_conformance_adapter.library import Library

# The element types that OpenCV has and its binding has arrays of, by ONNX's names. OpenCV 4 has fewer.
TYPES = {"CV_32F": "float", "CV_64F": "double", "CV_16F": "float16", "CV_8S": "int8", "CV_16S": "int16", "CV_32S": "int32"}
TYPES |= {"CV_64S": "int64", "CV_8U": "uint8", "CV_16U": "uint16", "CV_32U": "uint32", "CV_64U": "uint64", "CV_Bool": "bool"}

# How OpenCV says what it does not have. The last three are of checks of types; README.md has the messages.
LACKS = [
    r"(?:Unsupported operations:\s+|Can't create layer \"[^\"]*\" of type \")(?P<operator>\w+(?:\.\w+)*)",
    r"(?:unsupported datatype '(?:<unknown_type #)?|Unsupported data type: )(?P<type>\w+)",
    r"Attribute\[(?P<attribute>\w+)\]: (?:'\w+' \(\d+\) are not supported|(?<=sparse_value\]: )unsupported)",
    r"(?:isConstArg\(node_inputs\[(?=\d)|Blob )(?P<input>\S+?)(?:\]\)| not found in const blobs)",
    r"(?:unsupported tensor type:|\) type) (?P<type_in>CV_\w+?)C1\b",
    r"(?:\n> where|only .{0,40}float32 .{0,200}, where)\n>\s+'[^'\n]*' is \d+ \((?P<type_in>CV_\w+?)C1\)",
    r"(?P<unlisted>(?<=Assertion failed\) ).*== CV_.*|(?i:unsupported (?:input |output |input/output )?(?:data )?(?:type|depth)\b.*))",
]
# The reason in the log of an engine that returns an empty net and raises no exception, and behind the node in a message of the other.
REASON = r"(?s)error '(.+?)\s*' occurred|parse error: (.+)|(Unsupported operations:\s+\w+|unknown input|can't find layer for output)"


def run(path, inputs, outputs):
    net = cv2.dnn.readNetFromONNX(path, *ENGINE)
    yield not net.empty()
    for name, value in inputs:
        net.setInput(value, name)
    yield net.forward(outputs) if outputs else [net.forward()]


engine = option("engine", ["new", "classic", "auto"])
ENGINE = [getattr(cv2.dnn, f"ENGINE_{engine.upper()}")] if hasattr(cv2.dnn, "ENGINE_NEW") else []
cv2.setNumThreads(1)
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_INFO)
name, issues = "opencv" if engine == "new" else f"opencv-{engine}", "https://github.com/opencv/opencv/issues"
NOISE, NARROWED = r"\[ *\w+:\d+@[\d.]+\] |OpenCV\(\S+\) \S*/modules/", {"int64": "int32", "uint64": "int32"}
Library({"name": name, "language": "C++", "issues": issues}, cv2, TYPES, LACKS, REASON, NOISE, NARROWED).serve(run)
