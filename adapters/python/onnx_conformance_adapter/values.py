"""ONNX messages to the values that Python runtimes take, and back, without loss."""

import math

import numpy
from onnx import MapProto, OptionalProto, SequenceProto, SparseTensorProto, TensorProto, helper, numpy_helper

from .missing import type_in_reader
from .protocol import Unsupported

MESSAGES = {"tensor": TensorProto, "sparse_tensor": SparseTensorProto, "seq": SequenceProto, "optional": OptionalProto, "map": MapProto}


# How many bits an element takes, of the types that are packed.
PACKED = {
    TensorProto.DataType.Value(name): bits
    for name, bits in {"UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "UINT2": 2, "INT2": 2}.items()
    if name in TensorProto.DataType.keys()
}


def parse(data, type_text):
    """The message in a file, which the type of the value tells."""
    message = MESSAGES[type_text.split("(")[0]]()
    message.ParseFromString(data)
    return message


def item_type(type_text):
    """The type between the outer parentheses; the value's type for a map, whose bare element name is a tensor's."""
    inner = type_text[type_text.index("(") + 1 : -1]
    if not type_text.startswith("map("):
        return inner
    value = inner.split(",", 1)[1].strip()
    return value if "(" in value else f"tensor({value})"


def tensor_from_bytes(name, element_type, shape, data):
    """A tensor message around little-endian bytes, packed as ONNX packs them."""
    return TensorProto(name=name, data_type=element_type, dims=shape, raw_data=data)


def size_in_bytes(element_type, shape):
    """How many bytes a tensor takes as ONNX packs it."""
    bits = PACKED.get(element_type) or helper.tensor_dtype_to_np_dtype(element_type).itemsize * 8
    return (math.prod(shape) * bits + 7) // 8


def bytes_of(tensor):
    """The little-endian bytes of a tensor message's elements, packed as ONNX packs them, wherever the message has them."""
    return tensor.raw_data if tensor.HasField("raw_data") else numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data


def tensor_from_array(array, type_text, name=""):
    """A tensor message. Strings come as arrays of objects; other element types as numpy or ml_dtypes have them."""
    array = numpy.asarray(array)
    if array.dtype.kind in "OUST":
        message = TensorProto(name=name, data_type=TensorProto.STRING, dims=array.shape)
        message.string_data.extend(s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1).tolist())
        return message
    return numpy_helper.from_array(array, name)


def to_python(message, type_text):
    """A message as arrays, lists, dictionaries, or None for an absent optional."""
    if isinstance(message, TensorProto):
        # What is made of raw data is read-only, and what users feed is not.
        array = numpy_helper.to_array(message)
        return array if array.flags.writeable else array.copy()
    if isinstance(message, SequenceProto):
        return [to_python(item, item_type(type_text)) for item in sequence_items(message)]
    if isinstance(message, OptionalProto):
        return to_python(optional_item(message), item_type(type_text)) if message.elem_type else None
    if isinstance(message, MapProto):
        keys = [key.decode() for key in message.string_keys] or list(message.keys)
        values = to_python(message.values, f"seq({item_type(type_text)})")
        return {key: value.item() if getattr(value, "ndim", 1) == 0 else value for key, value in zip(keys, values)}
    raise TypeError(f"a {type_text} has no Python value here")


def sequence_items(message):
    field = {1: "tensor_values", 2: "sparse_tensor_values", 3: "sequence_values", 4: "map_values", 5: "optional_values"}
    return getattr(message, field[message.elem_type]) if message.elem_type else []


def optional_item(message):
    field = {1: "tensor_value", 2: "sparse_tensor_value", 3: "sequence_value", 4: "map_value", 5: "optional_value"}
    return getattr(message, field[message.elem_type])


def from_python(value, type_text, name=""):
    """A message of a type, from arrays or tensor messages, lists, dictionaries or None.

    A tensor has the element type of its array, also where `type_text` has another: the harness then says `wrong-type` (docs/protocol.md,
    "Types of values").
    """
    kind = type_text.split("(")[0]
    if kind == "tensor":
        if value is None:
            raise TypeError(f"'{name}' is None, which is no tensor")
        return value if isinstance(value, TensorProto) else tensor_from_array(value, type_text, name)
    if kind == "seq":
        return sequence(value, item_type(type_text), name)
    if kind == "optional":
        inner = item_type(type_text)
        message = OptionalProto(name=name)
        if value is not None:
            message.elem_type, field = {"tensor": (1, "tensor_value"), "seq": (3, "sequence_value")}[inner.split("(")[0]]
            getattr(message, field).CopyFrom(from_python(value, inner))
        return message
    if kind == "map":
        key_type, inner = type_text[4:-1].split(",", 1)[0], item_type(type_text)
        message = MapProto(name=name, key_type=element_code(key_type))
        if key_type == "string":
            message.string_keys.extend(str(key).encode() for key in value)
        else:
            message.keys.extend(int(key) for key in value)
        message.values.CopyFrom(sequence([scalar(item, inner) for item in value.values()], inner, ""))
        return message
    raise TypeError(f"a {type_text} cannot be written here")


def scalar(value, type_text):
    """A map's value as an array of the type that it has."""
    if not type_text.startswith("tensor(") or isinstance(value, numpy.ndarray):
        return value
    code = element_code(item_type(type_text))
    return numpy.array(value, dtype=object if code == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(code))


def sequence(values, inner, name):
    message = SequenceProto(name=name)
    message.elem_type, field = {"tensor": (1, "tensor_values"), "seq": (3, "sequence_values"), "map": (4, "map_values")}[
        inner.split("(")[0]
    ]
    getattr(message, field).extend(from_python(value, inner) for value in values)
    return message


def element_code(name):
    """The number of an element type, by the name that ONNX gives it in types."""
    return TensorProto.DataType.Value(name.upper())


def require_tensors(ports, elements, runtime):
    """Raises `Unsupported` for the first type that is no tensor of one of these elements: the runtime has no values of it."""
    types = {f"tensor({name})" for name in elements}
    if beyond := next((port.type for port in ports if port.type not in types), None):
        raise Unsupported(beyond, f"{runtime} has no {beyond}")


def read(path, port, narrowed):
    """The value of an input, as `to_python` gives it. `narrowed` are the types that a binding converts, {"int64": "int32"}: a value that
    it would change is `Unsupported`.
    """
    value = to_python(parse(port.read(), port.type), port.type)
    element = getattr(getattr(value, "dtype", None), "name", None)
    if element in narrowed and (value != value.astype(narrowed[element])).any():
        said = f"the Python binding converts {element} to {narrowed[element]}, which changes this input"
        what = type_in_reader(path, port)
        raise Unsupported(what, said) if what else RuntimeError(said)
    return value


def write(outputs, results):
    """Writes the outputs as the runtime returned them. None is no tensor, so it is an error there."""
    for port, result in zip(outputs, results):
        if result is None and port.type.startswith("tensor("):
            raise TypeError(f"output '{port.name}' is None: the Python binding returns no array without elements")
        port.write(from_python(result, port.type, port.name).SerializeToString())
