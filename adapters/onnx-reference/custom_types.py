"""The element types that numpy does not have, as onnx before 1.19 has them: numpy's integers, marked by a field of the type's name.

From 1.19 on the package takes them from `ml_dtypes`. Before, its own functions read the bytes of no bfloat16 and write no odd number of
elements of 4 bits; so the adapter does both.
"""

import numpy
from onnx import TensorProto

try:
    from onnx import _custom_element_types as custom
except ImportError:
    custom = None

BITS = {
    "bfloat16": 16,
    "float8e4m3fn": 8,
    "float8e4m3fnuz": 8,
    "float8e5m2": 8,
    "float8e5m2fnuz": 8,
    "int4": 4,
    "uint4": 4,
    "float4e2m1": 4,
}

# By ONNX's number, the type that stands for it and its bits.
TYPES = {
    TensorProto.DataType.Value(name.upper()): (getattr(custom, name), bits) for name, bits in BITS.items() if hasattr(custom, name)
}


def to_array(tensor):
    """The array of a tensor message of one of these types with its bytes in `raw_data`; nothing for another tensor."""
    if tensor.data_type not in TYPES or not tensor.HasField("raw_data"):
        return None
    dtype, bits = TYPES[tensor.data_type]
    data = numpy.frombuffer(tensor.raw_data, dtype=numpy.uint16 if bits == 16 else numpy.uint8)
    if bits == 4:
        data = numpy.stack([data & 15, data >> 4], axis=-1).reshape(-1)[: int(numpy.prod(tensor.dims))]
        # The bits of a negative one go on to the left.
        data = (data ^ 8).astype(numpy.int8) - 8 if tensor.data_type == TensorProto.INT4 else data
    return data.reshape(tuple(tensor.dims)).astype(dtype)


def to_message(array, name):
    """The tensor message of an array of one of these types; nothing for another value."""
    if not isinstance(array, numpy.ndarray) or not array.dtype.fields:
        return None
    found = next(((code, bits) for code, (dtype, bits) in TYPES.items() if dtype.fields == array.dtype.fields), None)
    if found is None:
        return None
    code, bits = found
    data = array.astype(numpy.uint16 if bits == 16 else numpy.uint8).reshape(-1)
    if bits == 4:
        data = numpy.append(data & 15, numpy.zeros(data.size % 2, dtype=numpy.uint8))
        data = data[::2] | data[1::2] << 4
    return TensorProto(name=name, data_type=code, dims=array.shape, raw_data=data.tobytes())
