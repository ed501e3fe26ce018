"""What a runtime does not have, in the words of the protocol: which node a message is about, and which operator version that is.

`what` of an answer `unsupported` is the same for every case that needs the same (docs/protocol.md, "run"). A message of a runtime
seldom says the operator version, but mostly the operator; the model says the rest.
"""

import contextlib
import re

import onnx

from .protocol import LoadError, Unsupported


def model_of(path):
    """The model of a file without its external data, or nothing where the file holds none."""
    try:
        return onnx.load(path, load_external_data=False)
    except Exception:
        return None


def walk(graph):
    """The nodes of a graph and of the graphs in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from walk(inner)


def blamed_node(model, said):
    """The node that a message is about: the first whose operator it names, else the only one, else nothing."""
    nodes = list(walk(model.graph))
    named = next((node for node in nodes if re.search(rf"\b{re.escape(node.op_type)}\b", said)), None)
    return named or (nodes[0] if len(nodes) == 1 else None)


def imported(model, domain):
    """The opset of a domain that a model imports, or 0."""
    domain = domain or "ai.onnx"
    return next((entry.version for entry in model.opset_import if (entry.domain or "ai.onnx") == domain), 0)


def schema_named(domain, operator, opset):
    """The schema of an operator at an opset; nothing for what ONNX does not define, as far as the installed package knows."""
    try:
        return onnx.defs.get_schema(operator, opset, "" if domain == "ai.onnx" else domain)
    except Exception:
        return None


def schema_of(model, node):
    """The schema of the operator version that a node calls; nothing for what is no operator of ONNX."""
    return schema_named(node.domain, node.op_type, imported(model, node.domain))


def version_of_schema(schema):
    """`ai.onnx/Abs-13`."""
    return f"{schema.domain or 'ai.onnx'}/{schema.name}-{schema.since_version}"


def operator_version(model, node):
    """The operator version that a node calls, `ai.onnx/Abs-13`; nothing for what is no operator of ONNX."""
    schema = schema_of(model, node)
    return version_of_schema(schema) if schema else None


def without_words(text, part):
    """The text with dots in place of each word that has the part, in time in proportion to its length: a hostile name has a megabyte."""
    return re.sub(r"\S+", lambda word: "..." if part in word[0] else word[0], text)


def stable(error):
    """The message of an exception without what differs from run to run: the path of the model, and addresses."""
    said = without_words(str(error), "/onnx-conformance-")
    return re.sub(r"0x[0-9a-f]+", "0x", said)


def masked(error, path):
    """The message of an exception with `model.onnx` for the path of the model, and otherwise as `stable` gives it."""
    return stable(str(error).replace(str(path), "model.onnx"))


def what_of(path, ports, said, patterns, types=None):
    """The missing feature that a message names, in a form of docs/protocol.md; nothing if it names none that the model needs.

    Each pattern is a regular expression with one group, whose name is the kind of the feature:

        operator    an operator by its name, in all versions: r"no layer of type (?P<operator>\\w+)"
        version     the same, in the version that the model calls
        attribute   an attribute of the node that the message is about
        input       an input that must be a constant: the name of the value, or its position in the node that the message is about
        type        an element type: r"unsupported datatype '(?P<type>\\w+)'"
        type_in     the same, in the operator version of the node that the message is about
        unlisted    words with the element types that are supported there: r"Assertion failed\\) (?P<unlisted>.* == CV_.*)". The missing
                    type is the only one of the node's inputs and outputs that is none of them, nor float, nor the only type of its
                    formal input or output, as the int64 of axes

    Element types are in ONNX's spelling, in any case, or ONNX's numbers, or words that `types` translates: {"CV_32F": "float"}.
    The first pattern that names a feature of the model decides.
    """
    model = model_of(path)
    if model is None:
        return None
    needed = Needed(model, ports, said, types or {})
    found = (match for pattern in patterns for match in re.finditer(pattern, said))
    return next(filter(None, (getattr(needed, match.lastgroup)(match[match.lastgroup]) for match in found)), None)


@contextlib.contextmanager
def answered(kind, path, ports, patterns, types=None, short=str):
    """Turns an exception in the block into an answer: `Unsupported` if its message names a missing feature, as `what_of` finds it, else
    `kind`, which is `LoadError` or `RuntimeError`.

    `short` shortens the message. The path of the model is `model.onnx` in it.
    """
    try:
        yield
    except (LoadError, Unsupported):
        raise
    except Exception as error:
        said = masked(error, path)
        what = what_of(path, ports, said, patterns, types)
        raise (Unsupported(what, short(said)) if what else kind(short(said))) from error


class Needed:
    """The features that a model needs. Each kind of feature has a function from a name in a message to `what`, or to nothing."""

    def __init__(self, model, ports, said, types):
        self.model, self.types = model, types
        self.nodes = list(walk(model.graph))
        self.node = blamed_node(model, said)
        self.values = {value.name: f"tensor({element_name(value.data_type)})" for value in model.graph.initializer}
        self.values.update((port.name, port.type) for port in ports)

    def version_of(self, node):
        return operator_version(self.model, node) if node is not None else None

    def version(self, name):
        node = next((node for node in self.nodes if name in (node.op_type, f"{node.domain}.{node.op_type}")), None)
        version = self.version_of(node)
        return f"operator {version}" if version else None

    def operator(self, name):
        what = self.version(name)
        return what.rsplit("-", 1)[0] if what else None

    def attribute(self, name):
        version = self.version_of(self.node)
        return f"attribute {name} of {version}" if version and name in [each.name for each in self.node.attribute] else None

    def input(self, name):
        node, position = self.node, int(name) if name.isdigit() else 0
        if not name.isdigit():
            node = next((node for node in self.nodes if name in node.input), None)
            position = list(node.input).index(name) if node is not None else 0
        schema = schema_of(self.model, node) if node is not None else None
        if schema is None or not schema.inputs or position >= len(node.input) or node.input[position] in {"", *constants(self.model)}:
            return None
        return f"computed input {schema.inputs[min(position, len(schema.inputs) - 1)].name} of {version_of_schema(schema)}"

    def type(self, name):
        name = element_name(int(name)) if name.isdigit() else self.types.get(name, name.lower())
        return f"tensor({name})" if any(f"tensor({name})" in each for each in self.values.values()) else None

    def type_in(self, name):
        what, version = self.type(name), self.version_of(self.node)
        return f"{what} in {version}" if what and version else None

    def unlisted(self, words):
        schema = schema_of(self.model, self.node) if self.node is not None else None
        if schema is None:
            return None
        supported = {f"tensor({self.types[word]})" for word in re.findall(r"\w+", words) if word in self.types} | {"tensor(float)"}
        missing = set()
        for formals, names in ((schema.inputs, self.node.input), (schema.outputs, self.node.output)):
            for position, name in enumerate(names):
                if name and formals and len(formals[min(position, len(formals) - 1)].types) > 1:
                    missing.add(self.values.get(name, "unknown"))
        missing -= supported
        return self.type_in(missing.pop()[len("tensor(") : -1]) if len(missing) == 1 else None


def element_name(number):
    """The element type of ONNX's number, as types spell it; the number where the installed package knows none."""
    names = onnx.TensorProto.DataType
    return names.Name(number).lower() if number in names.values() else str(number)


def constants(model):
    """The names of the values that are constant: initializers, and the outputs of Constant nodes."""
    made = [name for node in walk(model.graph) if node.op_type == "Constant" for name in node.output]
    return {value.name for value in model.graph.initializer}.union(made)


def type_in_reader(path, port):
    """`tensor(int64) in ai.onnx/Add-14`: the type of a graph input in the operator version that reads it first; nothing without one."""
    model = model_of(path)
    reader = next((node for node in walk(model.graph) if port.name in node.input), None) if model else None
    version = operator_version(model, reader) if reader is not None else None
    return f"{port.type} in {version}" if version else None
