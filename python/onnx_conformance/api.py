"""Check, convert and trace models."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, TypeVar, Union

from .errors import ConformanceError, ModelNotFoundError, NotAModelError, NotConvertedError, UsageError
from .process import Called, answer, call
from .reports import Conversion, Report, Trace, placed

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["CheckOptions", "Model", "check", "check_all", "convert", "trace"]

# The largest message that protobuf encodes.
MAX_BYTES = 2**31 - 1

# The names in the program's messages of a model in memory, and of one on standard input.
IN_MEMORY, STDIN = "the model", "<stdin>"


T = TypeVar("T")


class Serializable(Protocol):
    """A message of protobuf, such as `onnx.ModelProto`."""

    def SerializeToString(self) -> bytes: ...


PathLike = Union[str, "os.PathLike[str]"]
# A model: its path, its bytes, or an `onnx.ModelProto`.
Model = Union[PathLike, bytes, bytearray, memoryview, Serializable]
# An opset of `ai.onnx`, or opsets by domain.
Opsets = Union[int, Mapping[str, int]]


class CheckOptions(TypedDict, total=False):
    """Keyword arguments of `check` and `check_all`.

    `opset`, `ir` and `release` ask for another opset, IR version or release of ONNX. `runtime` is the name of a measured runtime,
    such as `onnxruntime` or `onnxruntime@1.20.1`, or several; `probe` starts it. `shapes` adds the types and shapes of all values.
    `timeout` in seconds and `memory` in MB are limits. `options` are further options of `onnx-conformance check`.
    """

    opset: Opsets | None
    ir: int | None
    release: str | None
    relabel_only: bool
    runtime: str | Sequence[str] | None
    probe: bool
    shapes: bool
    timeout: int | None
    memory: int | None
    options: Sequence[str]


def check(model: Model, *, folder: PathLike | None = None, **question: Unpack[CheckOptions]) -> Report:
    """Checks a model: is it valid, at which opsets, and what do runtimes do with it?

    `folder` has the files with external data of a model in memory. `CheckOptions` describes the other arguments.

    Raises `NotAModelError` if there is no model. A violated rule is no exception: it is a finding of the report.
    """
    source = Source.of(model, folder)
    called = source.call("check", check_words("check", question))
    report = Report.from_json(reports_of(called, source)[0])
    if report.status == "unreadable":
        raise NotAModelError(source.text(f"{report.file}: {report.verdict}"))
    if report.status == "failed":
        raise ConformanceError(source.text(f"{report.file}: {report.verdict}"))
    return report


def check_all(models: Iterable[PathLike], **question: Unpack[CheckOptions]) -> list[Report]:
    """Checks many models in one process, in parallel: files, and all `.onnx` files below folders. `CheckOptions` describes the
    arguments. A file without a model has a report, too, with the status `unreadable`."""
    words = check_words("check_all", question)
    paths = [path_word(path) for path in models]
    if not paths:
        return []
    called = call(["check", "--format", "json", *words, "--", *paths])
    return [Report.from_json(report) for report in reports_of(called, None)]


def convert(
    model: Model,
    *,
    opset: Opsets | None = None,
    ir: int | None = None,
    release: str | None = None,
    relabel_only: bool = False,
    half: Literal["float16", "bfloat16"] | None = None,
    keep: Sequence[str] = (),
    half_io: bool = False,
    output: PathLike | None = None,
    overwrite: bool = False,
    verify: int | None = None,
    inputs: PathLike | None = None,
    folder: PathLike | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    options: Sequence[str] = (),
) -> Conversion:
    """Converts a model to another opset, IR version or release of ONNX, or to half precision, and verifies it by running both
    models.

    `half` is the type to compute in, `keep` has operators and names of nodes that stay in float, and `half_io` also changes the
    type of inputs and outputs.

    `output` is a file to write; a model with external data needs one in its folder. `verify` is the number of generated inputs,
    and `inputs` a `.npz` file or a folder with further ones. The other arguments are those of `check`; `options` are further options of
    `onnx-conformance convert`.

    Raises `NotConvertedError` if some place cannot be converted, with the reasons, and `NotAModelError` if there is no model.
    """
    source = Source.of(model, folder)
    words = target_words(opset, ir, release, relabel_only) + half_words(half, keep, half_io)
    words += limit_words(timeout, memory)
    words += ["--verify", str(verify)] if verify is not None else []
    words += ["--inputs", os.path.abspath(inputs)] if inputs is not None else []
    words += ["--force"] if overwrite else []
    if output is not None:
        path = Path(output) if source.folder is None else Path(os.path.abspath(output))
        json = conversion_of(source, [*words, *options, f"--output={path}"])
        return Conversion.from_json(json, path, None)
    with tempfile.TemporaryDirectory(prefix="onnx-conformance-") as home:
        path = Path(home) / "converted.onnx"
        source = Source(source.path, source.data, source.folder, written=str(path))
        json = conversion_of(source, [*words, *options, f"--output={path}"])
        return Conversion.from_json(json, None, path.read_bytes())


def trace(
    model: Model,
    runtime: str,
    *,
    against: str | None = None,
    inputs: PathLike | None = None,
    output: PathLike | None = None,
    folder: PathLike | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    options: Sequence[str] = (),
) -> Trace:
    """Finds the first nodes of a model that a runtime computes differently from the built-in executor, or from `against`.

    `runtime` and `against` are the name of an adapter, such as `onnxruntime`, or its command line; `against="@13"` is the model
    itself at opset 13. `inputs` is a `.npz` file or a folder with inputs of the model; without it they are generated. `output` is a new folder for the nodes that differ, as a case folder of ONNX with a text
    for an issue. The other arguments are those of `check`; `options` are further options of `onnx-conformance trace`.

    Raises `NotAModelError` if there is no model. A difference is no exception: the trace has it.
    """
    source = Source.of(model, folder)
    words = [f"--runtime={runtime}", *limit_words(timeout, memory)]
    words += [f"--against={against}"] if against is not None else []
    words += [f"--inputs={os.path.abspath(inputs)}"] if inputs is not None else []
    words += [f"--output={os.path.abspath(output)}"] if output is not None else []
    json = answer_of(source.call("trace", [*words, *options]), source)
    if json["status"] == "unreadable":
        raise NotAModelError(source.text(json["summary"]))
    return Trace.from_json(json)


def conversion_of(source: Source, words: Sequence[str]) -> dict[str, Any]:
    """The answer about a converted model. Raises an exception if there is none."""
    called = source.call("convert", words)
    json = answer_of(called, source)
    if json["status"] == "converted":
        return json
    if json["status"] == "unreadable":
        raise NotAModelError(source.text(json["summary"]))
    reasons = placed(json["reasons"])
    message = "\n  ".join([f"{json['file']}: {json['summary']}", *map(str, reasons)])
    raise NotConvertedError(source.text(message), json["status"], reasons)


def answer_of(called: Called, source: Source | None) -> dict[str, Any]:
    return answer(called) if source is None else source.named(lambda: answer(called))


def reports_of(called: Called, source: Source | None) -> list[dict[str, Any]]:
    """The reports that `check` printed. Raises an exception if there are none."""
    reports: list[dict[str, Any]] = answer_of(called, source)["models"]
    if not reports:
        raise ConformanceError(called.error() or "the check reported on no model")
    return reports


@dataclass(frozen=True)
class Source:
    """A model as the program gets it: a path, or bytes on standard input, with the folder of their external data.

    `written` is the temporary file of a converted model, which messages call the output.
    """

    path: str | None
    data: bytes | None
    folder: str | None
    written: str | None = None

    @classmethod
    def of(cls, model: Model, folder: PathLike | None) -> Source:
        """Raises `UsageError` if it is no model, or one that is too large for protobuf."""
        home = None if folder is None else os.fspath(folder)
        if isinstance(model, (str, os.PathLike)):
            if home is not None:
                raise UsageError("folder is for models in memory; a file has its external data in its own folder")
            path = path_word(model)
            if os.path.isdir(path):
                raise UsageError(f"{path} is a folder; check_all takes folders")
            return cls(path, None, None)
        if isinstance(model, (bytes, bytearray, memoryview)):
            data = bytes(model)
        elif hasattr(model, "SerializeToString"):
            data = serialized(model)
        else:
            raise UsageError(f"expected a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
        if len(data) > MAX_BYTES:
            raise UsageError(too_large(len(data)))
        if home is not None and not os.path.isdir(home):
            raise UsageError(f"{home}: no such folder")
        return cls(None, data, home)

    def call(self, command: str, words: Sequence[str]) -> Called:
        """Runs a command of the program on the model."""
        arguments = [command, "--format", "json", *words, "--", self.path or "-"]
        return self.named(lambda: call(arguments, stdin=self.data, folder=self.folder))

    def named(self, ask: Callable[[], T]) -> T:
        """The answer to a question. The message of an exception has the caller's names."""
        try:
            return ask()
        except ConformanceError as error:
            message = self.text(str(error))
            if message == str(error):
                raise
            raise type(error)(message) from None

    def text(self, message: str) -> str:
        """The message without the names of what is not a file of the caller."""
        if self.path is None:
            message = message.replace(STDIN, IN_MEMORY)
        return message.replace(self.written, "the output") if self.written else message


