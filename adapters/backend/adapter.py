"""Any Python backend that follows `onnx.backend.base.Backend`, named as MODULE or MODULE:CLASS on the command line."""

import importlib
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnx
from onnx.backend.base import Backend
from onnx_conformance_adapter import LoadError, Unsupported, operator_version, serve, walk
from onnx_conformance_adapter.values import from_python, parse, to_python

# The names of exceptions by which backends say that they do not have something, as `NotImplemented` of onnxruntime.backend.
LACKS = re.compile(r"not_?(?:yet_?)?(?:implemented|supported)|unsupported", re.IGNORECASE)


def backend(name):
    """The backend of that name: a class or module with `prepare`."""
    module_name, _, attribute = name.partition(":")
    module = importlib.import_module(module_name)
    found = getattr(module, attribute) if attribute else module
    if not hasattr(found, "prepare"):
        candidates = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Backend)]
        candidates = [value for value in candidates if value is not Backend]
        if len(candidates) != 1:
            sys.exit(f"{name} has no `prepare`; name the class, as in {module_name}:MyBackend")
        found = candidates[0]
    return module, found


def is_unsupported(error):
    """Whether an exception says that something is missing, as against that it failed.

    It does so by its type: upstream's `BackendIsNotSupposedToImplementIt` is a `SkipTest`, and what is Python's own
    `NotImplementedError`, or has a name that says as much, says the same.
    """
    return isinstance(error, (unittest.SkipTest, NotImplementedError)) or LACKS.search(type(error).__name__) is not None


def missing(model, said):
    """What is missing: the operator version of the node whose operator the message names, else of the first node."""
    nodes = list(walk(model.graph))
    node = next((node for node in nodes if re.search(rf"\b{re.escape(node.op_type)}\b", said)), nodes[0] if nodes else None)
    if node is None:
        newest = max(model.opset_import, key=lambda entry: entry.version)
        return f"opset {newest.version} of {newest.domain or 'ai.onnx'}"
    named = f"{node.domain or 'ai.onnx'}/{node.op_type}"
    return f"operator {operator_version(model, node) or named}"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: adapter.py MODULE[:CLASS]")
    name = sys.argv[1]
    module, found = backend(name)

    def run(path, inputs, outputs):
        try:
            model = onnx.load(path)
        except Exception as error:
            raise LoadError(str(error)) from error
        try:
            if hasattr(found, "is_compatible") and not found.is_compatible(model, device="CPU"):
                raise Unsupported(missing(model, ""), "is_compatible says no")
            prepared = found.prepare(model, device="CPU")
        except Unsupported:
            raise
        except Exception as error:
            raise declined(model, error) or LoadError(said(error)) from error
        values = [to_python(parse(port.read(), port.type), port.type) for port in inputs]
        try:
            results = prepared.run(values)
        except Exception as error:
            raise declined(model, error) or error
        names = [info.name for info in model.graph.output]
        for port in outputs:
            port.write(from_python(results[names.index(port.name)], port.type, port.name).SerializeToString())

    version = getattr(importlib.import_module(module.__name__.split(".")[0]), "__version__", "unknown")
    serve({"name": name.replace(":", "."), "version": str(version), "language": "Python"}, run)


def declined(model, error):
    return Unsupported(missing(model, str(error)), said(error)) if is_unsupported(error) else None


def said(error):
    return str(error) or type(error).__name__


if __name__ == "__main__":
    main()
