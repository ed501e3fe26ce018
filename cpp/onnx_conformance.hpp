// The ONNX conformance suite in C++17: reads an archive of cases, judges outputs, and reads expected failures.
//
//     #include "onnx_conformance.hpp"
//     namespace oc = onnx_conformance;
//
//     oc::Archive archive = oc::Archive::open("suite.onnxcases");
//     for (std::size_t at : archive.select({"ai.onnx/Relu-*/**"})) {
//         oc::Case test = archive.read(at);
//         oc::Verdict verdict = oc::judge(test, [](const oc::Case& test, const oc::DataSet& data) {
//             return oc::Answer::of_outputs(my_runtime(test.model, data.inputs));
//         });
//         std::cout << test.id << ": " << oc::name(verdict.outcome) << " " << verdict.message << "\n";
//     }
//
// Copy this file and third_party/zlib_inflate.hpp. README.md beside it explains the use, docs/archive.md the format of archives, and
// docs/accuracy.md the rules by which outputs are judged. The verdicts are those of the program `onnx-conformance run`.
//
// Licence: Apache-2.0. third_party/zlib_inflate.hpp has the zlib licence.
//
// Contents, in reading order: errors; element types; types of values; tensors and values; protobuf messages; globs; cases and rules;
// archives; comparison; verdicts; expected failures.

#ifndef ONNX_CONFORMANCE_HPP
#define ONNX_CONFORMANCE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "third_party/zlib_inflate.hpp"

namespace onnx_conformance {

// Bytes of a model, a message or a file.
using Bytes = std::vector<std::uint8_t>;

// Sizes of the dimensions of a tensor.
using Shape = std::vector<std::uint64_t>;

// ---------------------------------------------------------------------------------------------------------------------------- Errors

// Error of a file or a value that cannot be read. The text names the file or value, the place, the reason and what to do.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& text) : std::runtime_error(text) {}
};

// ---------------------------------------------------------------------------------------------------------------------- Element types

// Element type of a tensor, with the number of TensorProto.DataType.
enum class ElementType : std::uint8_t {
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Double = 11,
    Uint32 = 12,
    Uint64 = 13,
    Complex64 = 14,
    Complex128 = 15,
    Bfloat16 = 16,
    Float8e4m3fn = 17,
    Float8e4m3fnuz = 18,
    Float8e5m2 = 19,
    Float8e5m2fnuz = 20,
    Uint4 = 21,
    Int4 = 22,
    Float4e2m1 = 23,
    Float8e8m0 = 24,
    Uint2 = 25,
    Int2 = 26,
    Float6e2m3 = 27,
    Float6e3m2 = 28,
};

// Kind of number.
enum class NumberKind { Float, Signed, Unsigned, Bool, Complex, String };

namespace detail {

struct ElementRow {
    const char* name;
    NumberKind kind;
    unsigned bits;
};

inline const ElementRow& row(ElementType type) {
    static const ElementRow rows[] = {
        {"float", NumberKind::Float, 32},     {"uint8", NumberKind::Unsigned, 8},       {"int8", NumberKind::Signed, 8},
        {"uint16", NumberKind::Unsigned, 16}, {"int16", NumberKind::Signed, 16},        {"int32", NumberKind::Signed, 32},
        {"int64", NumberKind::Signed, 64},    {"string", NumberKind::String, 0},        {"bool", NumberKind::Bool, 8},
        {"float16", NumberKind::Float, 16},   {"double", NumberKind::Float, 64},        {"uint32", NumberKind::Unsigned, 32},
        {"uint64", NumberKind::Unsigned, 64}, {"complex64", NumberKind::Complex, 64},   {"complex128", NumberKind::Complex, 128},
        {"bfloat16", NumberKind::Float, 16},  {"float8e4m3fn", NumberKind::Float, 8},   {"float8e4m3fnuz", NumberKind::Float, 8},
        {"float8e5m2", NumberKind::Float, 8}, {"float8e5m2fnuz", NumberKind::Float, 8}, {"uint4", NumberKind::Unsigned, 4},
        {"int4", NumberKind::Signed, 4},      {"float4e2m1", NumberKind::Float, 4},     {"float8e8m0", NumberKind::Float, 8},
        {"uint2", NumberKind::Unsigned, 2},   {"int2", NumberKind::Signed, 2},          {"float6e2m3", NumberKind::Float, 6},
        {"float6e3m2", NumberKind::Float, 6},
    };
    return rows[static_cast<unsigned>(type) - 1];
}

}  // namespace detail

// Number of element types. Their codes are 1 to this number.
constexpr unsigned element_type_count = 28;

// Returns the name of a type as in tensor(NAME).
inline const char* name(ElementType type) { return detail::row(type).name; }

// Returns the kind of number.
inline NumberKind kind(ElementType type) { return detail::row(type).kind; }

// Returns the width of an element in bits, as in raw_data; 0 for strings.
inline unsigned bits(ElementType type) { return detail::row(type).bits; }

// Returns the number of bytes of an element in a Tensor: 1 for types of fewer than 8 bits, 0 for strings.
inline std::size_t size_of(ElementType type) { return (bits(type) + 7) / 8; }

// Returns the element type of a code of TensorProto.DataType.
inline std::optional<ElementType> element_type(std::uint64_t code) {
    if (code < 1 || code > element_type_count) return std::nullopt;
    return static_cast<ElementType>(code);
}

// Returns the element type of a name.
inline std::optional<ElementType> element_type(const std::string& text) {
    for (unsigned code = 1; code <= element_type_count; ++code) {
        if (text == name(static_cast<ElementType>(code))) return static_cast<ElementType>(code);
    }
    return std::nullopt;
}

// Layout of a floating-point type: sign, exponent, mantissa, from the highest bit.
struct FloatFormat {
    // Encoding of infinities and NaN. Ieee: the top exponent. AllOnes: no infinity, NaN has all bits below the sign set. NegativeZero: no
    // infinity, and the only NaN has the pattern of negative zero. Absent: neither. Scale: powers of two without a sign, NaN is all ones.
    enum class Specials { Ieee, AllOnes, NegativeZero, Absent, Scale };

    unsigned exponent_bits;
    unsigned mantissa_bits;
    int bias;
    Specials specials;

    // Returns the layout of a type, or of a part of a complex type.
    static std::optional<FloatFormat> of(ElementType type) {
        switch (type) {
            case ElementType::Double:
            case ElementType::Complex128: return FloatFormat{11, 52, 1023, Specials::Ieee};
            case ElementType::Float:
            case ElementType::Complex64: return FloatFormat{8, 23, 127, Specials::Ieee};
            case ElementType::Float16: return FloatFormat{5, 10, 15, Specials::Ieee};
            case ElementType::Bfloat16: return FloatFormat{8, 7, 127, Specials::Ieee};
            case ElementType::Float8e4m3fn: return FloatFormat{4, 3, 7, Specials::AllOnes};
            case ElementType::Float8e4m3fnuz: return FloatFormat{4, 3, 8, Specials::NegativeZero};
            case ElementType::Float8e5m2: return FloatFormat{5, 2, 15, Specials::Ieee};
            case ElementType::Float8e5m2fnuz: return FloatFormat{5, 2, 16, Specials::NegativeZero};
            case ElementType::Float8e8m0: return FloatFormat{8, 0, 127, Specials::Scale};
            case ElementType::Float6e2m3: return FloatFormat{2, 3, 1, Specials::Absent};
            case ElementType::Float6e3m2: return FloatFormat{3, 2, 3, Specials::Absent};
            case ElementType::Float4e2m1: return FloatFormat{2, 1, 1, Specials::Absent};
            default: return std::nullopt;
        }
    }

    // Mask of exponent and mantissa.
    std::uint64_t magnitude_mask() const { return (std::uint64_t{1} << (exponent_bits + mantissa_bits)) - 1; }

    // Bit of the sign; 0 if there is none.
    std::uint64_t sign_bit() const { return specials == Specials::Scale ? 0 : std::uint64_t{1} << (exponent_bits + mantissa_bits); }

    // Pattern of the largest finite number.
    std::uint64_t max_magnitude() const {
        switch (specials) {
            case Specials::Ieee: return magnitude_mask() - (std::uint64_t{1} << mantissa_bits);
            case Specials::AllOnes:
            case Specials::Scale: return magnitude_mask() - 1;
            default: return magnitude_mask();
        }
    }

    // Exponent of the smallest normal number.
    int min_exponent() const { return specials == Specials::Scale ? -bias : 1 - bias; }

    // Largest relative error of one rounding.
    double unit_roundoff() const { return std::ldexp(1.0, -static_cast<int>(mantissa_bits) - 1); }

    bool is_nan(std::uint64_t pattern) const {
        const std::uint64_t magnitude = pattern & magnitude_mask();
        switch (specials) {
            case Specials::Ieee: return magnitude > max_magnitude() + 1;
            case Specials::AllOnes:
            case Specials::Scale: return magnitude == magnitude_mask();
            case Specials::NegativeZero: return magnitude == 0 && (pattern & sign_bit()) != 0;
            default: return false;
        }
    }

    // Returns the value of a pattern, exactly.
    double decode(std::uint64_t pattern) const {
        const std::uint64_t magnitude = pattern & magnitude_mask();
        const bool negative = (pattern & sign_bit()) != 0;
        double value;
        if (is_nan(pattern)) {
            value = std::numeric_limits<double>::quiet_NaN();
        } else if (magnitude > max_magnitude()) {
            value = std::numeric_limits<double>::infinity();
        } else {
            const std::uint64_t field = magnitude >> mantissa_bits;
            const std::uint64_t mantissa = magnitude & ((std::uint64_t{1} << mantissa_bits) - 1);
            const int shift = static_cast<int>(mantissa_bits);
            if (specials == Specials::Scale) {
                value = std::ldexp(1.0, static_cast<int>(field) - bias);
            } else if (field == 0) {
                value = std::ldexp(static_cast<double>(mantissa), min_exponent() - shift);
            } else {
                const std::uint64_t whole = mantissa | std::uint64_t{1} << mantissa_bits;
                value = std::ldexp(static_cast<double>(whole), static_cast<int>(field) - bias - shift);
            }
        }
        return negative ? -value : value;
    }

    // Returns the pattern of the nearest number, ties to even. Overflow gives infinity, or NaN if there is no infinity, or the largest
    // number if there is neither. float8e8m0 rounds up, and has NaN for what it cannot hold.
    std::uint64_t encode(double x) const {
        if (specials == Specials::Scale) {
            if (!(x >= std::ldexp(1.0, -bias)) || x > std::ldexp(1.0, bias)) return magnitude_mask();
            int exponent = 0;
            const double fraction = std::frexp(x, &exponent);
            return static_cast<std::uint64_t>(exponent - (fraction == 0.5 ? 1 : 0) + bias);
        }
        if (std::isnan(x)) {
            switch (specials) {
                case Specials::Ieee: return (max_magnitude() + 1) | std::uint64_t{1} << (mantissa_bits - 1);
                case Specials::AllOnes: return magnitude_mask();
                default: return sign_bit();
            }
        }
        const std::uint64_t sign = std::signbit(x) ? sign_bit() : 0;
        const double size = std::fabs(x);
        std::uint64_t magnitude = max_magnitude() + 1;
        if (std::isfinite(size)) {
            int exponent = 0;
            std::frexp(size, &exponent);
            exponent = std::max(size == 0 ? min_exponent() : exponent - 1, min_exponent());
            const double scaled = std::ldexp(size, static_cast<int>(mantissa_bits) - exponent);
            const double whole = std::floor(scaled), rest = scaled - whole;
            std::uint64_t mantissa = static_cast<std::uint64_t>(whole);
            if (rest > 0.5 || (rest == 0.5 && (mantissa & 1) != 0)) ++mantissa;
            magnitude = (static_cast<std::uint64_t>(exponent - min_exponent()) << mantissa_bits) + mantissa;
        }
        if (magnitude <= max_magnitude()) return magnitude == 0 && specials == Specials::NegativeZero ? 0 : sign | magnitude;
        switch (specials) {
            case Specials::Ieee: return sign | (max_magnitude() + 1);
            case Specials::AllOnes: return sign | magnitude_mask();
            case Specials::NegativeZero: return sign_bit();
            default: return sign | max_magnitude();
        }
    }

    // Returns the rank of a pattern among the numbers of the type: both zeros have 0, and NaN has none. The difference of two ranks is
    // their distance in representable values.
    std::optional<std::int64_t> rank(std::uint64_t pattern) const {
        if (is_nan(pattern)) return std::nullopt;
        const std::int64_t magnitude = static_cast<std::int64_t>(pattern & magnitude_mask());
        return (pattern & sign_bit()) != 0 ? -magnitude : magnitude;
    }
};

// --------------------------------------------------------------------------------------------------------------------- Types of values

// Type of a value, without its shape.
struct Type {
    enum class Kind { Tensor, SparseTensor, Sequence, Optional, Map };

    Kind kind = Kind::Tensor;
    // Element type of a tensor or a sparse tensor.
    ElementType element = ElementType::Float;
    // Key type of a map.
    ElementType key = ElementType::Int64;
    // The type of the items of a sequence, of the value of an optional, or of the values of a map.
    std::vector<Type> inner;

    static Type tensor(ElementType element) { return Type{Kind::Tensor, element, ElementType::Int64, {}}; }
    static Type sparse_tensor(ElementType element) { return Type{Kind::SparseTensor, element, ElementType::Int64, {}}; }
    static Type sequence(Type item) { return Type{Kind::Sequence, ElementType::Float, ElementType::Int64, {std::move(item)}}; }
    static Type optional(Type item) { return Type{Kind::Optional, ElementType::Float, ElementType::Int64, {std::move(item)}}; }
    static Type map(ElementType key, Type value) { return Type{Kind::Map, ElementType::Float, key, {std::move(value)}}; }

    friend bool operator==(const Type& a, const Type& b) {
        if (a.kind != b.kind || a.inner != b.inner) return false;
        if (a.kind == Kind::Map) return a.key == b.key;
        return a.kind == Kind::Sequence || a.kind == Kind::Optional || a.element == b.element;
    }
    friend bool operator!=(const Type& a, const Type& b) { return !(a == b); }

    // Returns the text as in ONNX's schemas: seq(tensor(float)), map(int64, float).
    std::string text() const {
        switch (kind) {
            case Kind::Tensor: return std::string("tensor(") + name(element) + ")";
            case Kind::SparseTensor: return std::string("sparse_tensor(") + name(element) + ")";
            case Kind::Sequence: return "seq(" + inner.front().text() + ")";
            case Kind::Optional: return "optional(" + inner.front().text() + ")";
            default: break;
        }
        const Type& value = inner.front();
        const std::string text = value.kind == Kind::Tensor ? name(value.element) : value.text();
        return std::string("map(") + name(key) + ", " + text + ")";
    }

    // Parses such a text.
    static Type parse(const std::string& text) {
        if (std::count(text.begin(), text.end(), '(') > 64) throw Error("type '" + text.substr(0, 80) + "...': nests too deeply");
        return parse_part(text);
    }

private:
    static std::string trimmed(const std::string& text) {
        const std::size_t from = text.find_first_not_of(' '), to = text.find_last_not_of(' ');
        return from == std::string::npos ? std::string() : text.substr(from, to - from + 1);
    }

    static ElementType parse_element(const std::string& text) {
        if (const auto found = element_type(trimmed(text))) return *found;
        throw Error("type '" + text + "': is not an element type of ONNX");
    }

    static Type parse_part(const std::string& text) {
        const std::size_t open = text.find('(');
        if (open == std::string::npos || text.back() != ')') {
            throw Error("type '" + text + "': write tensor(T), sparse_tensor(T), seq(TYPE), optional(TYPE) or map(KEY, TYPE)");
        }
        const std::string constructor = trimmed(text.substr(0, open));
        const std::string inside = trimmed(text.substr(open + 1, text.size() - open - 2));
        if (constructor == "tensor") return tensor(parse_element(inside));
        if (constructor == "sparse_tensor") return sparse_tensor(parse_element(inside));
        if (constructor == "seq") return sequence(parse_part(inside));
        if (constructor == "optional") return optional(parse_part(inside));
        const std::size_t comma = inside.find(',');
        if (constructor == "map" && comma != std::string::npos) {
            const std::string value = trimmed(inside.substr(comma + 1));
            const bool is_type = value.find('(') != std::string::npos;
            return map(parse_element(inside.substr(0, comma)), is_type ? parse_part(value) : tensor(parse_element(value)));
        }
        throw Error("type '" + text + "': write tensor(T), sparse_tensor(T), seq(TYPE), optional(TYPE) or map(KEY, TYPE)");
    }
};

