"""Exceptions of the package. The message of each is that of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reports import Placed

__all__ = [
    "ConformanceError",
    "MissingPackageError",
    "ModelNotFoundError",
    "NotAModelError",
    "NotConvertedError",
    "ProgramNotFoundError",
    "UsageError",
]


class ConformanceError(Exception):
    """The program could not answer: a limit was exceeded, a file could not be read or written, or the program failed."""


class UsageError(ConformanceError, ValueError):
    """Arguments that do not fit together, or that the program does not have."""


class NotAModelError(ConformanceError, ValueError):
    """The file or the bytes contain no ONNX model."""


class ModelNotFoundError(ConformanceError, FileNotFoundError):
    """There is no file with this path."""


class NotConvertedError(ConformanceError):
    """There is no converted model.

    `status` is `refused` if some place cannot be converted, and then `reasons` has the places; `invalid` if the converted model
    would violate a rule, `differs` if it would compute other outputs, and `unverified` if the outputs were not compared, although
    `--require-proof` is given.
    """

    def __init__(self, message: str, status: str = "refused", reasons: tuple[Placed, ...] = ()) -> None:
        super().__init__(message, status, reasons)
        self.status = status
        self.reasons = reasons

    def __str__(self) -> str:
        return str(self.args[0])


class ProgramNotFoundError(ConformanceError, FileNotFoundError):
    """The program is not installed."""


class MissingPackageError(ConformanceError, ImportError):
    """A Python package that the adapters need is not installed."""
