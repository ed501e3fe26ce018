"""onnx.reference, the evaluator in the onnx package, behind the protocol of docs/protocol.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import onnx
from onnx.reference import ReferenceEvaluator
from onnx_adapter import LoadError, Unsupported, serve
from onnx_values import from_python, parse, to_python


def run(path, inputs, outputs):
    try:
        model = onnx.load(path)
        session = ReferenceEvaluator(model)
    except NotImplementedError as error:
        raise Unsupported(lack(error, path), str(error)) from error
    except Exception as error:
        if "OpRunImplementationError" in type(error).__name__ or "RuntimeImplementationError" in type(error).__name__:
            raise Unsupported(lack(error, path), str(error)) from error
        raise LoadError(str(error)) from error
    feed = {port.name: to_python(parse(port.read(), port.type), port.type) for port in inputs}
    try:
        results = session.run([port.name for port in outputs] or None, feed)
    except NotImplementedError as error:
        raise Unsupported(lack(error, path), str(error)) from error
    for port, result in zip(outputs, results):
        port.write(from_python(result, port.type, port.name).SerializeToString())


def lack(error, path):
    """What is missing: the operator version of the model's first node, as the evaluator knows no less."""
    model = onnx.load(path, load_external_data=False)
    node = model.graph.node[0]
    domain = node.domain or "ai.onnx"
    opset = next((entry.version for entry in model.opset_import if (entry.domain or "ai.onnx") == domain), 0)
    since = onnx.defs.get_schema(node.op_type, opset, node.domain).since_version
    return f"operator {domain}/{node.op_type}-{since}"


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