// ------------------------------------------------------------------------------------------------------------------ Tensors and values

// Returns the number of elements of a shape; nothing if it exceeds 64 bits.
inline std::optional<std::uint64_t> element_count(const Shape& shape) {
    if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return 0;
    std::uint64_t count = 1;
    for (const std::uint64_t size : shape) {
        if (count > std::numeric_limits<std::uint64_t>::max() / size) return std::nullopt;
        count *= size;
    }
    return count;
}

// Returns a shape as text: [2, 3].
inline std::string text(const Shape& shape) {
    std::string out = "[";
    for (std::size_t at = 0; at < shape.size(); ++at) out += (at > 0 ? ", " : "") + std::to_string(shape[at]);
    return out + "]";
}

// Dense tensor.
struct Tensor {
    ElementType type = ElementType::Float;
    Shape shape = {0};
    // Elements in little endian. An element of fewer than 8 bits takes a byte of its own, sign-extended if it is signed; `packed` has
    // several in a byte. A bool is 0 or 1. A complex number is two numbers.
    Bytes bytes;
    // Elements of a string tensor, in UTF-8.
    std::vector<std::string> strings;

    // Creates a tensor from elements in the form of `bytes`. Throws if their number does not fit the shape.
    static Tensor from_bytes(ElementType type, Shape shape, Bytes bytes) {
        Tensor tensor{type, std::move(shape), std::move(bytes), {}};
        const auto count = element_count(tensor.shape);
        if (type == ElementType::String) throw Error("tensor(string) has strings, not bytes; use Tensor::from_strings");
        if (!count || *count > tensor.bytes.size() / size_of(type) || *count * size_of(type) != tensor.bytes.size()) {
            throw Error(std::string("tensor(") + name(type) + ")" + text(tensor.shape) + ": " + std::to_string(tensor.bytes.size()) +
                        " bytes do not fit the shape");
        }
        return tensor;
    }

    // Creates a tensor from the elements of a runtime's buffer.
    static Tensor from_memory(ElementType type, Shape shape, const void* data, std::size_t size) {
        const auto* begin = static_cast<const std::uint8_t*>(data);
        return from_bytes(type, std::move(shape), size == 0 ? Bytes() : Bytes(begin, begin + size));
    }

    // Creates a tensor of strings.
    static Tensor from_strings(Shape shape, std::vector<std::string> strings) {
        Tensor tensor{ElementType::String, std::move(shape), {}, std::move(strings)};
        const auto count = element_count(tensor.shape);
        if (!count || *count != tensor.strings.size()) {
            throw Error("tensor(string)" + text(tensor.shape) + ": " + std::to_string(tensor.strings.size()) +
                        " strings do not fit the shape");
        }
        return tensor;
    }

    // Creates a tensor from the form of raw_data: types of fewer than 8 bits are a stream of bits, the first element in the lowest.
    static Tensor from_packed(ElementType type, Shape shape, const Bytes& packed) {
        const unsigned width = bits(type);
        if (width >= 8 || width == 0) return from_bytes(type, std::move(shape), packed);
        const auto count = element_count(shape);
        if (!count || *count > packed.size() * 8 || (*count * width + 7) / 8 != packed.size()) {
            throw Error(std::string("tensor(") + name(type) + ")" + text(shape) + ": " + std::to_string(packed.size()) +
                        " packed bytes do not fit the shape");
        }
        return from_bytes(type, std::move(shape), unpacked(type, packed, static_cast<std::size_t>(*count)));
    }

    // Returns the number of elements.
    std::size_t size() const { return type == ElementType::String ? strings.size() : bytes.size() / size_of(type); }

    // Returns the elements in the form of raw_data.
    Bytes packed() const {
        const unsigned width = bits(type);
        if (width >= 8 || width == 0) return bytes;
        Bytes out((bytes.size() * width + 7) / 8, 0);
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            const unsigned value = (bytes[at] & ((1u << width) - 1)) << (at * width % 8);
            out[at * width / 8] = static_cast<std::uint8_t>(out[at * width / 8] | (value & 0xff));
            if (value > 0xff) out[at * width / 8 + 1] = static_cast<std::uint8_t>(value >> 8);
        }
        return out;
    }

    // Returns a copy of the elements as numbers of C++, such as to_vector<float>().
    template <typename T>
    std::vector<T> to_vector() const {
        if (sizeof(T) != size_of(type)) throw Error(std::string("tensor(") + name(type) + "): elements have another size");
        std::vector<T> out(size());
        if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
        return out;
    }

    // Returns the stored bits of an element of at most 64 bits; 0 beyond the end.
    std::uint64_t pattern(std::size_t at) const {
        const std::size_t width = size_of(type);
        std::uint64_t out = 0;
        if (width > 8 || at >= size()) return 0;
        for (std::size_t byte = 0; byte < width; ++byte) out |= std::uint64_t{bytes[at * width + byte]} << (8 * byte);
        return out;
    }

    // Returns an element as a double: exact, except for integers beyond 2^53. Of a complex number it is the real part.
    double number(std::size_t at) const {
        if (type == ElementType::Complex64 || type == ElementType::Complex128) return part(2 * at);
        const std::uint64_t stored = pattern(at);
        switch (type) {
            case ElementType::Float: {
                const std::uint32_t low = static_cast<std::uint32_t>(stored);
                float value;
                std::memcpy(&value, &low, sizeof value);
                return static_cast<double>(value);
            }
            case ElementType::Double: {
                double value;
                std::memcpy(&value, &stored, sizeof value);
                return value;
            }
            case ElementType::Bool: return stored != 0 ? 1.0 : 0.0;
            default: break;
        }
        switch (onnx_conformance::kind(type)) {
            case NumberKind::Float: return FloatFormat::of(type)->decode(stored);
            case NumberKind::Signed: return static_cast<double>(signed_integer(at));
            case NumberKind::Unsigned: return static_cast<double>(stored & low_bits());
            default: return std::numeric_limits<double>::quiet_NaN();
        }
    }

    // Returns part `at` of a complex tensor: real and imaginary parts in turn.
    double part(std::size_t at) const {
        const std::size_t width = size_of(type) / 2;
        std::uint64_t stored = 0;
        for (std::size_t byte = 0; byte < width && at * width + byte < bytes.size(); ++byte) {
            stored |= std::uint64_t{bytes[at * width + byte]} << (8 * byte);
        }
        return FloatFormat::of(type)->decode(stored);
    }

    // Returns an element of a signed integer type.
    std::int64_t signed_integer(std::size_t at) const {
        const unsigned unused = 64 - bits(type);
        std::uint64_t moved = pattern(at) << unused;
        std::int64_t value;
        std::memcpy(&value, &moved, sizeof value);
        // Division instead of a shift, whose meaning for negative numbers C++17 leaves open.
        const std::int64_t unit = unused == 0 ? 1 : std::int64_t{1} << std::min(unused, 62u);
        return value / unit;
    }

    // Returns an element for messages.
    std::string element_text(std::size_t at) const {
        char out[80];
        switch (onnx_conformance::kind(type)) {
            case NumberKind::String: {
                // A long text is cut between two characters.
                std::size_t end = std::min<std::size_t>(strings[at].size(), 60);
                while (end > 0 && end < strings[at].size() && (static_cast<unsigned char>(strings[at][end]) & 0xc0) == 0x80) --end;
                return "\"" + strings[at].substr(0, end) + (end < strings[at].size() ? "..." : "") + "\"";
            }
            case NumberKind::Bool: return pattern(at) != 0 ? "true" : "false";
            case NumberKind::Signed: return std::to_string(signed_integer(at));
            case NumberKind::Unsigned: return std::to_string(pattern(at) & low_bits());
            case NumberKind::Complex: std::snprintf(out, sizeof out, "%.9g%+.9gi", part(2 * at), part(2 * at + 1)); return out;
            default: std::snprintf(out, sizeof out, type == ElementType::Double ? "%.17g" : "%.9g", number(at)); return out;
        }
    }

private:
    std::uint64_t low_bits() const { return bits(type) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits(type)) - 1; }

    friend struct Value;

    // Unpacks elements of fewer than 8 bits; those beyond the end are 0.
    static Bytes unpacked(ElementType type, const Bytes& packed, std::size_t count) {
        const unsigned width = bits(type);
        Bytes out(count);
        for (std::size_t at = 0; at < count; ++at) {
            const std::size_t byte = at * width / 8;
            const unsigned low = byte < packed.size() ? packed[byte] : 0u, high = byte + 1 < packed.size() ? packed[byte + 1] : 0u;
            out[at] = extended(type, static_cast<std::uint8_t>((low | high << 8) >> (at * width % 8)));
        }
        return out;
    }

    // Returns the stored byte of an element of fewer than 8 bits.
    static std::uint8_t extended(ElementType type, std::uint8_t value) {
        const unsigned mask = (1u << bits(type)) - 1, sign = (mask + 1) >> 1;
        unsigned out = value & mask;
        if (onnx_conformance::kind(type) == NumberKind::Signed && (out & sign) != 0) out |= ~mask;
        return static_cast<std::uint8_t>(out);
    }
};

// Key of a map.
struct MapKey {
    bool is_string = false;
    std::int64_t number = 0;
    std::string string;

    static MapKey of(std::int64_t number) { return MapKey{false, number, {}}; }
    static MapKey of(std::string string) { return MapKey{true, 0, std::move(string)}; }

    std::string text() const { return is_string ? "\"" + string + "\"" : std::to_string(number); }

    friend bool operator<(const MapKey& a, const MapKey& b) {
        return std::tie(a.is_string, a.number, a.string) < std::tie(b.is_string, b.number, b.string);
    }
    friend bool operator==(const MapKey& a, const MapKey& b) { return !(a < b) && !(b < a); }
};

namespace detail {
class Message;
class MessageWriter;
}  // namespace detail

// Value of any ONNX type. `type` says which fields are used.
struct Value {
    Type type;
    // A tensor; the elements of a sparse tensor, of shape [n].
    Tensor tensor;
    // Positions of a sparse tensor: int64, [n] flat or [n, rank], ascending.
    Tensor indices;
    // Shape of a sparse tensor.
    Shape shape;
    // Items of a sequence; the values of a map in the order of its keys; the value of an optional, or nothing if it is absent.
    std::vector<Value> items;
    // Keys of a map, ascending.
    std::vector<MapKey> keys;

    Value() = default;
    Value(Tensor from) : type(Type::tensor(from.type)), tensor(std::move(from)) {}  // NOLINT: a tensor is a value

    // Creates a sparse tensor.
    static Value sparse(Tensor values, Tensor indices, Shape shape) {
        Value value;
        value.type = Type::sparse_tensor(values.type);
        value.tensor = std::move(values);
        value.indices = std::move(indices);
        value.shape = std::move(shape);
        return value;
    }

    // Creates a sequence. An empty one has a type of items, too.
    static Value sequence(Type item, std::vector<Value> items) {
        Value value;
        value.type = Type::sequence(std::move(item));
        value.items = std::move(items);
        return value;
    }

    // Creates an optional with a value.
    static Value present(Value item) {
        Value value;
        value.type = Type::optional(item.type);
        value.items.push_back(std::move(item));
        return value;
    }

    // Creates an optional without a value.
    static Value absent(Type item) {
        Value value;
        value.type = Type::optional(std::move(item));
        return value;
    }

    // Creates a map. The values of map(KEY, float) are tensors without dimensions.
    static Value map(ElementType key, Type value_type, std::vector<MapKey> keys, std::vector<Value> values);

    // Reads a TensorProto, SparseTensorProto, SequenceProto, OptionalProto or MapProto, as the type says.
    static Value parse(const Bytes& message, const Type& type);

    // Writes such a message.
    Bytes serialize(const std::string& name = std::string()) const;

    // Returns type and shape for messages.
    std::string describe() const {
        switch (type.kind) {
            case Type::Kind::Tensor: return type.text() + text(tensor.shape);
            case Type::Kind::SparseTensor: return type.text() + text(shape);
            case Type::Kind::Sequence: return type.text() + " of " + std::to_string(items.size()) + " items";
            case Type::Kind::Optional: return type.text() + (items.empty() ? " absent" : " present");
            default: return type.text() + " of " + std::to_string(items.size()) + " entries";
        }
    }

private:
    static Tensor read_tensor(const detail::Message& message);
    static Tensor elements(ElementType element, Shape shape, const Bytes& raw, const std::vector<std::uint64_t>& entries,
                           std::vector<std::string> strings);
    static Value read_sparse(const detail::Message& message);
    static Value read(const detail::Message& message, const Type& type, unsigned depth);
    static Value read_sequence(const detail::Message& message, const Type* item, unsigned depth);
    static void write_tensor(detail::MessageWriter& out, const Tensor& tensor, const std::string& name);
    void write(detail::MessageWriter& out, const std::string& name) const;
};

// ------------------------------------------------------------------------------------------------------------------ Protobuf messages

namespace detail {

[[noreturn]] inline void malformed(const std::string& reason) { throw Error("protobuf message: " + reason); }

// Reader of numbers and texts that never reads beyond the end.
class Cursor {
public:
    Cursor(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    bool at_end() const { return at_ == size_; }
    std::size_t position() const { return at_; }
    std::size_t left() const { return size_ - at_; }

    std::uint8_t byte() {
        if (at_end()) malformed("it ends too early");
        return data_[at_++];
    }

    // Unsigned LEB128.
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 70; shift += 7) {
            const std::uint8_t next = byte();
            if (shift == 63 && next > 1) malformed("a number has more than 64 bits");
            value |= std::uint64_t{next & 0x7fu} << shift;
            if (next < 0x80) return value;
        }
        malformed("a number has more than 10 bytes");
    }

    std::uint64_t fixed(unsigned width) {
        std::uint64_t value = 0;
        for (unsigned at = 0; at < width; ++at) value |= std::uint64_t{byte()} << (8 * at);
        return value;
    }

    double f64() {
        const std::uint64_t stored = fixed(8);
        double value;
        std::memcpy(&value, &stored, sizeof value);
        return value;
    }

    // Returns a part and moves behind it.
    Cursor part(std::uint64_t size) {
        if (size > left()) malformed("a length is beyond the end");
        Cursor inner(data_ + at_, static_cast<std::size_t>(size));
        at_ += static_cast<std::size_t>(size);
        return inner;
    }

    Cursor length_delimited() { return part(varint()); }

    std::string rest_as_text() const { return std::string(reinterpret_cast<const char*>(data_ + at_), left()); }
    Bytes rest_as_bytes() const { return Bytes(data_ + at_, data_ + size_); }

private:
    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t at_ = 0;
};

// Fields of a protobuf message, without their meaning.
class Message {
public:
    struct Field {
        std::uint64_t number;
        unsigned wire;
        std::uint64_t value;
        Cursor contents;
    };

    explicit Message(Cursor cursor) {
        while (!cursor.at_end()) {
            const std::uint64_t key = cursor.varint();
            Field field{key >> 3, static_cast<unsigned>(key & 7), 0, Cursor(nullptr, 0)};
            if (field.number == 0) malformed("a field has the number 0");
            switch (field.wire) {
                case 0: field.value = cursor.varint(); break;
                case 1: field.value = cursor.fixed(8); break;
                case 2: field.contents = cursor.length_delimited(); break;
                case 5: field.value = cursor.fixed(4); break;
                default: malformed("a field has the wire type " + std::to_string(field.wire));
            }
            fields_.push_back(field);
        }
    }

    // Returns the last number of a field; 0 if there is none.
    std::uint64_t number(std::uint64_t field) const {
        std::uint64_t value = 0;
        for (const Field& one : fields_) {
            if (one.number == field && one.wire == 0) value = one.value;
        }
        return value;
    }

