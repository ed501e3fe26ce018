"""onnx.reference, the evaluator in the onnx package, behind the protocol of docs/protocol.md."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnx
from onnx.reference import ReferenceEvaluator
from onnx_adapter import LoadError, Unsupported, serve
from onnx_values import from_python, item_type, parse, scalar, to_python, walk

# How the evaluator's tables of operators say that they have none of an operator or version. They do so by RuntimeError and
# ValueError, too, and not by NotImplementedError alone.
NO_IMPLEMENTATION = re.compile(
    r"(?:No(?: default| registered)?|Not registered) implementation for operator '(?P<operator>\w+)',?(?: and)?"
    r" domain '(?P<domain>[\w.]*)'(?:,? and (?:version )?(?P<opset>\d+))?"
)


def run(path, inputs, outputs):
    try:
        model = onnx.load(path)
        session = ReferenceEvaluator(model)
    except Exception as error:
        raise lack(error, path) or LoadError(str(error)) from error
    feed = {port.name: fed(port) for port in inputs}
    try:
        results = session.run([port.name for port in outputs] or None, feed)
    except Exception as error:
        raise lack(error, path) or error
    for port, result in zip(outputs, results):
        port.write(from_python(unwrapped(result, port.type), port.type, port.name).SerializeToString())


def fed(port):
    """The value of an input. The values of a map are numpy's, which keep their type, where Python's own float is a double."""
    value = to_python(parse(port.read(), port.type), port.type)
    if not port.type.startswith("map("):
        return value
    return {key: scalar(item, item_type(port.type))[()] for key, item in value.items()}


def unwrapped(value, type_text):
    """What an optional holds, or None.

    The evaluator has no type for optionals. Its operator Optional gives a list of the one element, or of None; all other
    operators take and give the element itself, or None. Which it is can be seen: the element is an array or a list of arrays,
    as the type says, and None is neither.
    """
    if not type_text.startswith("optional(") or not isinstance(value, list) or len(value) != 1:
        return value
    holds_sequence = item_type(type_text).startswith("seq(")
    return value[0] if value[0] is None or isinstance(value[0], list) == holds_sequence else value


def lack(error, path):
    """What the evaluator lacks, under the operator version; nothing for an error of another kind."""
    said = str(error)
    named = NO_IMPLEMENTATION.search(said)
    if not named and not isinstance(error, NotImplementedError):
        return None
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception:
        return None
    if named:
        operator, domain = named["operator"], named["domain"]
        opset = int(named["opset"] or imported(model, domain))
    else:
        node = blamed(model.graph, said)
        if node is None:
            return None
        operator, domain, opset = node.op_type, node.domain, imported(model, node.domain)
    try:
        schema = onnx.defs.get_schema(operator, opset, "" if domain == "ai.onnx" else domain)
    except Exception:
        return None
    version = f"{domain or 'ai.onnx'}/{operator}-{schema.since_version}"
    # An implementation that there is lacks a value of an attribute: `post_transform='PROBIT' not implemented`.
    attribute = None if named else next((name for name in schema.attributes if re.search(rf"\b{name} ?[=:]", said)), None)
    return Unsupported(f"attribute {attribute} of {version}" if attribute else f"operator {version}", said)


def blamed(graph, said):
    """The node that an implementation's message is about: the one whose operator it names, else an attribute, else the only one."""
    nodes = list(walk(graph))
    operators = [node for node in nodes if re.search(rf"\b{re.escape(node.op_type)}\b", said)]
    attributes = [node for node in nodes if any(re.search(rf"\b{each.name} ?[=:]", said) for each in node.attribute)]
    return next(iter(operators + attributes), nodes[0] if len(nodes) == 1 else None)


def imported(model, domain):
    """The opset of a domain that a model imports."""
    return next((entry.version for entry in model.opset_import if (entry.domain or "ai.onnx") == (domain or "ai.onnx")), 0)


if __name__ == "__main__":
    serve(
        {
            "name": "onnx-reference",
            "version": onnx.__version__,
            "language": "Python",
            "issues": "https://github.com/onnx/onnx/issues",
        },
        run,
    )
