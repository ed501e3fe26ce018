"""The fields of the package beside `docs/schema`, which the task that runs this copies next to it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from onnx_conformance import (
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

SCHEMAS = Path(__file__).parent / "schema"


def schema(name: str, *path: str) -> Any:
    found = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    for step in path:
        found = found[step]
    return found


RUNTIME = ("$defs", "model", "properties", "runtimes", "items")


@pytest.mark.parametrize(
    ("fields", "name", "path", "own"),
    [
        (Node, "check", ("$defs", "node"), ()),
        (Value, "check", ("$defs", "value"), ()),
        (Need, "check", ("$defs", "need"), ()),
        (Finding, "check", ("$defs", "finding"), ("node", "item")),
        (Facts, "check", ("$defs", "model", "properties", "facts"), ("lowest_ir", "because")),
        (Target, "check", ("$defs", "model", "properties", "target"), ()),
        (SavedNode, "check", ("$defs", "model", "properties", "saved", "items"), ()),
        (Runtime, "check", RUNTIME, ()),
        (Kind, "check", (*RUNTIME, "properties", "kinds", "items"), ()),
        (Graph, "check", (*RUNTIME, "properties", "graphs", "items"), ()),
        (Report, "check", ("$defs", "model"), ("json",)),
        (Conversion, "convert", (), ("json", "path", "_bytes")),
        (Placed, "convert", ("$defs", "placed"), ()),
        (Verification, "convert", ("properties", "verification"), ()),
        (Trace, "trace", (), ("json", "path")),
        (Difference, "trace", ("properties", "difference"), ()),
        (TracedValue, "trace", ("$defs", "value"), ()),
        (Node, "trace", ("$defs", "node"), ()),
    ],
)
def test_a_field_is_in_the_schema(fields: Any, name: str, path: tuple[str, ...], own: tuple[str, ...]) -> None:
    properties = schema(name, *path)["properties"]
    unknown = [field.name for field in dataclasses.fields(fields) if field.name not in properties and field.name not in own]
    assert not unknown
    assert all(word not in properties for word in own), "a word of the package's own means something else in the JSON"
