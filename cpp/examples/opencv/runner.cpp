// OpenCV's dnn module as a runtime under test.

#include "../runner.hpp"

#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>

namespace oc = onnx_conformance;

namespace {

oc::ElementType type_of(int depth) {
    switch (depth) {
        case CV_32F: return oc::ElementType::Float;
        case CV_64F: return oc::ElementType::Double;
        case CV_8S: return oc::ElementType::Int8;
        case CV_8U: return oc::ElementType::Uint8;
        case CV_32S: return oc::ElementType::Int32;
        case CV_16F: return oc::ElementType::Float16;
        default: throw oc::Error("OpenCV returns a matrix of the unknown depth " + std::to_string(depth));
    }
}

oc::Value value_of(const cv::Mat& matrix) {
    const cv::Mat whole = matrix.isContinuous() ? matrix : matrix.clone();
    oc::Shape shape;
    for (int axis = 0; axis < whole.dims; ++axis) shape.push_back(static_cast<std::uint64_t>(whole.size[axis]));
    return oc::Tensor::from_memory(type_of(whole.depth()), shape, whole.data, whole.total() * whole.elemSize());
}

}  // namespace

oc::Answer run(const oc::Case& test, const oc::DataSet& data) {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    // A matrix has at least two dimensions, so it cannot hold a vector or a scalar. That is a limit of the interface, not a wrong result.
    std::vector<cv::Mat> matrices;
    for (const oc::Input& input : data.inputs) {
        if (input.value.type.kind != oc::Type::Kind::Tensor) return oc::Answer::of_unsupported(input.value.type.text());
        const oc::Tensor& tensor = input.value.tensor;
        // The module computes in float, whatever the type of the inputs is.
        if (tensor.type != oc::ElementType::Float) return oc::Answer::of_unsupported(input.value.type.text());
        if (tensor.shape.size() < 2) return oc::Answer::of_unsupported("inputs of rank 0 and 1");
        if (tensor.size() == 0) return oc::Answer::of_unsupported("empty inputs");
        const std::vector<int> sizes(tensor.shape.begin(), tensor.shape.end());
        cv::Mat matrix(sizes, CV_32F);
        std::memcpy(matrix.data, tensor.bytes.data(), tensor.bytes.size());
        matrices.push_back(matrix);
    }
    for (const oc::Output& output : data.outputs) {
        if (output.expected.type != oc::Type::tensor(oc::ElementType::Float))
            return oc::Answer::of_unsupported(output.expected.type.text());
    }
    cv::dnn::Net net;
    try {
        net = cv::dnn::readNetFromONNX(reinterpret_cast<const char*>(test.model.data()), test.model.size());
    } catch (const cv::Exception& error) {
        const std::string text = error.what();
        // Can't create layer "onnx_node!..." of type "Acos"
        const std::size_t type = text.find("Can't create layer") == std::string::npos ? std::string::npos : text.find("of type \"");
        if (type == std::string::npos) return oc::Answer::of_error(text);
        const std::size_t from = type + 9;
        return oc::Answer::of_unsupported("operator ai.onnx/" + text.substr(from, text.find('"', from) - from), text);
    }
    for (std::size_t at = 0; at < matrices.size(); ++at) net.setInput(matrices[at], data.inputs[at].name);
    std::vector<std::vector<cv::Mat>> results;
    net.forward(results, net.getUnconnectedOutLayersNames());
    std::vector<oc::Value> outputs;
    for (const std::vector<cv::Mat>& layer : results) {
        for (const cv::Mat& matrix : layer) outputs.push_back(value_of(matrix));
    }
    return oc::Answer::of_outputs(std::move(outputs));
}