    // Returns the numbers of a repeated field, packed or not, that are `width` bytes long, or varints if `width` is 0.
    std::vector<std::uint64_t> numbers(std::uint64_t field, unsigned width) const {
        std::vector<std::uint64_t> values;
        for (const Field& one : fields_) {
            if (one.number != field) continue;
            if (one.wire == 2) {
                for (Cursor packed = one.contents; !packed.at_end();) values.push_back(width == 0 ? packed.varint() : packed.fixed(width));
            } else {
                values.push_back(one.value);
            }
        }
        return values;
    }

    // Returns the contents of all fields of a number.
    std::vector<Cursor> all(std::uint64_t field) const {
        std::vector<Cursor> found;
        for (const Field& one : fields_) {
            if (one.number == field && one.wire == 2) found.push_back(one.contents);
        }
        return found;
    }

    std::optional<Cursor> last(std::uint64_t field) const {
        const std::vector<Cursor> found = all(field);
        return found.empty() ? std::optional<Cursor>() : found.back();
    }

private:
    std::vector<Field> fields_;
};

// Writer of a protobuf message.
class MessageWriter {
public:
    void varint(std::uint64_t value) {
        for (; value > 0x7f; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
        out.push_back(static_cast<std::uint8_t>(value));
    }

    void number(std::uint64_t field, std::uint64_t value) {
        varint(field << 3);
        varint(value);
    }

    template <typename Container>
    void bytes(std::uint64_t field, const Container& contents) {
        varint(field << 3 | 2);
        varint(contents.size());
        out.insert(out.end(), contents.begin(), contents.end());
    }

    void name(std::uint64_t field, const std::string& contents) {
        if (!contents.empty()) bytes(field, contents);
    }

    Bytes out;
};

constexpr unsigned max_depth = 100;

}  // namespace detail

inline Tensor Value::elements(ElementType element, Shape shape, const Bytes& raw, const std::vector<std::uint64_t>& entries,
                              std::vector<std::string> strings) {
    if (element == ElementType::String) return Tensor::from_strings(std::move(shape), std::move(strings));
    if (entries.empty()) return Tensor::from_packed(element, std::move(shape), raw);
    Bytes bytes;
    const unsigned width = bits(element);
    if (width == 2 || width == 4) {
        // Each entry holds a byte of packed elements.
        for (const std::uint64_t entry : entries) bytes.push_back(static_cast<std::uint8_t>(entry));
        const auto count = element_count(shape);
        const std::size_t room = bytes.size() * 8 / width;
        const bool fits = count && *count <= room && (*count * width + 7) / 8 == bytes.size();
        bytes = Tensor::unpacked(element, bytes, fits ? static_cast<std::size_t>(*count) : room);
        return Tensor::from_bytes(element, std::move(shape), std::move(bytes));
    }
    for (const std::uint64_t entry : entries) {
        if (element == ElementType::Bool) {
            bytes.push_back(entry != 0 ? 1 : 0);
        } else if (width < 8) {
            bytes.push_back(Tensor::extended(element, static_cast<std::uint8_t>(entry)));
        } else {
            // A complex number is two entries.
            const std::size_t size = onnx_conformance::kind(element) == NumberKind::Complex ? size_of(element) / 2 : size_of(element);
            for (std::size_t at = 0; at < size; ++at) bytes.push_back(static_cast<std::uint8_t>(entry >> (8 * at)));
        }
    }
    return Tensor::from_bytes(element, std::move(shape), std::move(bytes));
}

inline Tensor Value::read_tensor(const detail::Message& message) {
    const auto element = element_type(message.number(2));
    if (!element) detail::malformed("data_type " + std::to_string(message.number(2)) + " is not an element type of ONNX");
    if (message.number(14) != 0) detail::malformed("a value has external data; values must hold their elements");
    Shape shape = message.numbers(1, 0);
    for (const std::uint64_t size : shape) {
        if (size >> 63 != 0) detail::malformed("a dimension is negative");
    }
    std::vector<std::string> strings;
    for (const detail::Cursor& one : message.all(6)) strings.push_back(one.rest_as_text());
    std::uint64_t field = 5;
    unsigned width = 0;
    switch (*element) {
        case ElementType::Float:
        case ElementType::Complex64:
            field = 4;
            width = 4;
            break;
        case ElementType::Double:
        case ElementType::Complex128:
            field = 10;
            width = 8;
            break;
        case ElementType::Int64: field = 7; break;
        case ElementType::Uint32:
        case ElementType::Uint64: field = 11; break;
        default: break;
    }
    const auto raw = message.last(9);
    const bool has_raw = raw && raw->left() > 0;
    std::vector<std::uint64_t> entries;
    if (*element != ElementType::String && !has_raw) entries = message.numbers(field, width);
    return elements(*element, std::move(shape), has_raw ? raw->rest_as_bytes() : Bytes(), entries, std::move(strings));
}

inline Value Value::read_sparse(const detail::Message& message) {
    const auto values = message.last(1), indices = message.last(2);
    if (!values || !indices) detail::malformed("a sparse tensor has no values or no indices");
    return sparse(read_tensor(detail::Message(*values)), read_tensor(detail::Message(*indices)), message.numbers(3, 0));
}

inline Value Value::read_sequence(const detail::Message& message, const Type* item, unsigned depth) {
    // Fields of the items by SequenceProto.DataType: tensors, sparse tensors, sequences, maps, optionals.
    static const Type::Kind kinds[] = {Type::Kind::Tensor, Type::Kind::SparseTensor, Type::Kind::Sequence, Type::Kind::Map,
                                       Type::Kind::Optional};
    const std::uint64_t code = message.number(2);
    std::vector<Value> items;
    if (code >= 1 && code <= 5) {
        Type unknown = Type::tensor(ElementType::Float);
        unknown.kind = kinds[code - 1];
        const Type& expected = item != nullptr && item->kind == unknown.kind ? *item : unknown;
        for (const detail::Cursor& one : message.all(code + 2)) items.push_back(read(detail::Message(one), expected, depth + 1));
    }
    if (items.empty() && item == nullptr) detail::malformed("an empty sequence needs a declared type");
    Type type = items.empty() ? *item : items.front().type;
    for (const Value& one : items) {
        if (one.type != type) detail::malformed("items are of " + type.text() + " and of " + one.type.text());
    }
    return sequence(std::move(type), std::move(items));
}

inline Value Value::read(const detail::Message& message, const Type& type, unsigned depth) {
    if (depth > detail::max_depth) detail::malformed("values nest too deeply");
    const Type* inner = type.inner.empty() ? nullptr : &type.inner.front();
    switch (type.kind) {
        case Type::Kind::Tensor: return Value(read_tensor(message));
        case Type::Kind::SparseTensor: return read_sparse(message);
        case Type::Kind::Sequence: return read_sequence(message, inner, depth);
        case Type::Kind::Optional: {
            static const Type::Kind kinds[] = {Type::Kind::Tensor, Type::Kind::SparseTensor, Type::Kind::Sequence, Type::Kind::Map,
                                               Type::Kind::Optional};
            for (std::uint64_t field = 3; field <= 7; ++field) {
                if (const auto found = message.last(field)) {
                    Type expected = Type::tensor(ElementType::Float);
                    expected.kind = kinds[field - 3];
                    if (inner != nullptr && inner->kind == expected.kind) expected = *inner;
                    return present(read(detail::Message(*found), expected, depth + 1));
                }
            }
            if (inner == nullptr) detail::malformed("an absent optional needs a declared type");
            return absent(*inner);
        }
        default: break;
    }
    const auto key = element_type(message.number(2));
    if (!key) detail::malformed("key_type " + std::to_string(message.number(2)) + " is not an element type of ONNX");
    std::vector<MapKey> keys;
    if (*key == ElementType::String) {
        for (const detail::Cursor& one : message.all(4)) keys.push_back(MapKey::of(one.rest_as_text()));
    } else {
        for (const std::uint64_t one : message.numbers(3, 0)) keys.push_back(MapKey::of(static_cast<std::int64_t>(one)));
    }
    const auto values = message.last(5);
    if (!values) detail::malformed("a map has no values");
    Value items = read_sequence(detail::Message(*values), inner, depth + 1);
    return map(*key, items.type.inner.front(), std::move(keys), std::move(items.items));
}

inline Value Value::map(ElementType key, Type value_type, std::vector<MapKey> keys, std::vector<Value> values) {
    if (keys.size() != values.size()) {
        throw Error("map: " + std::to_string(keys.size()) + " keys, but " + std::to_string(values.size()) + " values");
    }
    std::map<MapKey, Value> entries;
    for (std::size_t at = 0; at < keys.size(); ++at) {
        if (!entries.emplace(std::move(keys[at]), std::move(values[at])).second) throw Error("map: a key appears twice");
    }
    Value value;
    value.type = Type::map(key, std::move(value_type));
    for (auto& entry : entries) {
        value.keys.push_back(entry.first);
        value.items.push_back(std::move(entry.second));
    }
    return value;
}

inline Value Value::parse(const Bytes& message, const Type& type) {
    return read(detail::Message(detail::Cursor(message.data(), message.size())), type, 0);
}

inline void Value::write_tensor(detail::MessageWriter& out, const Tensor& tensor, const std::string& name) {
    for (const std::uint64_t size : tensor.shape) out.number(1, size);
    out.number(2, static_cast<std::uint64_t>(tensor.type));
    for (const std::string& one : tensor.strings) out.bytes(6, one);
    out.name(8, name);
    if (tensor.type != ElementType::String) out.bytes(9, tensor.packed());
}

inline void Value::write(detail::MessageWriter& out, const std::string& name) const {
    // Number of the kind in SequenceProto.DataType and OptionalProto.DataType; its field is 2 more.
    const auto code = [](const Type& of) -> std::uint64_t {
        switch (of.kind) {
            case Type::Kind::Tensor: return 1;
            case Type::Kind::SparseTensor: return 2;
            case Type::Kind::Sequence: return 3;
            case Type::Kind::Map: return 4;
            default: return 5;
        }
    };
    const auto write_items = [&](detail::MessageWriter& to, const std::vector<Value>& all) {
        for (const Value& one : all) {
            detail::MessageWriter item;
            one.write(item, std::string());
            to.bytes(code(one.type) + 2, item.out);
        }
    };
    switch (type.kind) {
        case Type::Kind::Tensor: write_tensor(out, tensor, name); return;
        case Type::Kind::SparseTensor: {
            detail::MessageWriter values, positions;
            write_tensor(values, tensor, name);
            write_tensor(positions, indices, std::string());
            out.bytes(1, values.out);
            out.bytes(2, positions.out);
            for (const std::uint64_t size : shape) out.number(3, size);
            return;
        }
        case Type::Kind::Sequence:
            out.name(1, name);
            out.number(2, code(type.inner.front()));
            write_items(out, items);
            return;
        case Type::Kind::Optional:
            out.name(1, name);
            out.number(2, items.empty() ? 0 : code(items.front().type));
            write_items(out, items);
            return;
        default: break;
    }
    out.name(1, name);
    out.number(2, static_cast<std::uint64_t>(type.key));
    for (const MapKey& key : keys) {
        if (key.is_string) {
            out.bytes(4, key.string);
        } else {
            out.number(3, static_cast<std::uint64_t>(key.number));
        }
    }
    detail::MessageWriter values;
    sequence(type.inner.front(), items).write(values, std::string());
    out.bytes(5, values.out);
}

inline Bytes Value::serialize(const std::string& name) const {
    detail::MessageWriter out;
    write(out, name);
    return std::move(out.out);
}

// ------------------------------------------------------------------------------------------------------------------------------- Globs

// Glob over ids: * stays within a part, ** crosses parts, ? is one character, [abc] and [!a-c] are characters, {a,b} are alternatives.
// A glob also matches everything below a path that it matches, so `ai.onnx/Relu-14` is the whole group.
class Glob {
public:
    explicit Glob(const std::string& pattern) : pattern_(pattern) {
        std::string base = pattern;
        while (!base.empty() && base.back() == '/') base.pop_back();
        if (base.empty()) throw Error("glob '" + pattern + "': it selects no case; write ids with * and **");
        expand(base, 0);
    }

    const std::string& pattern() const { return pattern_; }

    bool matches(const std::string& id) const {
        for (const std::string& one : alternatives_) {
            if (matches(one.c_str(), id.c_str(), id.c_str())) return true;
        }
        return false;
    }

    // Returns true if a text contains a special character.
    static bool is_glob(const std::string& text) { return text.find_first_of("*?[{\\") != std::string::npos; }

private:
    void expand(const std::string& text, unsigned depth) {
        if (depth > 64 || alternatives_.size() > 1000) throw Error("glob '" + pattern_ + "': it has too many braces");
        const std::size_t open = text.find('{');
        if (open == std::string::npos) {
            alternatives_.push_back(text);
            return;
        }
        unsigned level = 0;
        std::vector<std::string> parts(1);
        for (std::size_t at = open; at < text.size(); ++at) {
            const char c = text[at];
            if (c == '{' && level++ == 0) continue;
            if (c == '}' && --level == 0) {
                for (const std::string& part : parts) expand(text.substr(0, open) + part + text.substr(at + 1), depth + 1);
                return;
            }
            if (c == ',' && level == 1) {
                parts.emplace_back();
            } else {
                parts.back() += c;
            }
        }
        throw Error("glob '" + pattern_ + "': a { has no }");
    }

    // `start` is the beginning of the id.
    static bool matches(const char* glob, const char* id, const char* start) {
        for (;; ++glob, ++id) {
            switch (*glob) {
                case '\0': return *id == '\0' || (*id == '/' && id[1] != '\0');
                case '*': {
                    const bool at_part = id == start || id[-1] == '/';
                    if (glob[1] == '*' && at_part && (glob[2] == '/' || glob[2] == '\0')) {
                        if (glob[2] == '\0') return *id != '\0';
                        // Any number of whole parts.
                        for (const char* from = id; from != nullptr;) {
                            if (matches(glob + 3, from, start)) return true;
                            from = std::strchr(from, '/');
                            if (from != nullptr) ++from;
                        }
                        return false;
                    }
                    while (glob[1] == '*') ++glob;
                    for (const char* from = id;; ++from) {
                        if (matches(glob + 1, from, start)) return true;
                        if (*from == '\0' || *from == '/') return false;
                    }
                }
                case '?':
                    if (*id == '\0' || *id == '/') return false;
                    break;
                case '[': {
                    const bool negated = glob[1] == '!' || glob[1] == '^';
                    const char* at = glob + (negated ? 2 : 1);
                    bool found = false;
                    const char* first = at;
                    for (; *at != '\0' && (*at != ']' || at == first); ++at) {
                        if (at[1] == '-' && at[2] != ']' && at[2] != '\0') {
                            found = found || (*at <= *id && *id <= at[2]);
                            at += 2;
                        } else {
                            found = found || *at == *id;
                        }
                    }
                    if (*at == '\0' || *id == '\0' || *id == '/' || found == negated) return false;
                    glob = at;
                    break;
                }
                case '\\':
                    if (glob[1] != '\0') ++glob;
                    if (*glob != *id) return false;
                    break;
                default:
                    if (*glob != *id) return false;
            }
        }
    }

    std::string pattern_;
    std::vector<std::string> alternatives_;
};

// Selection of ids: those that match a glob, or any if there is none, and match no glob with a leading !.
class Selection {
public:
    explicit Selection(const std::vector<std::string>& patterns) {
        for (const std::string& one : patterns) {
            if (!one.empty() && one.front() == '!') {
                unwanted_.emplace_back(one.substr(1));
            } else {
                wanted_.emplace_back(one);
            }
        }
    }

    bool matches(const std::string& id) const {
        const auto matching = [&](const Glob& glob) { return glob.matches(id); };
        return (wanted_.empty() || std::any_of(wanted_.begin(), wanted_.end(), matching)) &&
               std::none_of(unwanted_.begin(), unwanted_.end(), matching);
    }

private:
    std::vector<Glob> wanted_, unwanted_;
};

// --------------------------------------------------------------------------------------------------------------------- Cases and rules

