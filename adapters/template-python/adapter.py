"""A first adapter: copy this file and write `run` for your runtime. docs/protocol.md says what each message means.

    onnx-conformance run --smoke --runtime "python3 adapter.py"
    onnx-conformance run --runtime "python3 adapter.py" 'onnx-1.23.2/node/test_add*'
"""

import json
import os
import sys

RUNTIME = {"name": "my-runtime", "version": "0.1", "language": "Python"}


class Unsupported(Exception):
    """Raise it for what the runtime does not have. `what` is the same for all cases that need it."""

    def __init__(self, what, message):
        super().__init__(message)
        self.what = what


class LoadError(Exception):
    """Raise it for a model that the runtime refuses before it runs."""


def run(model_path, inputs, outputs):
    """Runs a model.

    `inputs` and `outputs` are lists of dictionaries with `name`, `type` and `path`. An input file holds a `TensorProto` for
    `tensor(...)`, a `SequenceProto` for `seq(...)`, an `OptionalProto` for `optional(...)`, a `MapProto` for `map(...)`;
    each output goes to its path in the same form. Return when they are written.
    """
    raise Unsupported("operator of any kind", "this template runs nothing yet")


def main():
    # What libraries print to standard output would break the protocol, so it goes to standard error.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)

    def answer(message):
        out.write(json.dumps(message) + "\n")
        out.flush()

    for line in sys.stdin:
        request = json.loads(line)
        if request["cmd"] == "start":
            answer({"runtime": RUNTIME})
        elif request["cmd"] == "stop":
            return
        else:
            seq = request["seq"]
            try:
                run(request["model"], request["inputs"], request["outputs"])
                answer({"seq": seq, "ok": True})
            except Unsupported as error:
                answer({"seq": seq, "unsupported": {"what": error.what, "message": str(error)}})
            except LoadError as error:
                answer({"seq": seq, "error": {"phase": "load", "message": str(error) or "no message"}})
            except Exception as error:
                answer({"seq": seq, "error": {"phase": "run", "message": str(error) or type(error).__name__}})


if __name__ == "__main__":
    main()
