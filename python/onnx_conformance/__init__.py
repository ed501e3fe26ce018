"""onnx-conformance for Python: checks, converts and traces models, starts the program and its adapters, and has a helper for pytest.

    import onnx_conformance

    report = onnx_conformance.check("model.onnx", runtime="onnxruntime")
    older = onnx_conformance.convert("model.onnx", opset=13).model
    first = onnx_conformance.trace("model.onnx", "onnxruntime").difference

`check` and `convert` need no other package. `python -m onnx_conformance` is the command line. `onnx_conformance.pytest` makes the
cases tests of a backend. `onnx_conformance.backend` is a runtime as a backend of ONNX. Both and the adapters need the packages of
`onnx-conformance[adapters]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .api import CheckOptions, Model, check, check_all, convert, trace
from .errors import (
    ConformanceError,
    MissingPackageError,
    ModelNotFoundError,
    NotAModelError,
    NotConvertedError,
    ProgramNotFoundError,
    UsageError,
)
from .process import adapters, environment, program
from .reports import (
    Conversion,
    Difference,
    Facts,
    Finding,
    Graph,
    Kind,
    Need,
    Node,
    Placed,
    Report,
    Runtime,
    SavedNode,
    Target,
    Trace,
    TracedValue,
    Value,
    Verification,
)

if TYPE_CHECKING:
    __version__: str

__all__ = [
    "CheckOptions",
    "ConformanceError",
    "Conversion",
    "Difference",
    "Facts",
    "Finding",
    "Graph",
    "Kind",
    "MissingPackageError",
    "Model",
    "ModelNotFoundError",
    "Need",
    "Node",
    "NotAModelError",
    "NotConvertedError",
    "Placed",
    "ProgramNotFoundError",
    "Report",
    "Runtime",
    "SavedNode",
    "Target",
    "Trace",
    "TracedValue",
    "UsageError",
    "Value",
    "Verification",
    "__version__",
    "adapters",
    "check",
    "check_all",
    "convert",
    "environment",
    "program",
    "trace",
]


def __getattr__(name: str) -> str:
    """The version of the installed package, which is that of its program. The metadata is read when it is asked for."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("onnx-conformance")
    except PackageNotFoundError:
        # The sources, without an installation.
        from .process import program_version

        return program_version()
