// The runtime under test. Replace opencv/runner.cpp with a file that defines this function for yours.

#ifndef ONNX_CONFORMANCE_EXAMPLES_RUNNER_HPP
#define ONNX_CONFORMANCE_EXAMPLES_RUNNER_HPP

#include "../onnx_conformance.hpp"

// Runs the model of a case on the inputs of a data set. May throw std::exception, which counts as an error.
onnx_conformance::Answer run(const onnx_conformance::Case& test, const onnx_conformance::DataSet& data);

#endif
