// Helpers of the tests.

#ifndef ONNX_CONFORMANCE_TESTS_SUPPORT_HPP
#define ONNX_CONFORMANCE_TESTS_SUPPORT_HPP

#include <cstdlib>

#include <gtest/gtest.h>

#include "../onnx_conformance.hpp"

namespace onnx_conformance {
namespace tests {

// Path of the archive in the environment variable ONNX_CONFORMANCE_ARCHIVE; empty if there is none.
inline std::string archive_path() {
    const char* path = std::getenv("ONNX_CONFORMANCE_ARCHIVE");
    return path == nullptr ? std::string() : path;
}

inline Tensor floats(const std::vector<float>& values, Shape shape) {
    return Tensor::from_memory(ElementType::Float, std::move(shape), values.data(), values.size() * sizeof(float));
}

inline Tensor floats(const std::vector<float>& values) { return floats(values, {values.size()}); }

inline Tensor doubles(const std::vector<double>& values) {
    return Tensor::from_memory(ElementType::Double, {values.size()}, values.data(), values.size() * sizeof(double));
}

inline Tensor integers(const std::vector<std::int64_t>& values) {
    return Tensor::from_memory(ElementType::Int64, {values.size()}, values.data(), values.size() * sizeof(std::int64_t));
}

// Case with one output.
inline Case case_with(Expected expected) {
    Case test;
    test.id = "test/case";
    if (!expected.values.empty() && !expected.shape) {
        expected.type = expected.values.front().type;
        if (expected.type.kind == Type::Kind::Tensor) expected.shape = expected.values.front().tensor.shape;
    }
    DataSet data;
    data.outputs.push_back(Output{"y", std::move(expected)});
    test.data.push_back(std::move(data));
    return test;
}

inline Expected value_within(Value value, Accuracy accuracy) {
    Expected expected;
    expected.kind = Expected::Kind::Value;
    expected.values.push_back(std::move(value));
    expected.accuracy = std::move(accuracy);
    return expected;
}

inline Accuracy accuracy(Accuracy::Kind kind, double number = 0) {
    Accuracy out;
    out.kind = kind;
    if (kind == Accuracy::Kind::Ulp) out.ulps = static_cast<std::uint64_t>(number);
    out.absolute = out.multiple = number;
    return out;
}

inline std::string outcome_of(const Case& test, const std::vector<Value>& outputs) { return name(judge(test, outputs).outcome); }

}  // namespace tests
}  // namespace onnx_conformance

#endif
