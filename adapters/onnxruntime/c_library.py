"""onnxruntime by its C functions, from the library in the same package, for values that its Python binding cannot make.

The binding makes sequences of numpy's own element types alone, and maps to floats alone; C makes the others, too. The functions
stand in a table whose order is the promise of the C interface.
"""

import ctypes
import functools
from pathlib import Path

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx_conformance_adapter.values import bytes_of, element_code, item_type, optional_item, sequence_items, size_in_bytes, tensor_from_bytes

# The places of the functions in the table, `OrtApi`, of which those of the first version never move.
PLACES = {
    "GetErrorCode": 1,
    "GetErrorMessage": 2,
    "CreateEnv": 3,
    "CreateSession": 7,
    "Run": 9,
    "CreateSessionOptions": 10,
    "SetSessionLogSeverityLevel": 22,
    "SetSessionGraphOptimizationLevel": 23,
    "SetIntraOpNumThreads": 24,
    "SetInterOpNumThreads": 25,
    "CreateTensorAsOrtValue": 48,
    "GetTensorMutableData": 51,
    "FillStringTensor": 52,
    "GetStringTensorDataLength": 53,
    "GetStringTensorContent": 54,
    "GetTensorElementType": 60,
    "GetDimensionsCount": 61,
    "GetDimensions": 62,
    "GetTensorShapeElementCount": 64,
    "GetTensorTypeAndShape": 65,
    "GetValueType": 67,
    "GetAllocatorWithDefaultOptions": 78,
    "GetValue": 80,
    "GetValueCount": 81,
    "CreateValue": 82,
    "ReleaseStatus": 93,
    "ReleaseSession": 95,
    "ReleaseValue": 96,
    "ReleaseTensorTypeAndShapeInfo": 99,
    "ReleaseSessionOptions": 100,
}

# The kinds of values, `ONNXType`.
TENSOR, SEQUENCE, MAP = 1, 2, 3

# The names of `OrtErrorCode`, as the binding writes them in its messages.
CODES = (
    "OK FAIL INVALID_ARGUMENT NO_SUCHFILE NO_MODEL ENGINE_ERROR RUNTIME_EXCEPTION INVALID_PROTOBUF MODEL_LOADED NOT_IMPLEMENTED"
    " INVALID_GRAPH EP_FAIL"
).split()

# The last element type that has the same number here and in ONNX.
LAST_SHARED_CODE = TensorProto.INT4


class CannotMake(Exception):
    """The C functions have no way to make a value, or to give one out."""


@functools.cache
def library():
    """The library in the package, loaded when it is first needed, or nothing where the package has none."""
    folder = Path(onnxruntime.__file__).parent / "capi"
    found = sorted(path for pattern in ("libonnxruntime.so*", "libonnxruntime.*.dylib", "onnxruntime.dll") for path in folder.glob(pattern))
    return Library(found[0]) if found else None


