"""Prints names, numbers, types and texts of every operator schema of the installed onnx package as JSON."""

import hashlib
import json
import pathlib
import sys

import onnx
import onnx.defs
import onnx.helper

# Domains that VERSION_TABLE leaves out, by the first release whose domain map has them (at version 1 ever since).
UNTABLED_DOMAINS = {"ai.onnx.preview.training": "1.7.0", "ai.onnx.preview": "1.22.0"}

# Releases that VERSION_TABLE leaves out, by a listed one that knows the same, as their packages' headers say.
# 1.0.1 and 1.1.1 are on no list and have no package to ask.
UNTABLED_RELEASES = {
    "1.2.1": "1.2",
    "1.2.2": "1.2",
    "1.2.3": "1.2",
    "1.4.0": "1.4.1",
    "1.23.1": "1.23.0",
    "1.23.2": "1.23.0",
}


def main():
    schemas = [schema(s) for s in onnx.defs.get_all_schemas_with_history()]
    texts = {name(s): standard_text(s) for s in onnx.defs.get_all_schemas_with_history()}
    dump = {"onnx": onnx.__version__, "schemas": schemas, "table": table(), "own": own(), "texts": texts}
    dump["proto"] = pathlib.Path(onnx.__file__).with_name("onnx.in.proto").read_text()
    json.dump(dump, sys.stdout)


def name(s):
    return f"{s.domain or 'ai.onnx'}/{s.name}-{s.since_version}"


def standard_text(s):
    """How many lines the text of a schema has, and their digest: its description, and those of attributes, inputs, outputs."""
    named = [*s.attributes.values(), *s.inputs, *s.outputs]
    parts = [s.doc, *(f"{part.name}: {part.description}" for part in named)]
    lines = [line.strip() for part in parts for line in part.splitlines()]
    lines = [line for line in lines if line]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
    return {"lines": len(lines), "digest": digest}


def schema(s):
    """One schema with the keys and the omissions of a version file."""
    fields = {"op": s.name, "domain": s.domain or "ai.onnx", "since": s.since_version}
    if s.deprecated:
        fields["deprecated"] = True
    if s.support_level == onnx.defs.OpSchema.SupportType.EXPERIMENTAL:
        fields["experimental"] = True
    if s.has_function:
        fields["function"] = "body"
    elif s.has_context_dependent_function:
        fields["function"] = "context"
    fields["shape_inference"] = s.has_type_and_shape_inference_function
    fields["attributes"] = {a.name: attribute(a) for a in s.attributes.values()}
    fields["inputs"] = [formal(p) for p in s.inputs]
    fields["outputs"] = [formal(p) for p in s.outputs]
    fields["types"] = {c.type_param_str: sorted(c.allowed_type_strs) for c in s.type_constraints}
    return fields


def attribute(a):
    fields = {"type": a.type.name.lower(), "required": a.required}
    if a.default_value.type != onnx.AttributeProto.UNDEFINED:
        fields["default"] = text(onnx.helper.get_attribute_value(a.default_value))
    return fields


def text(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [text(v) for v in value]
    return value


def formal(p):
    fields = {"name": p.name, "type": p.type_str}
    option = p.option.name.lower()
    if option != "single":
        fields["option"] = option
    if option == "variadic":
        fields["min"] = p.min_arity
        fields["heterogeneous"] = not p.is_homogeneous
    return fields


def table():
    rows = {row[0]: row for row in onnx.helper.VERSION_TABLE}
    for name, same in UNTABLED_RELEASES.items():
        rows.setdefault(name, (name, *rows[same][1:]))
    return [release(rows[name]) for name in sorted(rows, key=number)]


def own():
    """The IR version and the opsets of this package."""
    known = {domain or "ai.onnx": newest for domain, (_, newest) in onnx.defs.C.schema_version_map().items()}
    return {"onnx": onnx.__version__, "ir": onnx.IR_VERSION, "opsets": known}


def number(name):
    return [int(part) for part in name.split(".")]


def release(row):
    name, ir, *opsets = row
    opsets = dict(zip(["ai.onnx", "ai.onnx.ml", "ai.onnx.training"], opsets))
    for domain, first in UNTABLED_DOMAINS.items():
        if number(name) >= number(first):
            opsets[domain] = 1
    return {"onnx": name, "ir": ir, "opsets": opsets}


main()
