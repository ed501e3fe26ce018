"""What onnxruntime does not have, in words that are the same for all cases that need it."""

import functools
import re
import subprocess
import sys

import onnxruntime
from onnx import TensorProto, shape_inference
from onnx_conformance_adapter import Unsupported, model_of, schema_of, stable, walk
from onnx_conformance_adapter.missing import schema_named, version_of_schema, without_words

# The types that most kernels have.
COMMON = {"tensor(float)", "tensor(int64)", "tensor(bool)", "tensor(string)"}

# The last version of a kernel that has none.
ENDLESS = (1 << 31) - 1

# How onnxruntime says that it does not have something, as against that a model is wrong.
LACKS = re.compile(
    r"NOT_IMPLEMENTED|Could not find an implementation|is not currently registered or supported|No Op registered for"
    r"|is not a registered function/op|is under development and support for this is limited|Unsupported model IR version"
    r"|not supported|not implemented|Unsupported|INVALID_GRAPH.*Type Error: Type '.*' is invalid|Type Error: Type '.*' of input parameter"
    r"|fallback to CPU EP has been explicitly disabled",
    re.IGNORECASE,
)

# How it says that a cast which it inserted itself does not fit.
INSERTED_CAST = re.compile(r"InsertedPrecisionFreeCast_|Type Error: Type \(.*\) of output arg \(")


def missing_feature(path, ports, error, provider):
    """What onnxruntime does not have on an execution provider; nothing for a failure of another kind."""
    said = str(error)
    is_cast = INSERTED_CAST.search(said)
    if not (is_cast or LACKS.search(said)):
        return None
    model = model_of(path)
    if model is None:
        return None
    if is_cast:
        # Casts are inserted before kernels are looked for, of which there may be none.
        without = without_kernel(model, provider)
        return Unsupported(f"operator {without}", short(error)) if without else None
    if "Unsupported model IR version" in said:
        return Unsupported(f"IR version {model.ir_version}", short(error))
    if "is under development" in said:
        newest = max(model.opset_import, key=lambda entry: ((entry.domain or "ai.onnx") == "ai.onnx", entry.version))
        return Unsupported(f"opset {newest.version} of {newest.domain or 'ai.onnx'}", short(error))
    # Types between nodes are inferred only where those of inputs and outputs do not tell.
    for types_between in (dict, lambda: inferred_types(model)):
        between = types_between()
        for node in blamed(model, said):
            schema = schema_of(model, node)
            if schema is None:
                return None
            if what := lacking_of(schema, node, bound_types(model, node, schema, ports, between), ports, said, provider):
                return Unsupported(what, short(error))
    return None


def lacking_of(schema, node, types, ports, said, provider):
    """`what` is missing of an operator version that is given values of some types; nothing where the message is no sign of it."""
    version = version_of_schema(schema)
    if "is not a registered function/op" in said or "No Op registered for" in said:
        return f"operator {version}"
    if "fallback to CPU EP" in said and not any(kernel.provider == provider for kernel in listed_kernels() or []):
        # The provider compiles models. What it declines of this one, it does not say.
        return None
    if listed_kernels() is None:
        return lacking_unlisted(schema, types, ports, said)
    kernels = kernels_of(schema, provider)
    if not (kernels or is_replaced(schema)):
        return f"operator {version}"
    # There are kernels: one of the types has none. The kernel that fits best shows which.
    outside = min(([name for name in types if types[name] not in allowed.get(name, [types[name]])] for allowed in kernels), key=len, default=[])
    if outside:
        return f"{types[outside[0]]} in {version}"
    # Or the kernel itself declines: a type that few kernels have, or a value of an attribute that it names.
    rare = sorted(port.type for port in ports if port.type not in COMMON)
    if rare and (not kernels or re.search("data ?type", said, re.IGNORECASE)):
        return f"{rare[0]} in {version}"
    named = [attribute.name for attribute in node.attribute if f"({attribute.name} == " in said]
    if named:
        return f"attribute {named[0]} of {version}"
    # Or an operator in the function that stands for this one.
    found = re.search(r"implementation for (\w+)\((\d+)\)", said)
    inner = schema_named("", found[1], int(found[2])) if found else None
    if inner and not (kernels_of(inner, provider) or is_replaced(inner)):
        return f"operator {version_of_schema(inner)}"
    if inner and inner.name != schema.name:
        # Which values the inner operator is given is not known; a type that none of its kernels takes is not among them.
        taken = {type for allowed in kernels_of(inner, provider) for types_of in allowed.values() for type in types_of}
        outside = [type for type in types.values() if type not in taken]
        return f"{outside[0]} in {version}" if outside else None
    return None


