"""onnx-conformance for Python: the program, its adapters, and a helper for pytest.

`python -m onnx_conformance` is the command line; `onnx_conformance.pytest` makes the cases tests of a backend.
"""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

__all__ = ["adapters", "environment", "program"]

NAME = "onnx-conformance.exe" if os.name == "nt" else "onnx-conformance"


def program():
    """The path of the program that this package was installed with, or of one on PATH.

    Raises `FileNotFoundError` where there is none.
    """
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    scripts = [Path(sysconfig.get_path("scripts", scheme)) for scheme in schemes]
    # `pip install --target DIR` puts programs into DIR/bin.
    scripts.append(Path(__file__).resolve().parent.parent / "bin")
    for folder in scripts:
        if (folder / NAME).is_file():
            return str(folder / NAME)
    found = shutil.which(NAME)
    if found:
        return found
    searched = ", ".join(map(str, scripts))
    raise FileNotFoundError(f"{NAME} is neither in {searched} nor on PATH; install it with `{sys.executable} -m pip install onnx-conformance`")


def adapters():
    """The folder of the adapters that come with the program; nothing where they were not installed with it."""
    folder = Path(program()).resolve().parent.parent / "share" / "onnx-conformance" / "adapters"
    return folder if folder.is_dir() else None


def environment():
    """The environment for the program: its adapters run in this Python unless the environment names another."""
    return {"ONNX_CONFORMANCE_PYTHON": sys.executable, **os.environ}