// Level of an expectation. Open cases are recorded and not judged, unless the runtime gives no answer.
enum class Level : std::uint8_t { Required, Recommended, Open };

inline const char* name(Level level) {
    static const char* const names[] = {"required", "recommended", "open"};
    return names[static_cast<unsigned>(level)];
}

// Largest allowed distance of floating-point elements.
struct Accuracy {
    // Exact: NaN equals NaN, zeros of both signs are equal. ExactZeroSign: zeros have the same sign. Ulp: at most `ulps` representable
    // values away. Absolute: at most `absolute` away. Roundoffs: at most `multiple` units of roundoff times 1 + |expected| away. Close: at
    // most `absolute` + `relative` * |expected| away. Bounded: at most the element of `bound` away.
    enum class Kind : std::uint8_t { Exact, ExactZeroSign, Ulp, Absolute, Roundoffs, Close, Bounded };

    Kind kind = Kind::Exact;
    std::uint64_t ulps = 0;
    double absolute = 0, relative = 0, multiple = 0;
    Tensor bound;

    std::string text() const {
        char out[120];
        switch (kind) {
            case Kind::Exact: return "exact";
            case Kind::ExactZeroSign: return "exact, with the sign of zeros";
            case Kind::Ulp: return std::to_string(ulps) + " ULP";
            case Kind::Absolute: std::snprintf(out, sizeof out, "|actual - expected| <= %g", absolute); return out;
            case Kind::Roundoffs:
                std::snprintf(out, sizeof out, "|actual - expected| <= %g unit roundoffs of 1 + |expected|", multiple);
                return out;
            case Kind::Close: std::snprintf(out, sizeof out, "|actual - expected| <= %g + %g * |expected|", absolute, relative); return out;
            default: return "the bound of each element";
        }
    }
};

// Expectation for an output: the rule by which it is judged, with its values.
struct Expected {
    // Value: `values[0]` within `accuracy`. AnyOf: one of `values`. Set: the slices along the first axis or the items of `values[0]`, in
    // any order. Permuted: the elements of each lane along `axis` of `values[0]`, in any order. Sampled: a draw from a law. Unspecified:
    // any value of `type` and `shape`. SameMean: a draw like `values[0]`. Dropout: 0, or the element of `values[0]` / (1 - ratio). Mask:
    // false with the probability `ratio`.
    enum class Kind : std::uint8_t { Value, AnyOf, Set, Permuted, Sampled, Unspecified, SameMean, Dropout, Mask };
    enum class Law : std::uint8_t { Normal, Uniform, Bernoulli, Multinomial };

    Kind kind = Kind::Unspecified;
    std::vector<Value> values;
    Accuracy accuracy;
    std::int64_t axis = 0;
    Law law = Law::Normal;
    // Mean and standard deviation, or low and high.
    double first = 0, second = 0;
    double ratio = 0;
    // Type of the output, which the runtime must return.
    Type type;
    // Shape of the output, if it is a tensor of a known shape.
    std::optional<Shape> shape;

    std::string rule() const {
        switch (kind) {
            case Kind::Value: return accuracy.text();
            case Kind::AnyOf: return "one of several values";
            case Kind::Set: return "in any order";
            case Kind::Permuted: return "in any order along axis " + std::to_string(axis);
            case Kind::Sampled: return "drawn from a distribution";
            case Kind::Unspecified: return "any values";
            case Kind::SameMean: return "random values; the mean within chance";
            case Kind::Dropout: return "each element dropped, or scaled";
            default: return "each element false within chance";
        }
    }
};

struct Input {
    std::string name;
    Value value;
};

struct Output {
    std::string name;
    Expected expected;
};

// Inputs of one run and the outputs expected of it, in the order of the graph.
struct DataSet {
    std::vector<Input> inputs;
    std::vector<Output> outputs;
};

// Operator of a case; `since` is the version that has it, or 0 if it is unknown.
struct Operator {
    std::string domain, name;
    std::uint64_t since = 0;
};

// Case without its models and values, for selection.
struct CaseInfo {
    std::string id;
    Level level = Level::Required;
    // About special values: NaN, infinities, signed zeros, empty tensors, overflow, ties.
    bool is_edge = false;
    // Attacks the runtime. A refusal passes, too; without expected outputs any answer passes.
    bool is_hostile = false;
    // Must be refused.
    bool is_refusal = false;
    // Version of the model format, or 0 if it is unknown.
    std::uint64_t ir_version = 0;
    // Imported opsets by domain.
    std::vector<std::pair<std::string, std::uint64_t>> opsets;
    std::vector<Operator> operators;
    // Types of all inputs and outputs, as text.
    std::set<std::string> types;
};

struct Case;

// Refusal that is expected instead of outputs.
struct Refusal {
    // Rule that the case breaks.
    std::string rule;
    // True if only input values are invalid, which a runtime may not inspect. Otherwise the model itself is invalid.
    bool is_by_value = false;
    // The same model without the violation. A refusal counts only for a runtime that passes it.
    std::shared_ptr<const Case> control;
};

// Model, inputs, and expected outputs or refusal.
struct Case : CaseInfo {
    // Serialized ModelProto. It may be no valid model.
    Bytes model;
    // External data of the model by path relative to it.
    std::vector<std::pair<std::string, Bytes>> external_files;
    std::vector<DataSet> data;
    std::optional<Refusal> refusal;
    // Rule of an op.yaml that the case shows or breaks: id, sentence, place. Empty if there is none.
    std::string rule_id, rule_text, rule_place;
    // Why the case is judged otherwise than upstream judges it; empty otherwise.
    std::string judged_otherwise;
};

// ---------------------------------------------------------------------------------------------------------------------------- Archives

namespace detail {

inline std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
    static const std::vector<std::uint32_t> table = [] {
        std::vector<std::uint32_t> out(256);
        for (std::uint32_t at = 0; at < 256; ++at) {
            std::uint32_t value = at;
            for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
            out[at] = value;
        }
        return out;
    }();
    std::uint32_t value = 0xffffffffu;
    for (std::size_t at = 0; at < size; ++at) value = table[(value ^ data[at]) & 0xff] ^ (value >> 8);
    return value ^ 0xffffffffu;
}

// Inflates a zlib stream to exactly `size` bytes. Returns false if it is not such a stream.
inline bool inflate(const Bytes& stored, Bytes& out, std::size_t size) {
    out.resize(size);
    std::uint8_t nothing = 0;
    zlib::z_stream stream{};
    stream.next_in = stored.data();
    stream.avail_in = static_cast<unsigned>(stored.size());
    stream.next_out = size == 0 ? &nothing : out.data();
    stream.avail_out = static_cast<unsigned>(size);
    if (zlib::inflateInit2_(&stream, 15, "1.3.1", static_cast<int>(sizeof stream)) != zlib::OCZ_OK) return false;
    const int end = zlib::inflate(&stream, zlib::OCZ_FINISH);
    const bool is_whole = end == zlib::OCZ_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
    zlib::inflateEnd(&stream);
    return is_whole;
}

// Blob whose numbers are drawn from a stream, instead of stored. docs/archive.md has the rules. Numbers are integers modulo 2^64.
struct Drawn {
    static constexpr std::uint64_t max_size = std::uint64_t{16} << 20;
    static constexpr unsigned shuffled = 1, redraws_zero = 2, has_sign = 4;

    ElementType element = ElementType::Float;
    std::uint64_t count = 0, state = 0;
    unsigned flags = 0, scale = 0;
    std::uint64_t low = 0, step = 1, choices = 1, one_in = 1, refinement = 0;

    static Drawn read(Cursor& cursor) {
        Drawn drawn;
        const auto element = element_type(cursor.byte());
        if (!element || *element == ElementType::String) malformed("a drawn blob has no type of numbers");
        drawn.element = *element;
        drawn.count = cursor.varint();
        drawn.state = cursor.fixed(8);
        drawn.flags = cursor.byte();
        drawn.scale = cursor.byte();
        const std::uint64_t low = cursor.varint();
        drawn.low = (low >> 1) ^ (0 - (low & 1));
        if (drawn.count > max_size * 8 || drawn.size() > max_size) malformed("a drawn blob is too large");
        if (drawn.flags == shuffled) return drawn;
        if ((drawn.flags & ~(redraws_zero | has_sign)) != 0) malformed("a drawn blob has unknown flags");
        drawn.step = cursor.varint();
        drawn.choices = cursor.varint();
        drawn.one_in = cursor.varint();
        drawn.refinement = cursor.varint();
        const bool has_other = (drawn.flags & redraws_zero) == 0 || (drawn.choices > 1 && drawn.step > 0);
        if (drawn.choices == 0 || drawn.one_in == 0 || drawn.refinement > 62 || !has_other) malformed("a drawn blob has no choice");
        return drawn;
    }

    // Number of bytes in the form of raw_data.
    std::uint64_t size() const { return (count * bits(element) + 7) / 8; }

    // Draws the numbers, two for each complex element.
    std::vector<std::uint64_t> numbers() const {
        std::uint64_t at = state;
        const auto next = [&] {
            at += 0x9e3779b97f4a7c15u;
            std::uint64_t mixed = (at ^ (at >> 30)) * 0xbf58476d1ce4e5b9u;
            mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
            return mixed ^ (mixed >> 31);
        };
        std::vector<std::uint64_t> out(static_cast<std::size_t>(count) * (kind(element) == NumberKind::Complex ? 2 : 1));
        if (flags == shuffled) {
            for (std::size_t one = 0; one < out.size(); ++one) out[one] = low + one;
            for (std::size_t last = out.size(); last-- > 1;) std::swap(out[last], out[static_cast<std::size_t>(next() % (last + 1))]);
            return out;
        }
        for (std::uint64_t& number : out) {
            if (one_in > 1 && next() % one_in != 0) continue;
            do {
                number = low + step * (next() % choices);
            } while (number == 0 && (flags & redraws_zero) != 0);
            if ((flags & has_sign) != 0 && next() % 2 == 1) number = 0 - number;
            if (refinement == 0) continue;
            const std::uint64_t factor = std::uint64_t{1} << refinement, part = next() % 2 == 1 ? next() % factor : 0;
            const bool is_negative = number >> 63 != 0;
            // Towards zero.
            number = number * factor + (number == 0 ? 0 : is_negative ? part : 0 - part);
        }
        return out;
    }

    // Draws the elements in the form of raw_data.
    Bytes raw() const {
        const auto format = FloatFormat::of(element);
        const std::size_t width = kind(element) == NumberKind::Complex ? size_of(element) / 2 : size_of(element);
        Bytes bytes;
        bytes.reserve(static_cast<std::size_t>(count) * size_of(element));
        for (std::uint64_t number : numbers()) {
            if (format) {
                const double whole = number >> 63 != 0 ? -static_cast<double>(0 - number) : static_cast<double>(number);
                number = format->encode(std::ldexp(whole, -static_cast<int>(scale)));
            } else if (element == ElementType::Bool) {
                number = number != 0 ? 1 : 0;
            }
            for (std::size_t byte = 0; byte < width; ++byte) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * byte)));
        }
        return Tensor::from_bytes(element, {count}, std::move(bytes)).packed();
    }
};

}  // namespace detail

// Archive of cases. Not for several threads at once: each opens its own.
class Archive {
public:
    // Opens a file and reads its directory, which takes some tenths of a second for the whole suite.
    static Archive open(const std::string& path) {
        Archive archive;
        archive.path_ = path;
        archive.file_.open(path, std::ios::binary);
        if (!archive.file_) throw Error(path + ": cannot be opened; check the path and the permissions");
        archive.file_.seekg(0, std::ios::end);
        const auto size = archive.file_.tellg();
        if (size < 0) throw Error(path + ": cannot be read; it must be a regular file");
        archive.size_ = static_cast<std::uint64_t>(size);
        archive.read_header();
        return archive;
    }

    // Opens an archive in memory. `name` stands for the path in errors.
    static Archive from_memory(Bytes bytes, const std::string& name = "archive") {
        Archive archive;
        archive.path_ = name;
        archive.size_ = bytes.size();
        archive.memory_ = std::move(bytes);
        archive.is_in_memory_ = true;
        archive.read_header();
        return archive;
    }

    // Version of the suite.
    const std::string& suite() const { return suite_; }
    // Digest of the suite: the same digest means the same cases.
    const std::string& digest() const { return digest_; }
    // Name of the selection.
    const std::string& profile() const { return profile_; }
    // Release of ONNX whose texts decide the levels.
    const std::string& release() const { return release_; }

    // Number of cases.
    std::size_t size() const { return cases_.size(); }

    // Id of a case; ids ascend.
    const std::string& id(std::size_t at) const { return entries_.at(cases_.at(at)).id; }

    // Returns the cases that match the globs, in order of their ids. Globs with a leading ! exclude cases.
    std::vector<std::size_t> select(const std::vector<std::string>& globs) const {
        const Selection selection(globs);
        std::vector<std::size_t> found;
        for (std::size_t at = 0; at < cases_.size(); ++at) {
            if (selection.matches(id(at))) found.push_back(at);
        }
        return found;
    }

    // Returns the position of an id.
    std::optional<std::size_t> find(const std::string& wanted) const {
        const auto found = std::lower_bound(cases_.begin(), cases_.end(), wanted,
                                            [&](std::uint32_t entry, const std::string& id) { return entries_[entry].id < id; });
        if (found == cases_.end() || entries_[*found].id != wanted) return std::nullopt;
        return static_cast<std::size_t>(found - cases_.begin());
    }

    // Returns a case without reading models and values.
    CaseInfo info(std::size_t at) { return read_entry(cases_.at(at), false); }

    // Reads a case.
    Case read(std::size_t at) { return read_entry(cases_.at(at), true); }

    // Reads the case of an id.
    Case read(const std::string& wanted) {
        if (const auto at = find(wanted)) return read(*at);
        throw Error(path_ + ": there is no case " + wanted + "; list ids with Archive::id, or make an archive that has it");
    }

    // Checks every byte of the file. Cases are checked when they are read, in any case.
    void verify() {
        for (const Block& block : blocks_) stored_block(block);
    }

    // Cursor over all cases.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Case;
        using difference_type = std::ptrdiff_t;
        using pointer = const Case*;
        using reference = Case;

        Iterator(Archive* archive, std::size_t at) : archive_(archive), at_(at) {}
        Case operator*() const { return archive_->read(at_); }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }
        friend bool operator!=(const Iterator& a, const Iterator& b) { return a.at_ != b.at_; }

    private:
        Archive* archive_;
        std::size_t at_;
    };

    Iterator begin() { return Iterator(this, 0); }
    Iterator end() { return Iterator(this, size()); }

