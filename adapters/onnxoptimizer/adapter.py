"""onnxoptimizer behind the protocol of docs/protocol.md.

    adapter.py [--pass NAME]
"""

import argparse
import importlib.metadata
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import onnx
import onnxoptimizer
from onnx import TensorProto
from onnx_conformance_tool import Unsupported, serve_tool


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pass", dest="single", metavar="NAME", choices=onnxoptimizer.get_available_passes(), help="the only pass to run")
    single = parser.parse_args().single
    passes = [single] if single else onnxoptimizer.get_fuse_and_elimination_passes()

    def optimize(path):
        try:
            return onnxoptimizer.optimize(onnx.load(path), passes)
        except Exception as error:
            said = str(error)
            if "Sparse tensors not supported" in said:
                raise Unsupported("sparse tensors", said) from error
            if unknown := re.search(r"no supported data type: (\d+)", said):
                raise Unsupported(f"tensor({TensorProto.DataType.Name(int(unknown[1])).lower()})", said) from error
            raise

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
