import sys

# Without the current folder, whose files are no packages of anybody's choice.
sys.path[:] = [folder for folder in sys.path if folder]

import json

import onnx.defs

texts = {}
for schema in onnx.defs.get_all_schemas_with_history():
    lines = (schema.doc or "").strip("\n").splitlines()
    for title, parts in [("Attributes", schema.attributes.values()), ("Inputs", schema.inputs), ("Outputs", schema.outputs)]:
        described = [(part.name, part.description) for part in parts]
        if described:
            lines += ["", title]
        for name, description in described:
            head, *rest = (description or "").strip().splitlines() or [""]
            lines += [f"{name}: {head}", *rest]
    domain = schema.domain or "ai.onnx"
    texts[f"{domain}/{schema.name}-{schema.since_version}"] = [line.rstrip() for line in lines]
print(json.dumps(texts))