private:
    struct Block {
        std::uint64_t offset, stored;
        std::uint32_t crc;
        std::uint8_t stride;
        std::size_t first_blob;
        std::uint64_t size;
    };

    struct Entry {
        std::string id;
        std::size_t from, size;
    };

    struct Cached {
        std::size_t block;
        std::shared_ptr<const Bytes> bytes;
    };

    static constexpr std::uint64_t header_size = 64;
    static constexpr std::uint64_t max_inflated = std::uint64_t{1} << 30;
    // Bytes of inflated blocks that are kept. Neighbouring cases have their models and values in a few blocks, but equal values are stored
    // once, so some are in blocks of earlier cases.
    static constexpr std::size_t max_cached = std::size_t{64} << 20;

    Archive() = default;

    [[noreturn]] void refuse(const std::string& place, const std::string& reason, const std::string& way_out) const {
        throw Error(path_ + ": " + place + ": " + reason + "; " + way_out);
    }

    static const char* get_again() { return "download or make the archive again"; }

    Bytes read_bytes(std::uint64_t offset, std::uint64_t size, const std::string& place) {
        if (offset > size_ || size > size_ - offset) refuse(place, "lies beyond the end of the file", get_again());
        Bytes bytes(static_cast<std::size_t>(size));
        if (is_in_memory_) {
            std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
        } else {
            file_.clear();
            file_.seekg(static_cast<std::streamoff>(offset));
            file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
            if (static_cast<std::uint64_t>(file_.gcount()) != size) refuse(place, "cannot be read whole", "check the disk");
        }
        return bytes;
    }

    Bytes inflated(const Bytes& stored, std::uint64_t size, const std::string& place) const {
        if (size > max_inflated || size > stored.size() * std::uint64_t{1032} + 64) {
            refuse(place, "it claims a size that it cannot inflate to", "the writer of the archive has an error");
        }
        Bytes out;
        if (!detail::inflate(stored, out, static_cast<std::size_t>(size))) {
            refuse(place, "it is no zlib stream of the given length", "the writer of the archive has an error");
        }
        return out;
    }

    void read_header() {
        static const std::uint8_t magic[] = {0x89, 'O', 'N', 'X', 'C', 0x0d, 0x0a, 0x1a};
        const std::string place = "header";
        if (size_ < header_size) {
            refuse(place, "the file has " + std::to_string(size_) + " bytes, but a header has 64", "it is truncated, or no archive");
        }
        const Bytes head = read_bytes(0, header_size, place);
        if (!std::equal(std::begin(magic), std::end(magic), head.begin())) {
            refuse(place, "the first bytes are not those of an archive", "it is another file, or was transferred as text");
        }
        detail::Cursor cursor(head.data() + 8, head.size() - 8);
        const std::uint64_t version = cursor.fixed(4);
        cursor.fixed(4);
        const std::uint64_t size = cursor.fixed(8), offset = cursor.fixed(8), stored = cursor.fixed(8), whole = cursor.fixed(8);
        const std::uint64_t crc = cursor.fixed(4);
        cursor.fixed(8);
        if (cursor.fixed(4) != detail::crc32(head.data(), 60)) refuse(place, "its checksum is wrong, so it is damaged", get_again());
        if (version != 1) {
            refuse(place, "it has version " + std::to_string(version) + " of the format, but this reader knows version 1",
                   "use a newer onnx_conformance.hpp");
        }
        if (size_ < size) {
            refuse(place, "the file has " + std::to_string(size_) + " of " + std::to_string(size) + " bytes, so it is truncated",
                   get_again());
        }
        if (size_ > size) refuse(place, std::to_string(size_ - size) + " bytes follow the end of the archive", get_again());
        if (offset < header_size || offset > size || size - offset != stored || stored > max_inflated) {
            refuse(place, "the directory does not end with the file", "the writer of the archive has an error");
        }
        const Bytes bytes = read_bytes(offset, stored, "directory");
        if (detail::crc32(bytes.data(), bytes.size()) != crc) refuse("directory", "its checksum is wrong, so it is damaged", get_again());
        directory_ = inflated(bytes, whole, "directory");
        try {
            read_directory(offset);
        } catch (const Error& error) {
            // An error of a number or a text does not name the file.
            const std::string text = error.what();
            if (text.compare(0, path_.size(), path_) == 0) throw;
            refuse("directory", text, "the writer of the archive has an error");
        }
    }

    static std::string read_text(detail::Cursor& cursor) { return cursor.length_delimited().rest_as_text(); }

    // Reads a count of things that take at least a byte each.
    static std::size_t read_count(detail::Cursor& cursor) {
        const std::uint64_t count = cursor.varint();
        if (count > cursor.left()) detail::malformed("a list has more items than bytes");
        return static_cast<std::size_t>(count);
    }

    void read_directory(std::uint64_t end_of_blocks) {
        const std::string way_out = "the writer of the archive has an error";
        detail::Cursor cursor(directory_.data(), directory_.size());
        suite_ = read_text(cursor);
        digest_ = read_text(cursor);
        profile_ = read_text(cursor);
        release_ = read_text(cursor);
        cursor.length_delimited();
        for (std::size_t left = read_count(cursor); left > 0; --left) strings_.push_back(read_text(cursor));
        std::uint64_t offset = header_size;
        for (std::size_t left = read_count(cursor); left > 0; --left) {
            Block block{offset, cursor.varint(), static_cast<std::uint32_t>(cursor.fixed(4)), cursor.byte(), blob_offsets_.size(), 0};
            const std::size_t count = read_count(cursor);
            for (std::size_t blob = 0; blob < count; ++blob) {
                blob_offsets_.push_back(static_cast<std::uint32_t>(block.size));
                block.size += cursor.varint();
                if (block.size > max_inflated) refuse("directory", "a block is too large", way_out);
            }
            const bool is_stride = block.stride == 1 || block.stride == 2 || block.stride == 4 || block.stride == 8;
            if (!is_stride || block.size % block.stride != 0) refuse("directory", "a block has a wrong stride", way_out);
            if (count == 0 || block.stored > end_of_blocks - offset) refuse("directory", "a block lies outside the file", way_out);
            offset += block.stored;
            blocks_.push_back(block);
        }
        for (std::size_t left = read_count(cursor); left > 0; --left) drawn_.push_back(detail::Drawn::read(cursor));
        if (offset != end_of_blocks) refuse("directory", "there is a gap between the blocks and the directory", way_out);
        const std::size_t count = read_count(cursor);
        for (std::size_t at = 0; at < count; ++at) {
            const std::uint64_t shared = cursor.varint();
            const std::string rest = read_text(cursor);
            if (shared > (entries_.empty() ? 0 : entries_.back().id.size())) detail::malformed("an id shares more than there is");
            std::string id = (entries_.empty() ? std::string() : entries_.back().id.substr(0, static_cast<std::size_t>(shared))) + rest;
            if (!entries_.empty() && !(entries_.back().id < id)) refuse("directory", "ids are not sorted at '" + id + "'", way_out);
            const std::uint64_t size = cursor.varint();
            const std::size_t from = cursor.position();
            detail::Cursor body = cursor.part(size);
            if ((body.varint() & 1) == 0) cases_.push_back(static_cast<std::uint32_t>(at));
            entries_.push_back(Entry{std::move(id), from, static_cast<std::size_t>(size)});
        }
        if (!cursor.at_end()) refuse("directory", "bytes follow the last entry", way_out);
    }

    Bytes stored_block(const Block& block) {
        const std::string place = "block at byte " + std::to_string(block.offset);
        Bytes stored = read_bytes(block.offset, block.stored, place);
        if (detail::crc32(stored.data(), stored.size()) != block.crc) refuse(place, "its checksum is wrong, so it is damaged", get_again());
        return stored;
    }

    std::shared_ptr<const Bytes> block_bytes(std::size_t number) {
        for (std::size_t at = 0; at < cache_.size(); ++at) {
            if (cache_[at].block == number) {
                std::rotate(cache_.begin(), cache_.begin() + static_cast<std::ptrdiff_t>(at),
                            cache_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
                return cache_.front().bytes;
            }
        }
        const Block& block = blocks_[number];
        Bytes bytes = inflated(stored_block(block), block.size, "block at byte " + std::to_string(block.offset));
        if (block.stride > 1) {
            const std::size_t stride = block.stride, length = bytes.size() / stride;
            Bytes whole(bytes.size());
            for (std::size_t plane = 0; plane < stride; ++plane) {
                const std::uint8_t* from = bytes.data() + plane * length;
                for (std::size_t at = 0; at < length; ++at) whole[at * stride + plane] = from[at];
            }
            bytes = std::move(whole);
        }
        cached_bytes_ += bytes.size();
        while (!cache_.empty() && cached_bytes_ > max_cached) {
            cached_bytes_ -= cache_.back().bytes->size();
            cache_.pop_back();
        }
        cache_.insert(cache_.begin(), Cached{number, std::make_shared<const Bytes>(std::move(bytes))});
        return cache_.front().bytes;
    }

    Bytes blob(std::uint64_t number) {
        if (number >= blob_offsets_.size()) {
            const std::uint64_t at = number - blob_offsets_.size();
            if (at >= drawn_.size()) detail::malformed("a blob has a number beyond the last");
            return drawn_[static_cast<std::size_t>(at)].raw();
        }
        const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), number,
                                            [](std::uint64_t blob, const Block& block) { return blob < block.first_blob; });
        const std::size_t block = static_cast<std::size_t>(after - blocks_.begin()) - 1;
        const std::size_t next = after == blocks_.end() ? blob_offsets_.size() : after->first_blob;
        const std::size_t from = blob_offsets_[static_cast<std::size_t>(number)];
        const std::size_t to =
            number + 1 < next ? blob_offsets_[static_cast<std::size_t>(number) + 1] : static_cast<std::size_t>(blocks_[block].size);
        const auto bytes = block_bytes(block);
        return Bytes(bytes->begin() + static_cast<std::ptrdiff_t>(from), bytes->begin() + static_cast<std::ptrdiff_t>(to));
    }

    const std::string& string(detail::Cursor& cursor) const {
        const std::uint64_t number = cursor.varint();
        if (number >= strings_.size()) detail::malformed("a string has a number beyond the last");
        return strings_[static_cast<std::size_t>(number)];
    }

    const Type& type(const std::string& text) {
        const auto found = types_.find(text);
        return found != types_.end() ? found->second : types_.emplace(text, Type::parse(text)).first->second;
    }

    static Shape read_shape(detail::Cursor& cursor) {
        Shape shape;
        for (std::size_t left = read_count(cursor); left > 0; --left) shape.push_back(cursor.varint());
        return shape;
    }

    Value read_value(detail::Cursor& cursor, CaseInfo& info, bool with_values) {
        const std::string& text = string(cursor);
        info.types.insert(text);
        const Type& declared = type(text);
        const std::uint64_t message = cursor.varint(), data = cursor.varint();
        if (!with_values) return Value();
        Bytes bytes = blob(message);
        if (data != 0) {
            const Bytes raw = blob(data - 1);
            detail::MessageWriter field;
            field.bytes(9, raw);
            bytes.insert(bytes.end(), field.out.begin(), field.out.end());
        }
        Value value = Value::parse(bytes, declared);
        if (value.type != declared) detail::malformed("a value of " + value.type.text() + " is declared as " + text);
        return value;
    }

    static const Tensor& as_tensor(const Value& value, bool with_values) {
        if (with_values && value.type.kind != Type::Kind::Tensor) detail::malformed("a rule needs a tensor");
        return value.tensor;
    }

    Expected read_expected(detail::Cursor& cursor, CaseInfo& info, bool with_values) {
        Expected out;
        const unsigned tag = cursor.byte();
        if (tag > 8) detail::malformed("rule " + std::to_string(tag) + " is unknown");
        out.kind = static_cast<Expected::Kind>(tag);
        const auto add_value = [&] { out.values.push_back(read_value(cursor, info, with_values)); };
        switch (out.kind) {
            case Expected::Kind::Value: {
                add_value();
                const unsigned accuracy = cursor.byte();
                if (accuracy > 6) detail::malformed("accuracy " + std::to_string(accuracy) + " is unknown");
                out.accuracy.kind = static_cast<Accuracy::Kind>(accuracy);
                switch (out.accuracy.kind) {
                    case Accuracy::Kind::Ulp: out.accuracy.ulps = cursor.varint(); break;
                    case Accuracy::Kind::Absolute: out.accuracy.absolute = cursor.f64(); break;
                    case Accuracy::Kind::Roundoffs: out.accuracy.multiple = cursor.f64(); break;
                    case Accuracy::Kind::Close:
                        out.accuracy.relative = cursor.f64();
                        out.accuracy.absolute = cursor.f64();
                        break;
                    case Accuracy::Kind::Bounded: out.accuracy.bound = as_tensor(read_value(cursor, info, with_values), with_values); break;
                    default: break;
                }
                break;
            }
            case Expected::Kind::AnyOf:
                for (std::size_t left = read_count(cursor); left > 0; --left) add_value();
                break;
            case Expected::Kind::Set: add_value(); break;
            case Expected::Kind::Permuted: {
                add_value();
                const std::uint64_t axis = cursor.varint();
                out.axis = static_cast<std::int64_t>(axis >> 1) ^ -static_cast<std::int64_t>(axis & 1);
                break;
            }
            case Expected::Kind::Sampled: {
                const auto element = element_type(std::uint64_t{cursor.byte()});
                if (!element) detail::malformed("an element type is unknown");
                out.type = Type::tensor(*element);
                info.types.insert(out.type.text());
                out.shape = read_shape(cursor);
                const unsigned law = cursor.byte();
                if (law > 3) detail::malformed("law " + std::to_string(law) + " is unknown");
                out.law = static_cast<Expected::Law>(law);
                if (law < 2) {
                    out.first = cursor.f64();
                    out.second = cursor.f64();
                } else {
                    add_value();
                }
                return out;
            }
            case Expected::Kind::Unspecified: {
                const std::string& text = string(cursor);
                info.types.insert(text);
                out.type = type(text);
                if (cursor.byte() != 0) out.shape = read_shape(cursor);
                return out;
            }
            case Expected::Kind::SameMean: add_value(); break;
            case Expected::Kind::Dropout:
                add_value();
                out.ratio = cursor.f64();
                break;
            case Expected::Kind::Mask:
                out.type = Type::tensor(ElementType::Bool);
                info.types.insert(out.type.text());
                out.shape = read_shape(cursor);
                out.ratio = cursor.f64();
                return out;
        }
        if (!out.values.empty()) {
            out.type = out.values.front().type;
            if (out.type.kind == Type::Kind::Tensor) out.shape = out.values.front().tensor.shape;
        }
        if (out.kind >= Expected::Kind::Permuted) as_tensor(out.values.front(), with_values);
        return out;
    }

    Case read_entry(std::size_t number, bool with_values, bool is_control = false) {
        try {
            return read_body(number, with_values, is_control);
        } catch (const Error& error) {
            const std::string text = error.what();
            if (text.compare(0, path_.size(), path_) == 0) throw;
            refuse(entries_.at(number).id, text, "the writer of the archive has an error");
        }
    }

    Case read_body(std::size_t number, bool with_values, bool is_control) {
        const Entry& entry = entries_.at(number);
        detail::Cursor cursor(directory_.data() + entry.from, entry.size);
        Case out;
        out.id = entry.id;
        const std::uint64_t flags = cursor.varint();
        out.is_edge = (flags & 2) != 0;
        out.is_hostile = (flags & 4) != 0;
        out.is_refusal = (flags & 8) != 0;
        const unsigned level = cursor.byte();
        if (level > 2) detail::malformed("level " + std::to_string(level) + " is unknown");
        out.level = static_cast<Level>(level);
        const std::uint64_t model = cursor.varint();
        if (with_values) out.model = blob(model);
        for (std::size_t left = read_count(cursor); left > 0; --left) {
            const std::string& path = string(cursor);
            const std::uint64_t contents = cursor.varint();
            if (with_values) out.external_files.emplace_back(path, blob(contents));
        }
        out.ir_version = cursor.varint();
        for (std::size_t left = read_count(cursor); left > 0; --left) {
            const std::string& domain = string(cursor);
            out.opsets.emplace_back(domain, cursor.varint());
        }
        for (std::size_t left = read_count(cursor); left > 0; --left) {
            const std::string& domain = string(cursor);
            const std::string& operator_name = string(cursor);
            out.operators.push_back(Operator{domain, operator_name, cursor.varint()});
        }
        for (std::size_t sets = read_count(cursor); sets > 0; --sets) {
            DataSet data;
            for (std::size_t left = read_count(cursor); left > 0; --left) {
                const std::string& input = string(cursor);
                data.inputs.push_back(Input{input, read_value(cursor, out, with_values)});
            }
            for (std::size_t left = read_count(cursor); left > 0; --left) {
                const std::string& output = string(cursor);
                data.outputs.push_back(Output{output, read_expected(cursor, out, with_values)});
            }
            if (with_values) out.data.push_back(std::move(data));
        }
        if (out.is_refusal) {
            Refusal refusal;
            refusal.rule = string(cursor);
            refusal.is_by_value = cursor.byte() != 0;
            const std::uint64_t control = cursor.varint();
            if (is_control || control >= entries_.size()) detail::malformed("a control is missing, or itself a refusal");
            if (with_values) refusal.control = std::make_shared<const Case>(read_entry(static_cast<std::size_t>(control), true, true));
            out.refusal = std::move(refusal);
        }
        if ((flags & 16) != 0) {
            out.rule_id = string(cursor);
            out.rule_text = string(cursor);
            out.rule_place = string(cursor);
        }
        if ((flags & 32) != 0) out.judged_otherwise = string(cursor);
        return out;
    }

    std::string path_;
    std::ifstream file_;
    Bytes memory_;
    bool is_in_memory_ = false;
    std::uint64_t size_ = 0;
    Bytes directory_;
    std::string suite_, digest_, profile_, release_;
    std::vector<std::string> strings_;
    std::vector<Block> blocks_;
    // Offset of each blob in its block.
    std::vector<std::uint32_t> blob_offsets_;
    // Blobs without bytes in the file, whose numbers follow those of the others.
    std::vector<detail::Drawn> drawn_;
    std::vector<Entry> entries_;
    // Entries that are cases, not only controls.
    std::vector<std::uint32_t> cases_;
    std::map<std::string, Type> types_;
    // Inflated blocks, the last used first.
    std::vector<Cached> cache_;
    std::size_t cached_bytes_ = 0;
};

