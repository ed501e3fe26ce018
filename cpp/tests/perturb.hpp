// Changed outputs for tests: expected values, and values that differ from them in many ways.

#ifndef ONNX_CONFORMANCE_TESTS_PERTURB_HPP
#define ONNX_CONFORMANCE_TESTS_PERTURB_HPP

#include "../onnx_conformance.hpp"

namespace onnx_conformance {
namespace tests {

// Ways to change outputs. `Same` has correct outputs, the first of several allowed ones; `Other` correct ones in another form: the last
// allowed value, another order, another draw.
enum class Change {
    Same,
    Other,
    Next,
    Edge,
    Beyond,
    BeyondLast,
    Near,
    Nan,
    Infinity,
    ZeroSign,
    Negated,
    Least,
    Type,
    Rank,
    Length,
    Missing,
    Error,
    Unsupported,
};

constexpr const char* change_names[] = {"same", "other", "next",     "edge",      "beyond",  "beyond-last",
                                        "near", "nan",   "infinity", "zero-sign", "negated", "least",
                                        "type", "rank",  "length",   "missing",   "error",   "unsupported"};
constexpr unsigned change_count = 18;

// Numbers from SplitMix64.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        return mixed ^ (mixed >> 31);
    }

    // Returns a number from 0 to 1.
    double share() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

private:
    std::uint64_t state_;
};

inline void set_pattern(Tensor& tensor, std::size_t at, std::uint64_t pattern) {
    const std::size_t width = size_of(tensor.type);
    for (std::size_t byte = 0; byte < width && byte < 8; ++byte)
        tensor.bytes[at * width + byte] = static_cast<std::uint8_t>(pattern >> (8 * byte));
}

