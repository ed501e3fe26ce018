"""Answers of the program, from its JSON, in which later versions may have more fields, but none removed under the same `format`.

Each answer has all of the JSON as `json`, with what has no field here.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from .errors import ConformanceError

__all__ = [
    "Conversion",
    "Difference",
    "Facts",
    "Finding",
    "Kind",
    "Need",
    "Node",
    "Placed",
    "Report",
    "Runtime",
    "SavedNode",
    "Target",
    "Trace",
    "TracedValue",
    "Value",
    "Verification",
]

Json = Mapping[str, Any]

T = TypeVar("T")


def parsed(cls: type[T], found: Json, /, **given: Any) -> T:
    """An instance whose fields are those that are given, and else those of the JSON. A field with a default may be missing there."""
    for each in fields(cls):  # type: ignore[arg-type]
        if each.name not in given and (each.name in found or each.default is MISSING):
            given[each.name] = found[each.name]
    return cls(**given)


@dataclass(frozen=True)
class Node:
    """A node: its position in its graph, its name, its operator version such as `ai.onnx/Cast-13`, and its first output."""

    index: int
    name: str
    operator: str
    output: str

    @classmethod
    def from_json(cls, json: Json) -> Node:
        return parsed(cls, json)

    def __str__(self) -> str:
        named = f"'{self.name}'" if self.name else f"{self.index} for '{self.output}'" if self.output else str(self.index)
        return f"node {named} ({self.operator[8:] if self.operator.startswith('ai.onnx/') else self.operator})"


@dataclass(frozen=True)
class Value:
    """A value with its type, such as `tensor(float)`, and its shape: sizes, names, formulas such as `2*N`, or `?`."""

    name: str
    type: str | None = None
    shape: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, json: Json) -> Value:
        shape = json.get("shape")
        return parsed(cls, json, shape=None if shape is None else tuple(shape))


@dataclass(frozen=True)
class Finding:
    """A violated rule, or a note.

    `rule` is an id such as `node/type`, `level` is `error`, `warning` or `note`. `node` is the node, if the finding is about one;
    `item` is a value, tensor or attribute. `edit` fixes it, if there is such an edit. `offset` is a byte of the file.
    """

    rule: str
    level: str
    message: str
    node: Node | None = None
    item: str | None = None
    inputs: tuple[Value, ...] = ()
    edit: str | None = None
    offset: int | None = None

    @classmethod
    def from_json(cls, json: Json) -> Finding:
        place = json["place"]
        return parsed(
            cls,
            json,
            node=Node.from_json(place["node"]) if place.get("node") else None,
            item=place.get("item"),
            inputs=tuple(map(Value.from_json, json.get("inputs", ()))),
        )

    def __str__(self) -> str:
        place = ", ".join(str(part) for part in (self.node, self.item) if part)
        text = ": ".join(part for part in (f"{self.level} {self.rule}", place, self.message) if part)
        return f"{text}; {self.edit}" if self.edit else text


@dataclass(frozen=True)
class Need:
    """A feature of a model with the IR version that it needs."""

    ir: int
    what: str

    @classmethod
    def from_json(cls, json: Json) -> Need:
        return parsed(cls, json)


@dataclass(frozen=True)
class Facts:
    """Contents of a model: IR version as declared, the lowest that it may have and why, opsets by domain (`""` is ONNX's own),
    and the number of nodes, of nodes by operator version, of functions and of initializers."""

    ir: int | None
    lowest_ir: int
    because: tuple[Need, ...]
    opsets: Mapping[str, int]
    nodes: int
    operators: Mapping[str, int]
    functions: int
    initializers: int

    @classmethod
    def from_json(cls, json: Json) -> Facts:
        return parsed(
            cls,
            json,
            ir=json["ir"]["declared"],
            lowest_ir=json["ir"]["lowest"],
            because=tuple(map(Need.from_json, json["ir"]["because"])),
        )


@dataclass(frozen=True)
class Placed:
    """A sentence about a place: an edit, or a reason why there is none."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


@dataclass(frozen=True)
class Target:
    """The answer about another opset or IR version: `relabel-only`, `edits` or `cannot`."""

    label: str
    answer: str
    edits: tuple[Placed, ...]
    reasons: tuple[Placed, ...]

    @classmethod
    def from_json(cls, json: Json) -> Target:
        def placed(items: Iterable[tuple[str, str]]) -> tuple[Placed, ...]:
            return tuple(Placed(place, text) for place, text in items)

        return parsed(cls, json, edits=placed(json["edits"]), reasons=placed(json["reasons"]))


@dataclass(frozen=True)
class Kind:
    """Nodes of one operator version with the same types and settings, and how similar cases ended on a runtime.

    `cases` is the number of similar cases, of which `of_these` ended as `verdict` says; `case` is the first of these. `finding` is
    the id of the finding that explains a failure. `ulp` is the largest distance of inexact outputs from the expected ones, in
    representable values.
    """

    kind: str
    settings: str
    nodes: int
    first: str
    verdict: str
    cases: int
    of_these: int
    case: str | None = None
    reason: str | None = None
    finding: str | None = None
    ulp: int | None = None

    @classmethod
    def from_json(cls, json: Json) -> Kind:
        return parsed(cls, json, finding=json["finding"]["id"] if json.get("finding") else None)


@dataclass(frozen=True)
class Graph:
    """A graph in a model that a version of a runtime gets wrong, by the case of the suite that has the same graph.

    `finding` is the id of the finding about it. `inputs` are those with which it fails: `any`, `some`, or `special` for special
    values only. `places` is the number of places in the model, and `nodes` has the nodes of the first one.
    """

    finding: str
    case: str
    outcome: str
    inputs: str
    places: int
    nodes: tuple[str, ...]
    versions: str

    @classmethod
    def from_json(cls, json: Json) -> Graph:
        return parsed(cls, json, finding=json["finding"]["id"], nodes=tuple(json["nodes"]))


@dataclass(frozen=True)
class Runtime:
    """The answer about a version of a runtime, such as `runs` or `will-not-load`, with the nodes by kind, worst first, and with
    the graphs in the model that the version gets wrong."""

    runtime: str
    version: str
    verdict: str
    kinds: tuple[Kind, ...]
    refused: str | None = None
    graphs: tuple[Graph, ...] = ()

    @classmethod
    def from_json(cls, json: Json) -> Runtime:
        return parsed(
            cls,
            json,
            kinds=tuple(map(Kind.from_json, json["kinds"])),
            graphs=tuple(map(Graph.from_json, json.get("graphs", ()))),
        )


@dataclass(frozen=True)
class SavedNode:
    """A node that was to be written as a model, with its file, or with the reason why there is none."""

    node: str
    file: str | None = None
    why: str | None = None

    @classmethod
    def from_json(cls, json: Json) -> SavedNode:
        return parsed(cls, json)


@dataclass(frozen=True)
class Report:
    """Report on a model.

    `status` is `valid`, `findings` (it violates a rule, or the answer to a question is bad), `unreadable` or `failed`. `verdict` is
    the answer in a line. `same_operators` and `unedited` have the first and the last opset of each domain at which every node keeps
    its operator version, and at which no node has to change.
    """

    file: str
    status: str
    verdict: str
    findings: tuple[Finding, ...]
    facts: Facts | None
    same_operators: Mapping[str, tuple[int, int]]
    unedited: Mapping[str, tuple[int, int]]
    target: Target | None
    runtimes: tuple[Runtime, ...]
    values: tuple[Value, ...] | None
    saved: tuple[SavedNode, ...]
    json: Json = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, json: Json) -> Report:
        values = json.get("values")
        return parsed(
            cls,
            json,
            findings=tuple(map(Finding.from_json, json["findings"])),
            facts=Facts.from_json(json["facts"]) if json.get("facts") else None,
            same_operators=ranges(json.get("same_operators", {})),
            unedited=ranges(json.get("unedited", {})),
            target=Target.from_json(json["target"]) if json.get("target") else None,
            runtimes=tuple(map(Runtime.from_json, json.get("runtimes", ()))),
            values=None if values is None else tuple(map(Value.from_json, values)),
            saved=tuple(map(SavedNode.from_json, json.get("saved", ()))),
            json=json,
        )

    @property
    def is_valid(self) -> bool:
        """True if the model violates no rule of the standard."""
        return self.facts is not None and not self.errors

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The violated rules."""
        return tuple(finding for finding in self.findings if finding.level == "error")

    def __str__(self) -> str:
        return "\n  ".join([f"{self.file}: {self.verdict}", *map(str, self.findings)])


def ranges(json: Mapping[str, list[int]]) -> dict[str, tuple[int, int]]:
    return {domain: (first, last) for domain, (first, last) in json.items()}


@dataclass(frozen=True)
class Verification:
    """Comparison of the outputs of a model and of the converted one. `verified` is true if they were compared and are the same."""

    verified: bool
    text: str

    @classmethod
    def from_json(cls, json: Json) -> Verification:
        return parsed(cls, json)


@dataclass(frozen=True)
class Conversion:
    """A converted model, with its edits and their verification.

    `path` is the file that was written, if one was asked for. `model` has the bytes in any case: `onnx.load_from_string` reads
    them.
    """

    file: str
    summary: str
    edits: tuple[Placed, ...]
    verification: Verification
    path: Path | None
    json: Json = field(repr=False, compare=False)
    _bytes: bytes | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls, json: Json, path: Path | None, model: bytes | None) -> Conversion:
        return parsed(
            cls,
            json,
            edits=placed(json["edits"]),
            verification=Verification.from_json(json["verification"]),
            path=path,
            json=json,
            _bytes=model,
        )

    @property
    def verified(self) -> bool:
        """True if the outputs of both models were compared and are the same."""
        return self.verification.verified

    @property
    def model(self) -> bytes:
        """The bytes of the converted model."""
        if self._bytes is not None:
            return self._bytes
        if self.path is None:
            raise ConformanceError(f"{self.file}: the converted model was not kept")
        return self.path.read_bytes()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the converted model to a file: the whole of it, or nothing.

        Raises `FileExistsError` if there is such a file, unless it is to be replaced.
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise FileExistsError(f"{target} already exists; choose another file, or pass overwrite=True")
        model = self.model
        with tempfile.TemporaryDirectory(prefix=".onnx-conformance-", dir=target.parent) as folder:
            whole = Path(folder) / target.name
            whole.write_bytes(model)
            os.replace(whole, target)

    def __str__(self) -> str:
        return "\n  ".join([f"{self.file}: {self.summary}", *map(str, self.edits), self.verification.text])


@dataclass(frozen=True)
class TracedValue:
    """A value of a run: its type, such as `tensor(float)`, the sizes of a tensor, and the value with its first elements as text."""

    name: str
    type: str
    text: str
    shape: tuple[int, ...] | None = None

    @classmethod
    def from_json(cls, json: Json) -> TracedValue:
        shape = json.get("shape")
        return parsed(cls, json, shape=None if shape is None else tuple(shape))

    def __str__(self) -> str:
        return f"{self.name} = {self.text}"


@dataclass(frozen=True)
class Difference:
    """The nodes that a runtime computes differently.

    `fault` is `node` if the node alone differs, `grows` if it is beyond the bound of its operator and the difference shows behind
    `shows_behind` nodes, and `graph` if the nodes only differ together; `cause` says it in a sentence. `text` is the difference, or
    the message of the runtime. `actual` is `None` if the runtime gave no outputs.
    """

    fault: str
    cause: str
    text: str
    nodes: tuple[Node, ...]
    inputs: tuple[TracedValue, ...]
    expected: tuple[TracedValue, ...]
    actual: tuple[TracedValue, ...] | None = None
    shows_behind: int | None = None

    @classmethod
    def from_json(cls, json: Json) -> Difference:
        def values(items: Iterable[Json]) -> tuple[TracedValue, ...]:
            return tuple(map(TracedValue.from_json, items))

        return parsed(
            cls,
            json,
            nodes=tuple(map(Node.from_json, json["nodes"])),
            inputs=values(json["inputs"]),
            expected=values(json["expected"]),
            actual=values(json["actual"]) if "actual" in json else None,
        )


@dataclass(frozen=True)
class Trace:
    """A search for the first nodes that a runtime computes differently.

    `status` is `same`, `found` (then `difference` has the nodes), `every-model` (the runtime fails on any model with these opsets
    and this IR version) or `only-whole` (only the whole file differs). `whole` is the end of the whole model if it is not the same.
    `random` are the nodes with random outputs, of which only types and shapes were compared. `path` is the written case folder.
    """

    file: str
    status: str
    summary: str
    runtime: str
    reference: str
    inputs: str
    nodes: int
    random: tuple[Node, ...]
    path: Path | None
    json: Json = field(repr=False, compare=False)
    whole: str | None = None
    difference: Difference | None = None

    @classmethod
    def from_json(cls, json: Json) -> Trace:
        return parsed(
            cls,
            json,
            random=tuple(map(Node.from_json, json["random"])),
            path=Path(json["written"]) if "written" in json else None,
            json=json,
            difference=Difference.from_json(json["difference"]) if "difference" in json else None,
        )

    @property
    def is_same(self) -> bool:
        """True if all outputs agree."""
        return self.status == "same"

    def __str__(self) -> str:
        lines = [f"{self.file}: {self.summary}"]
        if self.difference:
            values = [("input", self.difference.inputs), ("expected", self.difference.expected), ("actual", self.difference.actual)]
            lines += [self.difference.cause, *(f"{kind} {value}" for kind, all in values for value in all or ())]
        return "\n  ".join(lines)


def placed(json: Iterable[Json]) -> tuple[Placed, ...]:
    """Edits or reasons of `convert`."""
    return tuple(Placed(item["place"], item["text"]) for item in json)
