"""onnxoptimizer behind the protocol of docs/protocol.md.

    adapter.py [--pass NAME]
"""

import argparse
import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
import onnxoptimizer
from onnx_conformance_tool import serve_tool


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pass", dest="single", metavar="NAME", choices=onnxoptimizer.get_available_passes(), help="the only pass to run")
    single = parser.parse_args().single
    passes = [single] if single else onnxoptimizer.get_fuse_and_elimination_passes()

    def optimize(path):
        return onnxoptimizer.optimize(onnx.load(path), passes)

    serve_tool(
        {
            "name": f"onnxoptimizer-{single}" if single else "onnxoptimizer",
            "version": importlib.metadata.version("onnxoptimizer"),
            "language": "C++",
            "issues": "https://github.com/onnx/optimizer/issues",
        },
        {"optimize": optimize},
    )


if __name__ == "__main__":
    main()