def serialized(model: Serializable) -> bytes:
    """The bytes of a message. Raises `UsageError` if it is too large for protobuf."""
    size = getattr(model, "ByteSize", int)()
    if size > MAX_BYTES:
        raise UsageError(too_large(size))
    try:
        return model.SerializeToString()
    except Exception as error:
        raise UsageError(f"{type(model).__name__} cannot be serialized: {error}; if it is larger than 2 GB, {EXTERNAL}") from error


EXTERNAL = "save it with external data, and pass its path"


def too_large(size: int) -> str:
    return f"the model has {size} bytes, and protobuf encodes at most {MAX_BYTES}: {EXTERNAL}"


def path_word(path: PathLike) -> str:
    """The path of a model as the program takes it. Raises `ModelNotFoundError` if it does not exist."""
    text = os.fspath(path)
    if not os.path.exists(text):
        raise ModelNotFoundError(f"{text}: no such file or folder")
    return os.path.join(".", text) if text == "-" else text


def check_words(function: str, question: CheckOptions) -> list[str]:
    """The options of `check` as words. Raises `TypeError` if it has no such option."""
    for name in question:
        if name not in CheckOptions.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    runtime = question.get("runtime")
    runtimes = [runtime] if isinstance(runtime, str) else list(runtime or ())
    words = target_words(
        question.get("opset"), question.get("ir"), question.get("release"), question.get("relabel_only", False)
    )
    words += limit_words(question.get("timeout"), question.get("memory"))
    words += [f"--runtime={name}" for name in runtimes]
    words += ["--probe"] if question.get("probe") else []
    words += ["--shapes"] if question.get("shapes") else []
    return [*words, *question.get("options", ())]


def target_words(opset: Opsets | None, ir: int | None, release: str | None, relabel_only: bool) -> list[str]:
    opsets = [f"{domain}={number}" for domain, number in opset.items()] if isinstance(opset, Mapping) else []
    opsets += [str(opset)] if isinstance(opset, int) else []
    words = [f"--opset={text}" for text in opsets]
    words += [f"--ir={ir}"] if ir is not None else []
    words += [f"--release={release}"] if release is not None else []
    return [*words, "--relabel-only"] if relabel_only else words


def half_words(half: str | None, keep: Sequence[str], half_io: bool) -> list[str]:
    words = [f"--{half}"] if half is not None else []
    words += [f"--keep={name}" for name in keep]
    return [*words, "--half-io"] if half_io else words


def limit_words(timeout: float | None, memory: int | None) -> list[str]:
    words = [f"--timeout={timeout}"] if timeout is not None else []
    return [*words, f"--memory={memory}"] if memory is not None else words