// -------------------------------------------------------------------------------------------------------------------------- Comparison

// Outcome of a case, the mildest first.
enum class Outcome : std::uint8_t {
    // Every output is correct, or the model was refused as required.
    Pass,
    // The control of a refusal does not pass, so the refusal proves nothing.
    NotApplicable,
    // The runtime said before the run that it does not have a feature.
    Unsupported,
    // The runtime failed on a valid model.
    Error,
    // An output has wrong values.
    Mismatch,
    // An output has the wrong shape, length or keys, or outputs are missing.
    WrongShape,
    // An output has the wrong type.
    WrongType,
    // The runtime ran a model that it must refuse.
    Accepted,
    // No answer within the time limit.
    Timeout,
    // More memory than the limit.
    OutOfMemory,
    // The runtime died.
    Crash,
};

constexpr unsigned outcome_count = 11;

inline const char* name(Outcome outcome) {
    static const char* const names[] = {"pass",       "not-applicable", "unsupported", "error",         "mismatch", "wrong-shape",
                                        "wrong-type", "accepted",       "timeout",     "out-of-memory", "crash"};
    return names[static_cast<unsigned>(outcome)];
}

inline std::optional<Outcome> outcome(const std::string& text) {
    for (unsigned at = 0; at < outcome_count; ++at) {
        if (text == name(static_cast<Outcome>(at))) return static_cast<Outcome>(at);
    }
    return std::nullopt;
}

// Returns true if the runtime gave no answer.
inline bool is_without_answer(Outcome outcome) { return outcome >= Outcome::Timeout; }

// Returns true if the outcome of a case of a level counts. Open cases count only if the runtime gives no answer, recommended ones only
// then or if `strict`.
inline bool counts(Outcome outcome, Level level, bool strict = false) {
    if (is_without_answer(outcome)) return true;
    return level == Level::Required || (level == Level::Recommended && strict);
}

namespace detail {

// Closeness of two values, or their difference.
struct Comparison {
    // Pass, Mismatch, WrongShape or WrongType.
    Outcome outcome = Outcome::Pass;
    std::string message;
    // The largest distance in representable values. Of a difference only if the value is inexact: each element beyond its bound is finite,
    // has the sign of the expected one, and is near it.
    std::optional<std::uint64_t> ulps;

    bool is_pass() const { return outcome == Outcome::Pass; }
};

inline Comparison different(Outcome outcome, std::string message) { return Comparison{outcome, std::move(message), std::nullopt}; }

inline Comparison far_off(std::string message) { return different(Outcome::Mismatch, std::move(message)); }

inline std::string text_of(double value) {
    char out[40];
    std::snprintf(out, sizeof out, "%.9g", value);
    return out;
}

// Combines comparisons: the largest distance of all, or the first difference with the largest distance of all differences.
class AllOf {
public:
    // Returns false if no further comparison can change the result.
    bool add(const Comparison& next) {
        if (sum_.is_pass() && next.is_pass()) {
            sum_.ulps = std::max(sum_.ulps, next.ulps);
        } else if (sum_.is_pass()) {
            sum_ = next;
        } else if (!next.is_pass()) {
            sum_.ulps = sum_.ulps && next.ulps ? std::max(sum_.ulps, next.ulps) : std::nullopt;
        }
        return sum_.is_pass() || sum_.ulps.has_value();
    }

    const Comparison& sum() const { return sum_; }

private:
    Comparison sum_;
};

inline Comparison at_place(const std::string& place, Comparison comparison) {
    if (!comparison.is_pass()) comparison.message = place + ": " + comparison.message;
    return comparison;
}

// Returns the number of representable values from one element to another; nothing if one is NaN.
inline std::optional<std::uint64_t> ulps_between(ElementType type, std::uint64_t a, std::uint64_t b) {
    if (const auto format = FloatFormat::of(type)) {
        const auto first = format->rank(a), second = format->rank(b);
        if (!first || !second) return std::nullopt;
        // Ranks are below 2^63, so their unsigned difference is right.
        const auto x = static_cast<std::uint64_t>(*first), y = static_cast<std::uint64_t>(*second);
        return *first > *second ? x - y : y - x;
    }
    // Integers, which have a distance of their own. Patterns are sign-extended to bytes; flipping the sign orders them.
    const std::uint64_t sign = kind(type) == NumberKind::Signed ? std::uint64_t{1} << (8 * size_of(type) - 1) : 0;
    return std::max(a ^ sign, b ^ sign) - std::min(a ^ sign, b ^ sign);
}

// Rule for the elements of a tensor of real numbers. Integers have one if each has a bound, such as pixels.
class FloatRule {
public:
    FloatRule(const Accuracy& accuracy, ElementType element) : accuracy_(accuracy), element_(element) {}

    // Returns the largest allowed distance from an expected value, for rules that have one.
    double distance(std::size_t at, double expected) const {
        switch (accuracy_.kind) {
            case Accuracy::Kind::Absolute: return accuracy_.absolute;
            case Accuracy::Kind::Roundoffs:
                return accuracy_.multiple * FloatFormat::of(element_)->unit_roundoff() * (1.0 + std::fabs(expected));
            case Accuracy::Kind::Close: {
                const bool is_bfloat16 = element_ == ElementType::Bfloat16;
                const double relative = is_bfloat16 ? std::max(accuracy_.relative, 0.015625) : accuracy_.relative;
                return accuracy_.absolute + relative * std::fabs(expected);
            }
            case Accuracy::Kind::Bounded: return at < accuracy_.bound.size() ? accuracy_.bound.number(at) : 0.0;
            default: return 0.0;
        }
    }

    // Returns true if an element, as value and pattern, is close enough.
    bool holds(std::size_t at, double want, std::uint64_t want_bits, double got, std::uint64_t got_bits) const {
        if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
        if (accuracy_.kind == Accuracy::Kind::ExactZeroSign && want == 0 && got == 0) return want_bits == got_bits;
        if (want == got) return true;
        // No finite number is near an infinity. But rounding may turn one of the largest numbers into an infinity.
        if (std::isinf(want)) return false;
        switch (accuracy_.kind) {
            case Accuracy::Kind::Ulp: {
                const auto distance = ulps_between(element_, want_bits, got_bits);
                return distance && *distance <= accuracy_.ulps;
            }
            case Accuracy::Kind::Exact:
            case Accuracy::Kind::ExactZeroSign: return false;
            case Accuracy::Kind::Bounded: return std::fabs(want - got) <= distance(at, want);
            default: return !std::isinf(got) && std::fabs(got - want) <= distance(at, want);
        }
    }

    // Returns true if an element beyond its bound is only inexact.
    bool is_inexact(double want, double got, std::uint64_t distance) const {
        const unsigned width = bits(element_);
        const std::uint64_t near_by = width <= 8 ? 1 : width <= 16 ? 4 : 64;
        const std::uint64_t allowed = accuracy_.kind == Accuracy::Kind::Ulp ? accuracy_.ulps : 0;
        const std::uint64_t most = allowed > std::numeric_limits<std::uint64_t>::max() / 4 ? ~std::uint64_t{0} : 4 * allowed;
        return std::isfinite(want) && std::isfinite(got) && std::signbit(want) == std::signbit(got) && distance <= std::max(near_by, most);
    }

private:
    const Accuracy& accuracy_;
    ElementType element_;
};

inline std::string place_text(const Shape& shape, std::size_t at) {
    Shape index(shape.size());
    std::uint64_t rest = at;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = rest % std::max<std::uint64_t>(shape[axis], 1);
        rest /= std::max<std::uint64_t>(shape[axis], 1);
    }
    return text(index);
}

inline Comparison mismatch(const Tensor& expected, const Tensor& actual, std::size_t count, std::size_t at, const std::string& rule,
                           const std::string& detail, std::optional<std::uint64_t> ulps) {
    Comparison out =
        far_off(std::to_string(count) + " of " + std::to_string(expected.size()) + " elements differ (" + rule + "); at " +
                place_text(expected.shape, at) + " expected " + expected.element_text(at) + ", got " + actual.element_text(at) + detail);
    out.ulps = ulps;
    return out;
}

inline Comparison compare_reals(const Tensor& expected, const Tensor& actual, const Accuracy& accuracy) {
    const FloatRule rule(accuracy, expected.type);
    Comparison out;
    if (expected.size() > 0) out.ulps = 0;
    std::size_t count = 0, worst = 0;
    std::uint64_t worst_rank = 0;
    std::optional<std::uint64_t> inexact = 0;
    for (std::size_t at = 0; at < expected.size(); ++at) {
        const double want = expected.number(at), got = actual.number(at);
        if (want == got && want != 0) continue;
        const std::uint64_t want_bits = expected.pattern(at), got_bits = actual.pattern(at);
        const auto distance = ulps_between(expected.type, want_bits, got_bits);
        out.ulps = std::max(out.ulps, distance);
        if (rule.holds(at, want, want_bits, got, got_bits)) continue;
        ++count;
        // A NaN or a wrong sign of zero has no distance and counts as the worst mismatch.
        const std::uint64_t rank = distance && *distance > 0 ? *distance : ~std::uint64_t{0};
        if (count == 1 || rank > worst_rank) {
            worst = at;
            worst_rank = rank;
        }
        const bool is_near = distance && rule.is_inexact(want, got, *distance);
        inexact = inexact && is_near ? std::max(inexact, distance) : std::nullopt;
    }
    if (count == 0) return out;
    std::string detail = worst_rank == ~std::uint64_t{0} ? std::string() : ", " + std::to_string(worst_rank) + " ULP";
    const double want = expected.number(worst), allowed = rule.distance(worst, want);
    if (allowed > 0) {
        detail += ", off by " + text_of(std::fabs(actual.number(worst) - want)) + " where " + text_of(allowed) + " is allowed";
    }
    return mismatch(expected, actual, count, worst, accuracy.text(), detail, inexact);
}

inline Comparison compare_tensors(const Tensor& expected, const Tensor& actual, const Accuracy& accuracy) {
    if (expected.type != actual.type) {
        return different(Outcome::WrongType,
                         std::string("expected tensor(") + name(expected.type) + "), got tensor(" + name(actual.type) + ")");
    }
    if (expected.shape != actual.shape) {
        return different(Outcome::WrongShape, "expected shape " + text(expected.shape) + ", got " + text(actual.shape));
    }
    if (expected.size() != actual.size()) {
        return different(Outcome::WrongShape,
                         "expected " + std::to_string(expected.size()) + " elements, got " + std::to_string(actual.size()));
    }
    const NumberKind number = kind(expected.type);
    const bool has_bounds = accuracy.kind == Accuracy::Kind::Bounded && (number == NumberKind::Signed || number == NumberKind::Unsigned);
    if (number == NumberKind::Float || has_bounds) return compare_reals(expected, actual, accuracy);
    if (number == NumberKind::Complex) {
        // Reals with one more axis: index 0 is the real part, 1 the imaginary part.
        const ElementType part = expected.type == ElementType::Complex64 ? ElementType::Float : ElementType::Double;
        const auto parts = [&](const Tensor& tensor) {
            Tensor out{part, tensor.shape, tensor.bytes, {}};
            out.shape.push_back(2);
            return out;
        };
        return at_place("parts", compare_reals(parts(expected), parts(actual), accuracy));
    }
    std::size_t count = 0, first = 0;
    const auto same = [&](std::size_t at) {
        switch (number) {
            case NumberKind::String: return expected.strings[at] == actual.strings[at];
            case NumberKind::Bool: return (expected.pattern(at) != 0) == (actual.pattern(at) != 0);
            default: return expected.pattern(at) == actual.pattern(at);
        }
    };
    for (std::size_t at = 0; at < expected.size(); ++at) {
        if (!same(at) && ++count == 1) first = at;
    }
    return count == 0 ? Comparison() : mismatch(expected, actual, count, first, "exact", std::string(), std::nullopt);
}

inline Comparison compare(const Value& expected, const Value& actual, const Accuracy& accuracy) {
    if (expected.type.kind == Type::Kind::Tensor && accuracy.kind == Accuracy::Kind::Bounded) {
        if (actual.type.kind != Type::Kind::Tensor) return different(Outcome::WrongType, "expected a tensor, got " + actual.type.text());
        return compare_tensors(expected.tensor, actual.tensor, accuracy);
    }
    if (expected.type != actual.type) {
        return different(Outcome::WrongType, "expected " + expected.type.text() + ", got " + actual.type.text());
    }
    switch (expected.type.kind) {
        case Type::Kind::Tensor: return compare_tensors(expected.tensor, actual.tensor, accuracy);
        case Type::Kind::SparseTensor: {
            if (expected.shape != actual.shape) {
                return different(Outcome::WrongShape, "expected shape " + text(expected.shape) + ", got " + text(actual.shape));
            }
            Comparison indices = compare_tensors(expected.indices, actual.indices, Accuracy());
            return indices.is_pass() ? compare_tensors(expected.tensor, actual.tensor, accuracy) : indices;
        }
        case Type::Kind::Optional:
            if (expected.items.empty() != actual.items.empty()) {
                const std::string want = expected.items.empty() ? "absent" : "present", got = actual.items.empty() ? "absent" : "present";
                return different(Outcome::WrongShape, "the optional is " + got + ", expected " + want);
            }
            return expected.items.empty() ? Comparison() : compare(expected.items.front(), actual.items.front(), accuracy);
        case Type::Kind::Map:
            if (!(expected.keys == actual.keys)) {
                const auto keys = [](const Value& map) {
                    std::string out;
                    for (const MapKey& key : map.keys) out += (out.empty() ? "" : ", ") + key.text();
                    return "[" + out + "]";
                };
                return different(Outcome::WrongShape, "expected keys " + keys(expected) + ", got " + keys(actual));
            }
            break;
        default: break;
    }
    if (expected.items.size() != actual.items.size()) {
        return different(Outcome::WrongShape,
                         "expected " + std::to_string(expected.items.size()) + " items, got " + std::to_string(actual.items.size()));
    }
    AllOf all;
    for (std::size_t at = 0; at < expected.items.size(); ++at) {
        const bool is_map = expected.type.kind == Type::Kind::Map;
        const std::string place = is_map ? "key " + expected.keys[at].text() : "item " + std::to_string(at);
        if (!all.add(at_place(place, compare(expected.items[at], actual.items[at], accuracy)))) break;
    }
    return all.sum();
}

// Element as a text of bytes for exact comparison: all NaNs are equal, and so are zeros of both signs.
inline std::string exact_element(const Tensor& tensor, std::size_t at) {
    const auto number = [](double value) {
        if (std::isnan(value)) return std::string("nan");
        if (value == 0) value = 0;
        return std::string(reinterpret_cast<const char*>(&value), sizeof value);
    };
    switch (kind(tensor.type)) {
        case NumberKind::String: return tensor.strings[at];
        case NumberKind::Float: return number(tensor.number(at));
        case NumberKind::Complex: return number(tensor.part(2 * at)) + "," + number(tensor.part(2 * at + 1));
        case NumberKind::Bool: return tensor.pattern(at) != 0 ? "1" : "0";
        default: return std::to_string(tensor.pattern(at));
    }
}

