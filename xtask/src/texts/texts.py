"""Prints the texts and function bodies of every operator schema of an onnx package as JSON.

Run by `cargo xtask import-specs`: its one argument is a wheel, of which it loads the extension module alone, so that no other
package is needed. Without an argument it reads the installed package. It runs on Python 3.6, for which the oldest wheels were built.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile
import zipfile

EXTENSION = "onnx_cpp2py_export"


def main():
    if len(sys.argv) == 1:
        from onnx import onnx_cpp2py_export

        return dump(onnx_cpp2py_export)
    with tempfile.TemporaryDirectory() as folder:
        dump(extension(sys.argv[1], folder))


def dump(module):
    json.dump([schema(s) for s in module.defs.get_all_schemas_with_history()], sys.stdout)


def extension(wheel, folder):
    """The extension module of a wheel, loaded from a folder with the shared libraries of the wheel."""
    with zipfile.ZipFile(wheel) as files:
        names = [name for name in files.namelist() if ".so" in os.path.basename(name)]
        files.extractall(folder, names)
    (name,) = [name for name in names if name.startswith("onnx/" + EXTENSION)]
    loader = importlib.machinery.ExtensionFileLoader(EXTENSION, os.path.join(folder, name))
    spec = importlib.util.spec_from_loader(EXTENSION, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def schema(s):
    attributes = sorted(s.attributes.values(), key=lambda part: part.name)
    parts = [["attribute", part.name, part.description] for part in attributes]
    parts += [["input", part.name, part.description] for part in s.inputs]
    parts += [["output", part.name, part.description] for part in s.outputs]
    parts += [["type", part.type_param_str, part.description] for part in s.type_constraints]
    name = "{}/{}-{}".format(s.domain or "ai.onnx", s.name, s.since_version)
    return {"version": name, "doc": s.doc or "", "parts": parts, "bodies": bodies(s)}


def bodies(s):
    """The function bodies that depend on no types, by opset, as the hexadecimal digits of a FunctionProto.

    Packages before 1.5 have none, and those before 1.13 have one for an operator version.
    """
    if not getattr(s, "has_function", False):
        return {}
    if hasattr(s, "function_opset_versions"):
        found = {opset: s.get_function_with_opset_version(opset) for opset in s.function_opset_versions}
    else:
        found = {s.since_version: s._function_body}
    return {str(opset): body.hex() for opset, body in found.items()}


main()
