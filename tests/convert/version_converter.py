"""onnx.version_converter behind the protocol of converter.rs."""

import sys

import onnx
from onnx import version_converter


def main() -> None:
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        opset, length = map(int, line.split())
        model = onnx.ModelProto.FromString(requests.read(length))
        try:
            converted = version_converter.convert_version(model, opset).SerializeToString()
            answers.write(b"ok %d\n" % len(converted) + converted)
        except Exception as error:  # Whatever it raises is a refusal.
            reason = " ".join(str(error).split())[:300]
            answers.write(f"refused {type(error).__name__}: {reason}\n".encode())
        answers.flush()


main()