// Compares two lists of things in any order.
inline Comparison same_counts(std::vector<std::vector<std::string>> expected, std::vector<std::vector<std::string>> actual,
                              const char* what) {
    std::map<std::vector<std::string>, std::size_t> counts;
    for (auto& one : actual) ++counts[std::move(one)];
    for (std::size_t at = 0; at < expected.size(); ++at) {
        std::size_t& left = counts[expected[at]];
        if (left == 0) return far_off(std::string("expected ") + what + " " + std::to_string(at) + " is missing");
        --left;
    }
    return Comparison();
}

inline Comparison same_set(const Value& expected, const Value& actual) {
    if (expected.type.kind == Type::Kind::Tensor && actual.type.kind == Type::Kind::Tensor) {
        const std::size_t rows = expected.tensor.shape.empty() ? 1 : static_cast<std::size_t>(expected.tensor.shape.front());
        const std::size_t width = rows == 0 ? 0 : expected.tensor.size() / rows;
        const auto slices = [&](const Tensor& tensor) {
            std::vector<std::vector<std::string>> out;
            for (std::size_t row = 0; row < rows && width > 0; ++row) {
                out.emplace_back();
                for (std::size_t at = 0; at < width; ++at) out.back().push_back(exact_element(tensor, row * width + at));
            }
            return out;
        };
        return same_counts(slices(expected.tensor), slices(actual.tensor), "slice");
    }
    if (expected.type.kind == Type::Kind::Sequence && actual.type.kind == Type::Kind::Sequence) {
        if (expected.items.size() != actual.items.size()) {
            return different(Outcome::WrongShape,
                             "expected " + std::to_string(expected.items.size()) + " items, got " + std::to_string(actual.items.size()));
        }
        std::vector<bool> used(actual.items.size(), false);
        for (std::size_t at = 0; at < expected.items.size(); ++at) {
            std::size_t found = 0;
            while (found < used.size() && (used[found] || !compare(expected.items[at], actual.items[found], Accuracy()).is_pass())) ++found;
            if (found == used.size()) return far_off("expected item " + std::to_string(at) + " is missing");
            used[found] = true;
        }
        return Comparison();
    }
    return compare(expected, actual, Accuracy());
}

inline Comparison same_lanes(const Tensor& expected, std::int64_t axis, const Tensor& actual) {
    const auto rank = static_cast<std::int64_t>(expected.shape.size());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return different(Outcome::WrongShape, "shape " + text(expected.shape) + " has no such axis");
    std::size_t inner = 1;
    for (std::size_t at = static_cast<std::size_t>(axis) + 1; at < expected.shape.size(); ++at)
        inner *= static_cast<std::size_t>(expected.shape[at]);
    const std::size_t size = static_cast<std::size_t>(expected.shape[static_cast<std::size_t>(axis)]);
    const auto lanes = [&](const Tensor& tensor) {
        std::map<std::size_t, std::vector<std::vector<std::string>>> out;
        for (std::size_t at = 0; at < tensor.size(); ++at) {
            const std::size_t lane = at / std::max<std::size_t>(inner * size, 1) * inner + at % std::max<std::size_t>(inner, 1);
            out[lane].push_back({exact_element(tensor, at)});
        }
        return out;
    };
    auto wants = lanes(expected), gots = lanes(actual);
    for (auto& want : wants) {
        Comparison lane = same_counts(std::move(want.second), std::move(gots[want.first]), "element");
        if (!lane.is_pass()) return at_place("lane " + std::to_string(want.first), std::move(lane));
    }
    return Comparison();
}

// Statistical tests. Means and counts may be six standard deviations off: a correct run fails once in five hundred million.
constexpr double deviations = 6.0;

// Error of a mean, a variance or a fraction due to rounding to the narrowest types, as a fraction of its value.
constexpr double rounding = 0.01;

inline std::vector<double> numbers(const Tensor& tensor) {
    std::vector<double> out(tensor.type == ElementType::String ? 0 : tensor.size());
    for (std::size_t at = 0; at < out.size(); ++at) out[at] = tensor.number(at);
    return out;
}

inline double count_of(const std::vector<double>& values) { return static_cast<double>(std::max<std::size_t>(values.size(), 1)); }

inline double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / count_of(values);
}

inline double variance_around(const std::vector<double>& values, double mean) {
    double sum = 0;
    for (const double value : values) sum += (value - mean) * (value - mean);
    return sum / count_of(values);
}

inline std::optional<Comparison> not_finite(const std::vector<double>& values) {
    for (const double value : values) {
        if (!std::isfinite(value)) return far_off("an element is " + text_of(value));
    }
    return std::nullopt;
}

inline Comparison same_mean(const Tensor& sample, const Tensor& actual) {
    const std::vector<double> expected = numbers(sample), drawn = numbers(actual);
    if (auto wrong = not_finite(drawn)) return *wrong;
    const double want = mean_of(expected), got = mean_of(drawn);
    const double variances = variance_around(expected, want) + variance_around(drawn, got);
    // Few elements may all be equal by chance, and their variance is then 0: an eighth is added.
    const double allowed = deviations * std::sqrt((variances + 0.125) / count_of(expected));
    if (std::fabs(want - got) <= allowed) return Comparison();
    return far_off("the mean of the stored sample is " + text_of(want) + ", that of the output " + text_of(got) +
                   "; chance allows a difference of " + text_of(allowed));
}

inline Comparison check_dropped(std::size_t dropped, std::size_t all, double ratio) {
    const double mean = static_cast<double>(all) * ratio;
    const double allowed = deviations * std::sqrt(static_cast<double>(all) * ratio * (1.0 - ratio));
    if (std::fabs(static_cast<double>(dropped) - mean) <= allowed) return Comparison();
    return far_off(std::to_string(dropped) + " of " + std::to_string(all) + " elements are dropped at a ratio of " + text_of(ratio) +
                   "; chance allows " + text_of(mean) + " plus or minus " + text_of(allowed));
}

inline Comparison check_dropout(const Tensor& source, double ratio, const Tensor& actual) {
    const double scale = 1.0 / (1.0 - ratio);
    const auto format = kind(source.type) == NumberKind::Float ? FloatFormat::of(source.type) : std::nullopt;
    const double allowed = std::max(1e-3, 4.0 * (format ? format->unit_roundoff() : 0.0));
    std::size_t dropped = 0, all = 0;
    for (std::size_t at = 0; at < source.size() && at < actual.size(); ++at) {
        const double from = source.number(at), to = actual.number(at);
        const bool kept = std::fabs(to - from * scale) <= allowed * std::fabs(from * scale);
        if (from != 0) {
            ++all;
            if (to == 0 && !kept) ++dropped;
        }
        if (!kept && to != 0) {
            return far_off("element " + std::to_string(at) + " is " + text_of(to) + ", neither 0 nor " + text_of(from) + " / (1 - " +
                           text_of(ratio) + ")");
        }
    }
    return check_dropped(dropped, all, ratio);
}

inline Comparison check_mask(double ratio, const Tensor& actual) {
    std::size_t dropped = 0;
    for (std::size_t at = 0; at < actual.size(); ++at) dropped += actual.pattern(at) == 0 ? 1u : 0u;
    return check_dropped(dropped, actual.size(), ratio);
}

// `spread` is the variance of the squared distance from the mean, divided by the squared variance.
inline Comparison check_moments(const std::vector<double>& values, double mean, double variance, double spread) {
    if (auto wrong = not_finite(values)) return *wrong;
    const double count = count_of(values), got = mean_of(values);
    double allowed = deviations * std::sqrt(variance / count) + rounding * (std::fabs(mean) + std::sqrt(variance));
    if (std::fabs(got - mean) > allowed) {
        return far_off("the mean is " + text_of(got) + ", expected " + text_of(mean) + "; chance allows a difference of " +
                       text_of(allowed));
    }
    const double squares = variance_around(values, mean);
    allowed = variance * (deviations * std::sqrt(spread / count) + rounding);
    // The sum of few squares is far from normal, and six deviations would be too strict.
    if (values.size() >= 200 && std::fabs(squares - variance) > allowed) {
        return far_off("the variance is " + text_of(squares) + ", expected " + text_of(variance) + "; chance allows a difference of " +
                       text_of(allowed));
    }
    return Comparison();
}

// Kolmogorov-Smirnov test. `below` is the probability of a smaller value.
template <typename Below>
Comparison check_shape(std::vector<double> values, const Below& below) {
    std::sort(values.begin(), values.end());
    const double count = count_of(values);
    const double allowed = 3.22 / std::sqrt(count) + rounding;
    for (std::size_t at = 0; at < values.size(); ++at) {
        const double share = static_cast<double>(at) / count, probability = below(values[at]);
        if (std::fabs(share - probability) > allowed) {
            return far_off("a fraction of " + text_of(share) + " of the elements is below " + text_of(values[at]) + ", expected " +
                           text_of(probability));
        }
    }
    return Comparison();
}

inline Comparison check_count(double probability, std::size_t found, std::size_t all, const std::string& what) {
    const double mean = static_cast<double>(all) * probability;
    const double deviation = deviations * std::sqrt(mean * std::max(1.0 - probability, 0.0));
    // Six deviations of a rare event may be less than one event. One more is allowed if the event is possible.
    const double allowed = probability > 0 && probability < 1 ? deviation + 1.0 : 0.5;
    if (std::fabs(static_cast<double>(found) - mean) <= allowed) return Comparison();
    return far_off(std::to_string(found) + " of " + std::to_string(all) + " elements are " + what + " at a probability of " +
                   text_of(probability) + "; chance allows " + text_of(mean) + " plus or minus " + text_of(allowed));
}

inline Comparison check_bernoulli(const std::vector<double>& probabilities, const std::vector<double>& values) {
    std::map<double, std::pair<std::size_t, std::size_t>> groups;
    std::size_t ones = 0, all = 0;
    double expected = 0;
    for (std::size_t at = 0; at < probabilities.size() && at < values.size(); ++at) {
        if (values[at] != 0 && values[at] != 1)
            return far_off("element " + std::to_string(at) + " is " + text_of(values[at]) + ", neither 0 nor 1");
        auto& group = groups[probabilities[at]];
        const std::size_t one = values[at] == 1 ? 1 : 0;
        group.first += one;
        group.second += 1;
        ones += one;
        all += 1;
        expected += probabilities[at];
    }
    for (const auto& group : groups) {
        Comparison count = check_count(group.first, group.second.first, group.second.second, "1");
        if (!count.is_pass()) return count;
    }
    return check_count(expected / static_cast<double>(std::max<std::size_t>(all, 1)), ones, all, "1");
}

inline Comparison check_multinomial(const Tensor& weights, const std::vector<double>& values) {
    if (weights.shape.size() != 2) return far_off("weights of shape " + text(weights.shape) + " are not rows of classes");
    const auto rows = static_cast<std::size_t>(weights.shape[0]), classes = static_cast<std::size_t>(weights.shape[1]);
    const std::size_t draws = rows == 0 ? 0 : values.size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
        std::vector<std::size_t> counts(classes, 0);
        for (std::size_t at = row * draws; at < (row + 1) * draws; ++at) {
            const double value = values[at];
            if (!(value >= 0 && value < static_cast<double>(classes) && value == std::floor(value))) {
                return far_off("an element is " + text_of(value) + ", which is not one of " + std::to_string(classes) + " classes");
            }
            ++counts[static_cast<std::size_t>(value)];
        }
        std::vector<double> exponentials(classes);
        double total = 0;
        for (std::size_t at = 0; at < classes; ++at) total += exponentials[at] = std::exp(weights.number(row * classes + at));
        for (std::size_t at = 0; at < classes; ++at) {
            Comparison count =
                check_count(exponentials[at] / total, counts[at], draws, std::to_string(at) + " in row " + std::to_string(row));
            if (!count.is_pass()) return count;
        }
    }
    return Comparison();
}

inline Comparison check_drawn(const Expected& expected, const Tensor& actual) {
    const std::vector<double> values = numbers(actual);
    if (values.empty()) return Comparison();
    switch (expected.law) {
        case Expected::Law::Normal: {
            const double mean = expected.first, deviation = expected.second;
            Comparison moments = check_moments(values, mean, deviation * deviation, 2.0);
            if (!moments.is_pass()) return moments;
            return check_shape(values, [&](double value) { return 0.5 * std::erfc((mean - value) / (deviation * std::sqrt(2.0))); });
        }
        case Expected::Law::Uniform: {
            const double low = expected.first, high = expected.second, width = high - low;
            for (const double value : values) {
                if (!(low <= value && value <= high)) {
                    return far_off("an element is " + text_of(value) + ", outside " + text_of(low) + " to " + text_of(high));
                }
            }
            Comparison moments = check_moments(values, (low + high) / 2, width * width / 12, 0.8);
            if (!moments.is_pass()) return moments;
            return check_shape(values, [&](double value) { return std::min(std::max((value - low) / width, 0.0), 1.0); });
        }
        case Expected::Law::Bernoulli: return check_bernoulli(numbers(expected.values.front().tensor), values);
        default: return check_multinomial(expected.values.front().tensor, values);
    }
}

// Compares type and, of a tensor, shape.
inline Comparison check_declared(const Expected& expected, const Value& actual) {
    if (actual.type != expected.type) {
        return different(Outcome::WrongType, "expected " + expected.type.text() + ", got " + actual.type.text());
    }
    if (expected.shape && actual.type.kind == Type::Kind::Tensor && actual.tensor.shape != *expected.shape) {
        return different(Outcome::WrongShape, "expected shape " + text(*expected.shape) + ", got " + text(actual.tensor.shape));
    }
    return Comparison();
}

inline Comparison check(const Expected& expected, const Value& actual) {
    if (actual.type.kind == Type::Kind::Tensor && element_count(actual.tensor.shape) != std::uint64_t{actual.tensor.size()}) {
        return different(Outcome::WrongShape,
                         "got " + std::to_string(actual.tensor.size()) + " elements of shape " + text(actual.tensor.shape));
    }
    if (expected.kind == Expected::Kind::Value) return compare(expected.values.front(), actual, expected.accuracy);
    if (expected.kind == Expected::Kind::AnyOf) {
        Comparison last = far_off("no value is allowed");
        for (const Value& value : expected.values) {
            Comparison next = compare(value, actual, Accuracy());
            if (next.is_pass()) return next;
            // The distance is that from the nearest value.
            if (last.ulps && (!next.ulps || *last.ulps < *next.ulps)) next.ulps = last.ulps;
            last = std::move(next);
        }
        last.message = "none of " + std::to_string(expected.values.size()) + " allowed values: " + last.message;
        return last;
    }
    Comparison declared = check_declared(expected, actual);
    if (!declared.is_pass()) return declared;
    switch (expected.kind) {
        case Expected::Kind::Set: return same_set(expected.values.front(), actual);
        case Expected::Kind::Permuted: return same_lanes(expected.values.front().tensor, expected.axis, actual.tensor);
        case Expected::Kind::Sampled: return check_drawn(expected, actual.tensor);
        case Expected::Kind::SameMean: return same_mean(expected.values.front().tensor, actual.tensor);
        case Expected::Kind::Dropout: return check_dropout(expected.values.front().tensor, expected.ratio, actual.tensor);
        case Expected::Kind::Mask: return check_mask(expected.ratio, actual.tensor);
        default: return Comparison();
    }
}

}  // namespace detail

// ---------------------------------------------------------------------------------------------------------------------------- Verdicts

// Outcome of a case and its reason.
struct Verdict {
    Outcome outcome = Outcome::Pass;
    std::string message;
    // The largest distance from an expected element, in representable values; of a mismatch only if its outputs are inexact.
    std::optional<std::uint64_t> ulps;
    // The feature that the runtime does not have, of Unsupported.
    std::string missing;
};

// Answer of a runtime to a model and inputs.
struct Answer {
    enum class Kind { Outputs, Error, Unsupported, Timeout, OutOfMemory, Crash };

    Kind kind = Kind::Outputs;
    std::vector<Value> outputs;
    std::string message;
    // The missing feature, of Unsupported: the same text for all cases that need it, such as `operator ai.onnx/Abs`, `tensor(bfloat16)` or
    // `tensor(bfloat16) in ai.onnx/Abs-13`. So one entry for expected failures covers them all.
    std::string missing;