// Stores a number, rounded to the type.
inline void set_number(Tensor& tensor, std::size_t at, double value) {
    if (kind(tensor.type) == NumberKind::Float) {
        set_pattern(tensor, at, FloatFormat::of(tensor.type)->encode(value));
    } else {
        set_pattern(tensor, at, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    }
}

inline Tensor zeros(ElementType type, const Shape& shape) {
    const auto count = static_cast<std::size_t>(element_count(shape).value_or(0));
    if (type == ElementType::String) return Tensor::from_strings(shape, std::vector<std::string>(count));
    return Tensor::from_bytes(type, shape, Bytes(count * size_of(type), 0));
}

inline Value empty_value(const onnx_conformance::Type& type, const std::optional<Shape>& shape) {
    using Kind = onnx_conformance::Type::Kind;
    switch (type.kind) {
        case Kind::Tensor: return Value(zeros(type.element, shape.value_or(Shape())));
        case Kind::Sequence: return Value::sequence(type.inner.front(), {});
        case Kind::Optional: return Value::absent(type.inner.front());
        case Kind::Map: return Value::map(type.key, type.inner.front(), {}, {});
        default: return Value::sparse(zeros(type.element, {0}), zeros(ElementType::Int64, {0}), {1});
    }
}

// Returns a correct output.
inline Value correct_output(const Expected& expected, bool other, std::uint64_t seed) {
    Random random(seed);
    const auto draw = [&](const auto& number) {
        Tensor tensor = zeros(expected.type.element, *expected.shape);
        for (std::size_t at = 0; at < tensor.size(); ++at) set_number(tensor, at, number(at));
        return Value(std::move(tensor));
    };
    switch (expected.kind) {
        case Expected::Kind::AnyOf:
            if (expected.values.empty()) return empty_value(expected.type, expected.shape);
            return other ? expected.values.back() : expected.values.front();
        case Expected::Kind::Set: {
            Value value = expected.values.front();
            if (!other) return value;
            std::reverse(value.items.begin(), value.items.end());
            if (value.type.kind == onnx_conformance::Type::Kind::Tensor && !value.tensor.shape.empty() && value.tensor.shape[0] > 0) {
                const auto rows = static_cast<std::size_t>(value.tensor.shape[0]);
                const std::size_t width = value.tensor.bytes.size() / rows, texts = value.tensor.strings.size() / rows;
                const Tensor from = value.tensor;
                for (std::size_t row = 0; row < rows; ++row) {
                    for (std::size_t at = 0; at < width; ++at)
                        value.tensor.bytes[row * width + at] = from.bytes[(rows - 1 - row) * width + at];
                    for (std::size_t at = 0; at < texts; ++at)
                        value.tensor.strings[row * texts + at] = from.strings[(rows - 1 - row) * texts + at];
                }
            }
            return value;
        }
        case Expected::Kind::Permuted: {
            Value value = expected.values.front();
            const Tensor from = value.tensor;
            const auto rank = static_cast<std::int64_t>(from.shape.size());
            const auto axis = static_cast<std::size_t>(expected.axis < 0 ? expected.axis + rank : expected.axis);
            if (!other || axis >= from.shape.size() || from.type == ElementType::String) return value;
            std::size_t inner = 1;
            for (std::size_t at = axis + 1; at < from.shape.size(); ++at) inner *= static_cast<std::size_t>(from.shape[at]);
            const auto size = static_cast<std::size_t>(from.shape[axis]);
            for (std::size_t at = 0; at < from.size(); ++at) {
                const std::size_t place = at / inner % size;
                set_pattern(value.tensor, at - place * inner + (size - 1 - place) * inner, from.pattern(at));
            }
            return value;
        }
        case Expected::Kind::Sampled:
            switch (expected.law) {
                case Expected::Law::Normal:
                    return draw([&](std::size_t) {
                        const double radius = std::sqrt(-2 * std::log(1 - random.share()));
                        return expected.first + expected.second * radius * std::cos(6.283185307179586 * random.share());
                    });
                case Expected::Law::Uniform:
                    return draw([&](std::size_t) { return expected.first + (expected.second - expected.first) * random.share(); });
                case Expected::Law::Bernoulli:
                    return draw([&](std::size_t at) { return random.share() < expected.values.front().tensor.number(at) ? 1.0 : 0.0; });
                default: {
                    const Tensor& weights = expected.values.front().tensor;
                    const auto classes = static_cast<std::size_t>(weights.shape[1]), rows = static_cast<std::size_t>(weights.shape[0]);
                    const auto draws = static_cast<std::size_t>(*element_count(*expected.shape)) / std::max<std::size_t>(rows, 1);
                    return draw([&](std::size_t at) {
                        const std::size_t row = at / draws;
                        double total = 0;
                        for (std::size_t one = 0; one < classes; ++one) total += std::exp(weights.number(row * classes + one));
                        double left = random.share() * total;
                        for (std::size_t one = 0; one < classes; ++one) {
                            left -= std::exp(weights.number(row * classes + one));
                            if (left < 0) return static_cast<double>(one);
                        }
                        return static_cast<double>(classes - 1);
                    });
                }
            }
        case Expected::Kind::Dropout: {
            const Tensor& source = expected.values.front().tensor;
            return draw([&](std::size_t at) { return random.share() < expected.ratio ? 0.0 : source.number(at) / (1 - expected.ratio); });
        }
        case Expected::Kind::Mask: return draw([&](std::size_t) { return random.share() < expected.ratio ? 0.0 : 1.0; });
        case Expected::Kind::Unspecified: return empty_value(expected.type, expected.shape);
        default: return expected.values.front();
    }
}

// Moves an element by a number of representable values, away from zero.
inline std::uint64_t moved(const FloatFormat& format, std::uint64_t pattern, std::uint64_t distance) {
    const std::uint64_t magnitude = (pattern & format.magnitude_mask()) + distance;
    return (pattern & format.sign_bit()) | std::min(magnitude, format.magnitude_mask());
}

// Returns the largest distance in representable values, away from zero, that an accuracy allows at an element.
inline std::uint64_t allowed_distance(const Tensor& expected, std::size_t at, const Accuracy& accuracy) {
    const detail::FloatRule rule(accuracy, expected.type);
    const FloatFormat format = *FloatFormat::of(expected.type);
    const std::uint64_t want = expected.pattern(at);
    const auto holds = [&](std::uint64_t distance) {
        const std::uint64_t got = moved(format, want, distance);
        return rule.holds(at, expected.number(at), want, format.decode(got), got);
    };
    if (format.is_nan(want)) return 0;
    std::uint64_t low = 0, high = 1;
    while (high < format.magnitude_mask() && holds(high)) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (holds(middle) ? low : high) = middle;
    }
    return low;
}

// Returns true if the type has a value beyond what an accuracy allows at an element: not for the largest number of a type without infinity.
inline bool has_beyond(const Tensor& expected, std::size_t at, const Accuracy& accuracy) {
    const FloatFormat format = *FloatFormat::of(expected.type);
    const std::uint64_t magnitude = expected.pattern(at) & format.magnitude_mask();
    return allowed_distance(expected, at, accuracy) < format.magnitude_mask() - magnitude;
}

