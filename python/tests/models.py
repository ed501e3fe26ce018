"""Small models as bytes, encoded here, so that no other package is needed."""

from __future__ import annotations

from typing import Union

FLOAT, INT64, DOUBLE = 1, 7, 11

Field = Union[int, bytes, str]


def message(*fields: tuple[int, Field]) -> bytes:
    """A message of protobuf: each field is a number with a varint, or with bytes."""
    encoded = b""
    for number, value in fields:
        if isinstance(value, int):
            encoded += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            encoded += varint(number << 3 | 2) + varint(len(data)) + data
    return encoded


def varint(number: int) -> bytes:
    encoded = b""
    while number > 127:
        encoded += bytes([number & 127 | 128])
        number >>= 7
    return encoded + bytes([number])


def value_info(name: str, element_type: int, size: int) -> bytes:
    """A ValueInfoProto of rank 1."""
    shape = message((1, message((1, size))))
    return message((1, name), (2, message((1, message((1, element_type), (2, shape))))))


def unary(operator: str, *, opset: int = 13, element_type: int = FLOAT, size: int = 2, initializers: tuple[bytes, ...] = ()) -> bytes:
    """A model `y = operator(x)`, of vectors."""
    node = message((1, "x"), (2, "y"), (3, "only"), (4, operator))
    tensors = [(5, tensor) for tensor in initializers]
    graph = message(
        (1, node), (2, "g"), *tensors, (11, value_info("x", element_type, size)), (12, value_info("y", element_type, size))
    )
    return message((1, 8), (7, graph), (8, message((1, ""), (2, opset))))


def external(location: str) -> bytes:
    """An initializer `w` of two floats in a file."""
    entry = message((1, "location"), (2, location))
    return message((1, 2), (2, FLOAT), (8, "w"), (13, entry), (14, 1))


def reduce_sum() -> bytes:
    """A model `y = ReduceSum(x, axes)` at opset 13, whose axes became an input there."""
    node = message((1, "x"), (1, "axes"), (2, "y"), (3, "pool"), (4, "ReduceSum"))
    axes = message((1, 1), (2, INT64), (8, "axes"), (9, bytes(8)))
    graph = message((1, node), (2, "g"), (5, axes), (11, value_info("x", FLOAT, 2)), (12, value_info("y", FLOAT, 1)))
    return message((1, 8), (7, graph), (8, message((1, ""), (2, 13))))