def lacking_unlisted(schema, types, ports, said):
    """`what` is missing where the package does not list its kernels: a type, if the operator version is given one that is not float.

    That is so whether other types have a kernel or none has. A parameter that can be of one type alone is not it.
    """
    version = version_of_schema(schema)
    several = {constraint.type_param_str for constraint in schema.type_constraints if len(constraint.allowed_type_strs) > 1}
    others = sorted((types[name] in COMMON, types[name]) for name in types if name in several and types[name] != "tensor(float)")
    if "Could not find an implementation" in said or "Failed to find kernel" in said:
        return f"{others[0][1]} in {version}" if others else f"operator {version}"
    rare = sorted(port.type for port in ports if port.type not in COMMON)
    return f"{rare[0]} in {version}" if rare and ("Type Error" in said or re.search("data ?type", said, re.IGNORECASE)) else None


# How a package is asked for its kernels.
LISTING = "from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def"


@functools.cache
def listed_kernels():
    """The kernels of the package, or nothing: the wheels of 1.15 do not list them, and with some providers, as OpenVINO's, the
    listing ends the process. So another process tries it first where there are such.
    """
    if set(onnxruntime.get_available_providers()) - {"CPUExecutionProvider", "AzureExecutionProvider"}:
        program = [sys.executable, "-c", f"{LISTING}; get_all_opkernel_def()"]
        if subprocess.run(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            return None
    try:
        from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def
    except ImportError:
        return None
    return get_all_opkernel_def()


def kernels_of(schema, provider):
    """For each kernel of an operator version, the types that it takes, by type parameter."""

    def serves(first, last):
        # A kernel without an end is for the version that it begins with, and none that ONNX made afterwards.
        return first == schema.since_version if last == ENDLESS else first <= schema.since_version <= last

    return [
        kernel.type_constraints
        for kernel in listed_kernels()
        if kernel.provider == provider
        and (kernel.op_name, kernel.domain or "") == (schema.name, schema.domain)
        and serves(*kernel.version_range)
    ]


def is_replaced(schema):
    """Whether onnxruntime needs no kernel of an operator: it expands functions, and makes constants initializers."""
    return schema.has_function or schema.has_context_dependent_function or schema.name == "Constant"


def without_kernel(model, provider):
    """The first operator version of a model that no kernel is of and that nothing replaces."""
    schemas = [schema_of(model, node) for node in walk(model.graph)] if listed_kernels() is not None else []
    found = (schema for schema in schemas if schema and not (kernels_of(schema, provider) or is_replaced(schema)))
    return next(map(version_of_schema, found), None)


def inferred_types(model):
    """The types of tensors between nodes, by name, as far as inference finds them."""
    try:
        values = shape_inference.infer_shapes(model).graph.value_info
    except Exception:
        return {}
    return {
        value.name: f"tensor({TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()})"
        for value in values
        if value.type.tensor_type.elem_type
    }


def bound_types(model, node, schema, ports, between):
    """The type of each type parameter of a node, and of each formal input and output, as far as ports, initializers and inference tell."""
    declared = between | {port.name: port.type for port in ports}
    for initializer in model.graph.initializer:
        declared.setdefault(initializer.name, f"tensor({TensorProto.DataType.Name(initializer.data_type).lower()})")
    types = {}
    for formals, names in ((schema.inputs, node.input), (schema.outputs, node.output)):
        for position, name in enumerate(names):
            formal = formals[min(position, len(formals) - 1)]
            if name and name in declared:
                types.setdefault(formal.type_str, declared[name])
                types.setdefault(formal.name, declared[name])
    return types


def version_of_first(path):
    """The operator version of a model's first node, for what is missing whatever the operator."""
    model = model_of(path)
    schema = schema_of(model, model.graph.node[0]) if model else None
    return version_of_schema(schema) if schema else "ai.onnx/none"


def blamed(model, said):
    """The nodes that a message may be about: those whose operator it names, else the first."""
    nodes = list(walk(model.graph))
    return [node for node in nodes if re.search(rf"\b{re.escape(node.op_type)}\b", said)] or nodes[:1]


def short(error):
    """The message without what differs from run to run and from build to build: paths and addresses."""
    return stable(without_words(str(error), "/onnxruntime_src"))
