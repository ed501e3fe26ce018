"""onnx.shape_inference behind the protocol of docs/protocol.md.

    adapter.py [--mode plain|strict|data]
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
from onnx import shape_inference
from onnx_conformance_tool import serve_tool

# Arguments of infer_shapes in each mode.
MODES = {"plain": {}, "strict": {"check_type": True, "strict_mode": True}, "data": {"data_prop": True}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="plain", choices=MODES, help="strict: errors are raised; data: values are propagated")
    mode = parser.parse_args().mode

    def infer(path):
        return shape_inference.infer_shapes(onnx.load(path), **MODES[mode])

    serve_tool(
        {
            "name": "onnx-inference" if mode == "plain" else f"onnx-inference-{mode}",
            "version": onnx.__version__,
            "language": "C++",
            "issues": "https://github.com/onnx/onnx/issues",
        },
        {"infer": infer},
    )


if __name__ == "__main__":
    main()
