"""Copies the adapters in Python to python/data and what they share to python/onnx_conformance_adapter, from where a wheel takes them.

Run it before `maturin build`. An argument is the path of the program for browsers, onnx_conformance_browser.wasm, which is copied as well.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "python" / "data" / "data" / "share" / "onnx-conformance"


def is_python(adapter):
    """Whether Python runs the adapter; what is not started by its name is for adapters of others."""
    file = adapter / "adapter.yaml"
    return not file.exists() or "{python}" in file.read_text(encoding="utf-8")


def main(modules):
    package = ROOT / "python" / "onnx_conformance_adapter"
    for folder in (ROOT / "python" / "data", package):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "adapters" / "python" / package.name, package, ignore=shutil.ignore_patterns("__pycache__"))
    for adapter in sorted((ROOT / "adapters").iterdir()):
        if adapter.is_dir() and is_python(adapter):
            shutil.copytree(adapter, PLACE / "adapters" / adapter.name, ignore=shutil.ignore_patterns("__pycache__"))
    for module in modules:
        shutil.copy(module, PLACE)


if __name__ == "__main__":
    main(sys.argv[1:])