inline void change_tensor(Tensor& tensor, const Accuracy& accuracy, Change change) {
    const std::size_t count = tensor.size();
    if (count == 0) return;
    if (kind(tensor.type) == NumberKind::Complex) {
        // As reals with one more axis.
        Tensor parts{tensor.type == ElementType::Complex64 ? ElementType::Float : ElementType::Double, tensor.shape, tensor.bytes, {}};
        change_tensor(parts, accuracy, change);
        tensor.bytes = parts.bytes;
        return;
    }
    if (kind(tensor.type) != NumberKind::Float) {
        const std::size_t at = change == Change::Nan ? 0 : count - 1;
        const bool is_changed = change == Change::Nan || change == Change::BeyondLast || change == Change::Near;
        if (!is_changed) return;
        if (tensor.type == ElementType::String) {
            tensor.strings[at] += change == Change::Near ? "\xc3\xa9" : "x";
        } else if (tensor.type == ElementType::Bool) {
            tensor.bytes[at] ^= 1;
        } else if (bits(tensor.type) < 8) {
            const unsigned next = (tensor.bytes[at] + 1u) & ((1u << bits(tensor.type)) - 1);
            tensor.bytes[at] = Tensor::from_packed(tensor.type, {1}, Bytes{static_cast<std::uint8_t>(next)}).bytes[0];
        } else {
            set_pattern(tensor, at, tensor.pattern(at) + 1);
        }
        return;
    }
    const FloatFormat format = *FloatFormat::of(tensor.type);
    const Tensor expected = tensor;
    for (std::size_t at = 0; at < count; ++at) {
        const std::uint64_t pattern = expected.pattern(at), sign = format.sign_bit();
        std::uint64_t to = pattern;
        switch (change) {
            case Change::Next: to = moved(format, pattern, 1); break;
            case Change::Edge: to = moved(format, pattern, allowed_distance(expected, at, accuracy)); break;
            case Change::Beyond: to = moved(format, pattern, allowed_distance(expected, at, accuracy) + 1); break;
            case Change::BeyondLast:
                if (at + 1 == count) to = moved(format, pattern, allowed_distance(expected, at, accuracy) + 1);
                break;
            case Change::Near: to = moved(format, pattern, at % 3 == 0 ? 3 : at % 3 == 1 ? 1 : 0); break;
            case Change::Nan:
                if (at == 0) to = format.encode(std::numeric_limits<double>::quiet_NaN());
                break;
            case Change::Infinity:
                if (at == count / 2) to = format.encode(std::numeric_limits<double>::infinity());
                break;
            case Change::ZeroSign:
                if ((pattern & format.magnitude_mask()) == 0) to = pattern ^ sign;
                break;
            case Change::Negated: to = pattern ^ sign; break;
            case Change::Least:
                if ((pattern & format.magnitude_mask()) == 0) to = pattern | 1;
                break;
            default: break;
        }
        set_pattern(tensor, at, to);
    }
}

inline ElementType other_type(ElementType type) {
    switch (type) {
        case ElementType::Float: return ElementType::Double;
        case ElementType::Double: return ElementType::Float;
        case ElementType::Int64: return ElementType::Int32;
        case ElementType::Int32: return ElementType::Int64;
        case ElementType::Bool: return ElementType::Uint8;
        case ElementType::Float16: return ElementType::Bfloat16;
        default: return ElementType::Float;
    }
}

// Changes a value in place.
inline void change_value(Value& value, const Accuracy& accuracy, Change change) {
    using Kind = onnx_conformance::Type::Kind;
    switch (value.type.kind) {
        case Kind::Tensor:
            if (change == Change::Type) {
                value = Value(zeros(other_type(value.tensor.type), value.tensor.shape));
            } else if (change == Change::Rank) {
                value.tensor.shape.push_back(1);
            } else if (change == Change::Length && !value.tensor.shape.empty()) {
                Shape shape = value.tensor.shape;
                ++shape.front();
                value = Value(zeros(value.tensor.type, shape));
            } else {
                change_tensor(value.tensor, accuracy, change);
            }
            return;
        case Kind::SparseTensor:
            if (change == Change::Rank) value.shape.push_back(1);
            if (change == Change::Type) value = empty_value(onnx_conformance::Type::sparse_tensor(other_type(value.type.element)), {});
            change_tensor(value.tensor, accuracy, change);
            return;
        case Kind::Map:
            if (change == Change::Length && !value.items.empty()) {
                value.items.pop_back();
                value.keys.pop_back();
            } else if (change == Change::Type) {
                value = Value::map(value.type.key, onnx_conformance::Type::tensor(other_type(value.type.inner[0].element)), {}, {});
            } else if (change != Change::Rank) {
                for (Value& item : value.items) change_value(item, accuracy, change);
            }
            return;
        case Kind::Optional:
            if (change == Change::Length) {
                value.items.clear();
                return;
            }
            break;
        default:
            if (change == Change::Length && !value.items.empty()) {
                value.items.pop_back();
                return;
            }
    }
    for (Value& item : value.items) change_value(item, accuracy, change);
    if (!value.items.empty()) value.type.inner = {value.items.front().type};
}

// Returns the outputs of a data set, changed.
inline std::vector<Value> changed_outputs(const DataSet& data, Change change) {
    std::vector<Value> outputs;
    std::uint64_t seed = 1;
    for (const Output& output : data.outputs) {
        outputs.push_back(correct_output(output.expected, change == Change::Other, seed++ * 1000 + static_cast<std::uint64_t>(change)));
        if (change != Change::Same && change != Change::Other) change_value(outputs.back(), output.expected.accuracy, change);
    }
    return outputs;
}

}  // namespace tests
}  // namespace onnx_conformance

#endif  // ONNX_CONFORMANCE_TESTS_PERTURB_HPP