    // The values of all outputs of the data set, in order.
    static Answer of_outputs(std::vector<Value> outputs) { return Answer{Kind::Outputs, std::move(outputs), {}, {}}; }
    // The runtime failed to load or to run the model.
    static Answer of_error(std::string message) { return Answer{Kind::Error, {}, std::move(message), {}}; }
    // The runtime does not have a feature, and said so before it ran.
    static Answer of_unsupported(std::string missing, std::string message = std::string()) {
        return Answer{Kind::Unsupported, {}, std::move(message), std::move(missing)};
    }
    // The runtime gave no answer: Timeout, OutOfMemory or Crash.
    static Answer of_end(Kind kind, std::string message) { return Answer{kind, {}, std::move(message), {}}; }
};

// Runs a data set of a case on a runtime.
using Runner = std::function<Answer(const Case&, const DataSet&)>;

// Judges the outputs of one data set.
inline Verdict judge_outputs(const DataSet& data, const std::vector<Value>& outputs) {
    if (data.outputs.size() != outputs.size()) {
        return Verdict{Outcome::WrongShape,
                       "expected " + std::to_string(data.outputs.size()) + " outputs, got " + std::to_string(outputs.size()),
                       std::nullopt,
                       {}};
    }
    detail::AllOf all;
    for (std::size_t at = 0; at < outputs.size(); ++at) {
        const Output& output = data.outputs[at];
        if (!all.add(detail::at_place("output '" + output.name + "'", detail::check(output.expected, outputs[at])))) break;
    }
    return Verdict{all.sum().outcome, all.sum().message, all.sum().ulps, {}};
}

namespace detail {

inline bool is_refusal(const Answer& answer) { return answer.kind == Answer::Kind::Error || answer.kind == Answer::Kind::Unsupported; }

inline Verdict failure(const Answer& answer) {
    switch (answer.kind) {
        case Answer::Kind::Outputs: return Verdict();
        case Answer::Kind::Error: return Verdict{Outcome::Error, answer.message, std::nullopt, {}};
        case Answer::Kind::Unsupported:
            return Verdict{Outcome::Unsupported, answer.message.empty() ? answer.missing : answer.message, std::nullopt, answer.missing};
        case Answer::Kind::Timeout: return Verdict{Outcome::Timeout, answer.message, std::nullopt, {}};
        case Answer::Kind::OutOfMemory: return Verdict{Outcome::OutOfMemory, answer.message, std::nullopt, {}};
        default: return Verdict{Outcome::Crash, answer.message, std::nullopt, {}};
    }
}

}  // namespace detail

// Runs a case and judges the result. Of a case that must be refused, the control runs too: a refusal counts only if the same model without
// the violation passes.
inline Verdict judge(const Case& test, const Runner& run) {
    if (test.refusal) {
        const DataSet none;
        const Answer answer = run(test, test.data.empty() ? none : test.data.front());
        Verdict verdict;
        if (answer.kind == Answer::Kind::Outputs) {
            verdict = Verdict{Outcome::Accepted, "accepted a model that must be refused: " + test.refusal->rule, std::nullopt, {}};
        } else if (!detail::is_refusal(answer)) {
            verdict = detail::failure(answer);
        }
        const Verdict control = judge(*test.refusal->control, run);
        // A hostile model that leaves a runtime without an answer counts even if the control fails.
        const bool has_died = test.is_hostile ? is_without_answer(verdict.outcome) : verdict.outcome == Outcome::Crash;
        if (control.outcome != Outcome::Pass && !has_died) {
            verdict = Verdict{Outcome::NotApplicable,
                              "the control " + test.refusal->control->id + " ends with " + name(control.outcome) + ": " + control.message,
                              std::nullopt,
                              {}};
        }
        return verdict;
    }
    Verdict verdict;
    for (std::size_t at = 0; at < test.data.size(); ++at) {
        const DataSet& data = test.data[at];
        const Answer answer = run(test, data);
        Verdict next;
        if (answer.kind == Answer::Kind::Outputs) {
            if (test.is_hostile && data.outputs.empty()) continue;
            next = judge_outputs(data, answer.outputs);
            if (next.outcome == Outcome::Pass) {
                verdict.ulps = std::max(verdict.ulps, next.ulps);
                continue;
            }
            // The distances in later data sets are unknown.
            if (at + 1 < test.data.size()) next.ulps = std::nullopt;
        } else if (test.is_hostile && detail::is_refusal(answer)) {
            verdict.message = "refused: " + answer.message;
            break;
        } else {
            next = detail::failure(answer);
            next.ulps = verdict.ulps;
        }
        if (test.data.size() > 1) next.message = "test_data_set_" + std::to_string(at) + ": " + next.message;
        return next;
    }
    return verdict;
}

// Judges the outputs of a case with one data set, which a runtime has already computed. If the case must be refused, outputs mean that it
// was accepted, and its control counts as passed.
inline Verdict judge(const Case& test, const std::vector<Value>& outputs) {
    if (test.refusal) return Verdict{Outcome::Accepted, "accepted a model that must be refused: " + test.refusal->rule, std::nullopt, {}};
    if (test.data.size() != 1) {
        throw Error(test.id + ": has " + std::to_string(test.data.size()) + " data sets; use judge with a runner");
    }
    return judge(test, [&](const Case&, const DataSet&) { return Answer::of_outputs(outputs); });
}

// -------------------------------------------------------------------------------------------------------------------- Expected failures

// File of expected failures, one a line:
//
//     # Lines that begin with # are comments.
//     error ai.onnx/Acos-22/**                      # not implemented
//     mismatch ai.onnx/Mod-13/by_zero/T=int32       # issue 123
//     unsupported feature tensor(bfloat16)*         # cases that are declined because of it; * is any text
//
// A line has an outcome, an id or a glob over ids, and optionally a reason. An id is stronger than a feature, and a feature than a glob;
// among globs, one with the outcome of the case is stronger. Every case that an entry matches must end in its outcome, and an entry must
// match a case.
class Expectations {
public:
    // Result of a case compared with the file.
    enum class Status { AsExpected, NotJudged, UnexpectedFailure, UnexpectedPass, DifferentFailure };

    Expectations() = default;

    // Reads a file.
    static Expectations read(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) throw Error(path + ": cannot be opened; check the path, or write the file with an update");
        Expectations out;
        out.path_ = path;
        std::string line;
        for (std::size_t number = 1; std::getline(file, line); ++number) {
            if (!line.empty() && line.back() == '\r') line.pop_back();
            out.add_line(line, path + ":" + std::to_string(number));
        }
        return out;
    }

    // Reads entries from a text.
    static Expectations parse(const std::string& text) {
        Expectations out;
        std::size_t number = 0;
        for (std::size_t from = 0; from < text.size();) {
            const std::size_t to = std::min(text.find('\n', from), text.size());
            out.add_line(text.substr(from, to - from), "line " + std::to_string(++number));
            from = to + 1;
        }
        return out;
    }

    // Judges recommended cases, too.
    bool strict = false;

    // Returns the expected outcome of a case, given how it ended.
    Outcome expected(const std::string& id, const Verdict& ended) const {
        const Line* line = match(id, ended);
        return line == nullptr ? Outcome::Pass : line->outcome;
    }

    // Compares a result with the file and records it for `problems` and `updated`.
    Status add(const std::string& id, Level level, const Verdict& verdict) {
        const Line* line = match(id, verdict);
        Status status = Status::AsExpected;
        const Outcome wanted = line == nullptr ? Outcome::Pass : line->outcome;
        const bool is_judged = counts(verdict.outcome, level, strict) && verdict.outcome != Outcome::NotApplicable;
        if (!is_judged) {
            status = Status::NotJudged;
        } else if (verdict.outcome == wanted) {
            status = Status::AsExpected;
        } else if (verdict.outcome == Outcome::Pass) {
            status = Status::UnexpectedPass;
        } else {
            status = line == nullptr ? Status::UnexpectedFailure : Status::DifferentFailure;
        }
        if (line != nullptr) {
            Line& used = lines_[static_cast<std::size_t>(line - lines_.data())];
            used.is_used = used.is_used || is_judged;
            used.is_outdated = used.is_outdated || (status != Status::AsExpected && status != Status::NotJudged);
        }
        results_[id] = Result{verdict, is_judged, status, wanted};
        return status;
    }

    // Returns a sentence for each result and each entry that is not as it should be, and one if there is no result at all. After a run of
    // a part of the cases, entries without a case are no problem: pass false.
    std::vector<std::string> problems(bool ran_everything = true) const {
        std::vector<std::string> out;
        if (results_.empty()) out.push_back("no case was run; check the globs and the profile of the archive");
        for (const auto& one : results_) {
            const Result& result = one.second;
            const std::string ended = std::string(name(result.verdict.outcome)) +
                                      (result.verdict.message.empty() ? std::string() : ": " + result.verdict.message);
            switch (result.status) {
                case Status::UnexpectedFailure: out.push_back(one.first + ": " + ended); break;
                case Status::UnexpectedPass: out.push_back(one.first + ": passes, but the file expects " + name(result.wanted)); break;
                case Status::DifferentFailure: out.push_back(one.first + ": expected " + name(result.wanted) + ", got " + ended); break;
                default: break;
            }
        }
        for (const Line& line : lines_) {
            if (line.is_entry() && ran_everything && !line.is_used) {
                out.push_back(line.place + ": '" + line.text + "' matches no judged case; remove it");
            }
        }
        return out;
    }

    // Returns the text of a file that expects the recorded results. Correct entries and comments stay. A glob that does not hold for all
    // its cases is replaced. After a run of a part of the cases, entries without a case stay, too: pass false.
    std::string updated(bool ran_everything = true) const {
        std::string out;
        std::map<std::string, Outcome> missing;
        std::set<std::string> features;
        for (const auto& one : results_) {
            const Result& result = one.second;
            if (!result.is_judged || result.verdict.outcome == Outcome::Pass) continue;
            const Line* line = match(one.first, result.verdict);
            if (line != nullptr && !line->is_outdated) continue;
            if (result.verdict.missing.empty()) {
                missing.emplace(one.first, result.verdict.outcome);
            } else {
                features.insert(result.verdict.missing);
            }
        }
        for (const Line& line : lines_) {
            const bool stays = !line.is_entry() || (!line.is_outdated && (line.is_used || !ran_everything));
            if (stays) out += line.raw + "\n";
        }
        for (const std::string& feature : features) out += "unsupported feature " + feature + "\n";
        return out + grouped(missing);
    }

    // Writes that text to a file.
    void update(const std::string& path, bool ran_everything = true) const {
        const std::string temporary = path + ".new";
        {
            std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
            file << updated(ran_everything);
            file.close();
            if (!file) throw Error(temporary + ": cannot be written; check the path, the permissions and the disk");
        }
        std::remove(path.c_str());
        if (std::rename(temporary.c_str(), path.c_str()) != 0) throw Error(path + ": cannot be replaced; the new text is in " + temporary);
    }

private:
    struct Line {
        // The line as written, and `OUTCOME ID` of an entry.
        std::string raw, text, place;
        Outcome outcome = Outcome::Pass;
        std::optional<Glob> glob;
        // Parts of the text of a feature, between which any text may be; empty for an id or a glob.
        std::vector<std::string> feature;
        bool is_id = false;
        // A judged case matched; a case ended otherwise.
        bool is_used = false, is_outdated = false;

        bool is_entry() const { return glob.has_value() || !feature.empty(); }
    };

    struct Result {
        Verdict verdict;
        bool is_judged = false;
        Status status = Status::AsExpected;
        Outcome wanted = Outcome::Pass;
    };

    void add_line(const std::string& raw, const std::string& place) {
        Line line;
        line.raw = raw;
        line.place = place;
        const std::size_t comment = raw.find(" #");
        std::string text = !raw.empty() && raw.front() == '#' ? std::string() : raw.substr(0, comment);
        text.erase(text.find_last_not_of(" \t") + 1);
        text.erase(0, text.find_first_not_of(" \t"));
        if (!text.empty()) {
            const std::size_t space = text.find_first_of(" \t");
            const std::size_t from = space == std::string::npos ? space : text.find_first_not_of(" \t", space);
            const auto wanted = onnx_conformance::outcome(text.substr(0, space));
            if (!wanted || from == std::string::npos || *wanted == Outcome::Pass || *wanted == Outcome::NotApplicable) {
                throw Error(place + ": '" + text +
                            "' is no entry; write an outcome such as error or mismatch, a space, and an id or a glob");
            }
            const std::string id = text.substr(from);
            line.text = text;
            line.outcome = *wanted;
            if (*wanted == Outcome::Unsupported && id.compare(0, 8, "feature ") == 0) {
                const std::string feature = id.substr(8);
                for (std::size_t at = 0; at <= feature.size();) {
                    const std::size_t star = std::min(feature.find('*', at), feature.size());
                    line.feature.push_back(feature.substr(at, star - at));
                    at = star + 1;
                }
                lines_.push_back(std::move(line));
                return;
            }
            line.is_id = !Glob::is_glob(id);
            line.glob.emplace(id);
            if (line.is_id && !by_id_.emplace(id, lines_.size()).second)
                throw Error(place + ": duplicate entry for " + id + "; remove one");
        }
        lines_.push_back(std::move(line));
    }

    // Returns true if a text consists of parts with any text between them.
    static bool has_parts(const std::string& text, const std::vector<std::string>& parts) {
        if (parts.size() == 1) return text == parts.front();
        if (text.compare(0, parts.front().size(), parts.front()) != 0) return false;
        std::size_t from = parts.front().size();
        for (std::size_t at = 1; at + 1 < parts.size(); ++at) {
            const std::size_t found = text.find(parts[at], from);
            if (found == std::string::npos) return false;
            from = found + parts[at].size();
        }
        const std::string& last = parts.back();
        return text.size() >= from + last.size() && text.compare(text.size() - last.size(), last.size(), last) == 0;
    }

    const Line* match(const std::string& id, const Verdict& ended) const {
        const auto exact = by_id_.find(id);
        if (exact != by_id_.end()) return &lines_[exact->second];
        if (!ended.missing.empty()) {
            for (const Line& line : lines_) {
                if (!line.feature.empty() && has_parts(ended.missing, line.feature)) return &line;
            }
        }
        const Line* other = nullptr;
        for (const Line& line : lines_) {
            if (!line.glob || !line.glob->matches(id)) continue;
            if (line.outcome == ended.outcome) return &line;
            if (other == nullptr) other = &line;
        }
        return other;
    }

    // Returns entries for failures: a group within an operator whose judged cases all end alike is one entry.
    std::string grouped(const std::map<std::string, Outcome>& missing) const {
        // For each group, the outcome of its judged cases, or a pass if they differ or have an entry, and their number.
        std::map<std::string, std::pair<Outcome, std::size_t>> groups;
        const auto each_group = [](const std::string& id, const auto& visit) {
            std::size_t parts = 0;
            for (std::size_t at = id.find('/'); at != std::string::npos; at = id.find('/', at + 1)) {
                if (++parts >= 2) visit(id.substr(0, at));
            }
        };
        for (const auto& one : results_) {
            if (!one.second.is_judged) continue;
            const auto found = missing.find(one.first);
            const Outcome ended = found == missing.end() ? Outcome::Pass : found->second;
            each_group(one.first, [&](const std::string& group) {
                auto& all = groups.emplace(group, std::make_pair(ended, std::size_t{0})).first->second;
                if (all.first != ended) all.first = Outcome::Pass;
                ++all.second;
            });
        }
        std::string out, last;
        for (const auto& one : missing) {
            std::string entry = one.first;
            bool is_found = false;
            each_group(one.first, [&](const std::string& group) {
                const auto& all = groups.at(group);
                if (!is_found && all.first != Outcome::Pass && all.second > 1) {
                    entry = group + "/**";
                    is_found = true;
                }
            });
            entry = std::string(name(one.second)) + " " + entry;
            if (entry != last) out += entry + "\n";
            last = entry;
        }
        return out;
    }

    std::string path_;
    std::vector<Line> lines_;
    std::map<std::string, std::size_t> by_id_;
    std::map<std::string, Result> results_;
};

}  // namespace onnx_conformance

#endif  // ONNX_CONFORMANCE_HPP
