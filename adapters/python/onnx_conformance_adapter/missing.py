"""What a runtime does not have, in the words of the protocol: which node a message is about, and which operator version that is.

`what` of an answer `unsupported` is the same for every case that needs the same (docs/protocol.md, "run"). A message of a runtime
seldom says the operator version, but mostly the operator; the model says the rest.
"""

import re

import onnx


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
