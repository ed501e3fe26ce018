"""onnx.reference, the evaluator in the onnx package, behind the protocol of docs/protocol.md."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnx
from custom_types import to_array, to_message
from onnx import OptionalProto, SequenceProto, TensorProto
from onnx.reference import ReferenceEvaluator
from onnx_conformance_adapter import LoadError, Unsupported, model_of, serve, walk
from onnx_conformance_adapter.missing import imported, schema_named, version_of_schema
from onnx_conformance_adapter.values import from_python, item_type, optional_item, parse, scalar, sequence_items, to_python

# How the evaluator's tables of operators say that they have none of an operator or version. They do so by RuntimeError and
# ValueError, too, and not by NotImplementedError alone.
NO_IMPLEMENTATION = re.compile(
    r"(?:No(?: default| registered)?|Not registered) (?:implementation|schema) for operator '(?P<operator>\w+)',?(?: and)?"
    r" domain '(?P<domain>[\w.]*)'(?:,? and (?:version )?(?P<opset>\d+))?"
)


def run(path, inputs, outputs):
    try:
        model = onnx.load(path)
        session = ReferenceEvaluator(model)
    except Exception as error:
        raise missing_feature(error, path) or LoadError(str(error)) from error
    if strange := unknown(inputs):
        raise Unsupported(strange, f"onnx {onnx.__version__} has no {strange}")
    feed = {port.name: fed(port) for port in inputs}
    try:
        results = session.run([port.name for port in outputs] or None, feed)
    except Exception as error:
        raise missing_feature(error, path) or error
    for port, result in zip(outputs, results):
        value = written(unwrapped(result, port.type), port.name)
        port.write(from_python(value, port.type, port.name).SerializeToString())


def unknown(ports):
    """The first element type that this release does not have."""
    elements = (element for port in ports for element in re.findall(r"\btensor\((\w+)\)", port.type))
    return next((f"tensor({element})" for element in elements if element.upper() not in TensorProto.DataType.keys()), None)


def written(value, name=""):
    """A value whose tensors of types that numpy does not have are messages, where the package has such types of its own."""
    if isinstance(value, list):
        return [written(item) for item in value]
    message = to_message(value, name)
    return value if message is None else message


def fed(port):
    """The value of an input. The values of a map are numpy's, which keep their type, where Python's own float is a double."""
    value = python_value(parse(port.read(), port.type), port.type)
    if not port.type.startswith("map("):
        return value
    return {key: scalar(item, item_type(port.type))[()] for key, item in value.items()}


def python_value(message, type_text):
    """The value of a message, with tensors of types that numpy does not have as the package has them."""
    if isinstance(message, TensorProto):
        array = to_array(message)
        return to_python(message, type_text) if array is None else array
    if isinstance(message, SequenceProto):
        return [python_value(item, item_type(type_text)) for item in sequence_items(message)]
    if isinstance(message, OptionalProto) and message.elem_type:
        return python_value(optional_item(message), item_type(type_text))
    return to_python(message, type_text)


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


def missing_feature(error, path):
    """What the evaluator does not have, under the operator version; nothing for an error of another kind."""
    said = str(error)
    named = NO_IMPLEMENTATION.search(said)
    if not named and not isinstance(error, NotImplementedError):
        return None
    model = model_of(path)
    if model is None:
        return None
    if named:
        operator, domain = named["operator"], named["domain"]
        opset = int(named["opset"] or imported(model, domain))
    else:
        node = blamed(model.graph, said)
        if node is None:
            return None
        operator, domain, opset = node.op_type, node.domain, imported(model, node.domain)
    schema = schema_named(domain, operator, opset)
    if schema is None:
        # The release has no version of the operator, by which another could be told.
        return Unsupported(f"operator {domain or 'ai.onnx'}/{operator}", said) if "schema" in said else None
    version = version_of_schema(schema)
    # An implementation that there is has no value of an attribute: `post_transform='PROBIT' not implemented`.
    attribute = None if named else next((name for name in schema.attributes if re.search(rf"\b{name} ?[=:]", said)), None)
    return Unsupported(f"attribute {attribute} of {version}" if attribute else f"operator {version}", said)


def blamed(graph, said):
    """The node that an implementation's message is about: the one whose operator it names, else an attribute, else the only one."""
    nodes = list(walk(graph))
    operators = [node for node in nodes if re.search(rf"\b{re.escape(node.op_type)}\b", said)]
    attributes = [node for node in nodes if any(re.search(rf"\b{each.name} ?[=:]", said) for each in node.attribute)]
    return next(iter(operators + attributes), nodes[0] if len(nodes) == 1 else None)


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
