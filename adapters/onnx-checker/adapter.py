"""onnx.checker behind the protocol of docs/protocol.md.

    adapter.py [--mode plain|full]
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
from onnx_conformance_tool import serve_tool


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="plain", choices=["plain", "full"], help="full: shape inference is part of the check")
    mode = parser.parse_args().mode

    # The checker gets the path, since it resolves external data from it.
    def check(path):
        onnx.checker.check_model(path, full_check=mode == "full")

    serve_tool(
        {
            "name": "onnx-checker" if mode == "plain" else f"onnx-checker-{mode}",
            "version": onnx.__version__,
            "language": "C++",
            "issues": "https://github.com/onnx/onnx/issues",
        },
        {"check": check},
    )


if __name__ == "__main__":
    main()
