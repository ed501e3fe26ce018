"""The operators of a graph, for the answer to `optimize`: how many nodes call each."""

from collections import Counter

# How deep functions and subgraphs are counted. Functions that call each other have no end.
DEPTH = 32


def operators(model):
    """The nodes of a model by operator, `{"ai.onnx/Transpose": 2}`, as docs/protocol.md says.

    Nodes of subgraphs count. A node that calls a function of the model counts as the nodes of the function. Constant nodes do not count.
    """
    functions = {(canonical(function.domain), function.name): function for function in model.functions}
    counts = Counter()
    count(model.graph.node, functions, DEPTH, counts)
    return dict(sorted(counts.items()))


def count(nodes, functions, depth, counts):
    if depth == 0:
        return
    for node in nodes:
        domain = canonical(node.domain)
        if function := functions.get((domain, node.op_type)):
            count(function.node, functions, depth - 1, counts)
        elif (domain, node.op_type) != ("ai.onnx", "Constant"):
            counts[f"{domain}/{node.op_type}"] += 1
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                count(graph.node, functions, depth - 1, counts)


def canonical(domain):
    return domain or "ai.onnx"