class Library:
    """The table of functions, and what is made once."""

    def __init__(self, path):
        self.loaded = ctypes.CDLL(str(path))
        self.loaded.OrtGetApiBase.restype = ctypes.POINTER(ctypes.c_void_p)
        get_api = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32)(self.loaded.OrtGetApiBase()[0])
        table = get_api(1)
        self.functions = {name: ctypes.CFUNCTYPE(ctypes.c_void_p)(table[place]) for name, place in PLACES.items()}
        self.environment = self.made("CreateEnv", ctypes.c_int(4), b"onnx-conformance")
        self.allocator = self.made("GetAllocatorWithDefaultOptions")

    def call(self, name, *arguments):
        status = self.functions[name](*arguments)
        if status:
            status = ctypes.c_void_p(status)
            code = (self.functions["GetErrorCode"](status) or 0) & 0xFFFFFFFF
            message = ctypes.string_at(self.functions["GetErrorMessage"](status)).decode(errors="replace")
            self.functions["ReleaseStatus"](status)
            raise RuntimeError(f"[ONNXRuntimeError] : {code} : {CODES[code] if code < len(CODES) else code} : {message}")

    def made(self, name, *arguments, kind=ctypes.c_void_p):
        """What a function gives by its last argument."""
        result = kind()
        self.call(name, *arguments, ctypes.byref(result))
        return result

    def run(self, path, optimization, inputs, outputs, read):
        """The messages of the first outputs, as many as are read, of a model with inputs as triples of name, type and message."""
        session = self.session(path, optimization)
        held = []
        try:
            values = [self.value(message, type_text, held) for _, type_text, message in inputs]
            results = (ctypes.c_void_p * len(outputs))()
            self.call(
                "Run",
                session,
                None,
                texts([name for name, _, _ in inputs]),
                pointers(values),
                ctypes.c_size_t(len(inputs)),
                texts(outputs),
                ctypes.c_size_t(len(outputs)),
                results,
            )
            results = [ctypes.c_void_p(result) for result in results]
            held.extend(results)
            return [self.message(result, name, held) for result, name in zip(results[:read], outputs)]
        finally:
            for value in held:
                self.functions["ReleaseValue"](value)
            self.functions["ReleaseSession"](session)

    def session(self, path, optimization):
        """The session of a model, with the options that the binding's sessions have here."""
        options = self.made("CreateSessionOptions")
        try:
            self.call("SetSessionLogSeverityLevel", options, ctypes.c_int(4))
            self.call("SetSessionGraphOptimizationLevel", options, ctypes.c_int(int(optimization)))
            self.call("SetIntraOpNumThreads", options, ctypes.c_int(1))
            self.call("SetInterOpNumThreads", options, ctypes.c_int(1))
            # A path is of wide characters on Windows, where c_wchar_p is what ctypes makes of a text.
            location = str(path) if ctypes.sizeof(ctypes.c_wchar) == 2 else str(path).encode()
            return self.made("CreateSession", self.environment, location, options)
        finally:
            self.functions["ReleaseSessionOptions"](options)

    def value(self, message, type_text, held):
        """The `OrtValue` of a message, kept in `held` until all is over."""
        kind = type_text.split("(")[0]
        if kind == "optional":
            if message.elem_type == 0:
                raise CannotMake("C has no absent optional")
            return self.value(optional_item(message), item_type(type_text), held)
        if kind == "tensor":
            value = self.tensor(message)
        elif kind == "seq":
            items = [self.value(item, item_type(type_text), held) for item in sequence_items(message)]
            if not items:
                raise CannotMake("C makes no sequence without items")
            value = self.made("CreateValue", pointers(items), ctypes.c_size_t(len(items)), ctypes.c_int(SEQUENCE))
        elif kind == "map":
            parts = [self.value(part, "tensor()", held) for part in columns(message, type_text)]
            value = self.made("CreateValue", pointers(parts), ctypes.c_size_t(2), ctypes.c_int(MAP))
        else:
            raise CannotMake(f"a {type_text} is not made here")
        held.append(value)
        return value

    def tensor(self, tensor):
        if tensor.data_type > LAST_SHARED_CODE:
            raise CannotMake(f"the C library's number of {TensorProto.DataType.Name(tensor.data_type).lower()} is not known here")
        shape = (ctypes.c_int64 * len(tensor.dims))(*tensor.dims)
        value = self.made(
            "CreateTensorAsOrtValue", self.allocator, shape, ctypes.c_size_t(len(tensor.dims)), ctypes.c_int(tensor.data_type)
        )
        if tensor.data_type == TensorProto.STRING:
            if any(b"\0" in text for text in tensor.string_data):
                raise CannotMake("C takes texts that end with their first zero")
            self.call("FillStringTensor", value, texts(tensor.string_data), ctypes.c_size_t(len(tensor.string_data)))
            return value
        data = bytes_of(tensor)
        ctypes.memmove(self.made("GetTensorMutableData", value), data, len(data))
        return value

    def message(self, value, name, held):
        """What a value holds: the message of a tensor, or a list of such."""
        if not value:
            return None
        kind = self.made("GetValueType", value, kind=ctypes.c_int).value
        if kind == TENSOR:
            return self.tensor_message(value, name)
        if kind != SEQUENCE:
            raise CannotMake(f"output '{name}' is a value of kind {kind} of the C library")
        items = []
        for index in range(self.made("GetValueCount", value, kind=ctypes.c_size_t).value):
            items.append(self.made("GetValue", value, ctypes.c_int(index), self.allocator))
            held.append(items[-1])
        return [self.message(item, "", held) for item in items]

    def tensor_message(self, value, name):
        info = self.made("GetTensorTypeAndShape", value)
        element = self.made("GetTensorElementType", info, kind=ctypes.c_int).value
        count = self.made("GetTensorShapeElementCount", info, kind=ctypes.c_size_t).value
        rank = self.made("GetDimensionsCount", info, kind=ctypes.c_size_t).value
        shape = (ctypes.c_int64 * rank)()
        self.call("GetDimensions", info, shape, ctypes.c_size_t(rank))
        self.functions["ReleaseTensorTypeAndShapeInfo"](info)
        if element == TensorProto.STRING:
            message = TensorProto(name=name, data_type=element, dims=list(shape))
            message.string_data.extend(self.strings(value, count))
            return message
        if element > LAST_SHARED_CODE:
            raise CannotMake(f"output '{name}' has an element type, {element}, that is not known here")
        data = ctypes.string_at(self.made("GetTensorMutableData", value), size_in_bytes(element, shape))
        return tensor_from_bytes(name, element, list(shape), data)

    def strings(self, value, count):
        if count == 0:
            return []
        size = self.made("GetStringTensorDataLength", value, kind=ctypes.c_size_t).value
        content, starts = ctypes.create_string_buffer(size + 1), (ctypes.c_size_t * count)()
        self.call("GetStringTensorContent", value, content, ctypes.c_size_t(size), starts, ctypes.c_size_t(count))
        ends = [*starts[1:], size]
        return [content.raw[start:end] for start, end in zip(starts, ends)]


def columns(message, type_text):
    """The keys and the values of a map as tensors of one axis, as C has maps made."""
    count = len(message.values.tensor_values)
    keys = TensorProto(data_type=message.key_type, dims=[count])
    if message.key_type == TensorProto.STRING:
        keys.string_data.extend(message.string_keys)
    else:
        keys = numpy_helper.from_array(numpy.array(message.keys, dtype=helper.tensor_dtype_to_np_dtype(message.key_type)))
    values = TensorProto(data_type=element_code(item_type(item_type(type_text))), dims=[count])
    for value in message.values.tensor_values:
        if values.data_type == TensorProto.STRING:
            values.string_data.extend(value.string_data)
        else:
            values.raw_data += bytes_of(value)
    if values.data_type != TensorProto.STRING and not count:
        values.raw_data = b""  # There, if empty.
    return keys, values


def pointers(values):
    return (ctypes.c_void_p * len(values))(*[value.value for value in values])


def texts(texts):
    return (ctypes.c_char_p * len(texts))(*[text if isinstance(text, bytes) else text.encode() for text in texts])
