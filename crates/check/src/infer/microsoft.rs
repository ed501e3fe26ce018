//! Operators of `com.microsoft` and `com.microsoft.nchwc`, which onnxruntime adds to ONNX: the types of their first outputs. Without
//! them, the types of all nodes behind such a node would be unknown. Source: the operator schemas and CPU kernels of onnxruntime
//! 1.20.1 and 1.32.0.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::types::ValueType;

/// Domain of the operators.
const DOMAIN: &str = "com.microsoft";

/// Domain of operators on blocks of channels. The optimizer of the runtime puts them into models that it saves.
const BLOCKED_DOMAIN: &str = "com.microsoft.nchwc";

/// Operators of that domain. All take `float` and return the type that they take.
const BLOCKED_OPERATORS: [&str; 8] = [
    "AveragePool",
    "Conv",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "MaxPool",
    "ReorderInput",
    "ReorderOutput",
    "Upsample",
];

/// The runtime that has the operators.
const RUNTIME: &str = "onnxruntime";

/// Element type of the first output of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputType {
    /// The type of an input.
    Input(usize),
    /// Always this type.
    Always(ElementType),
}

/// Inputs and outputs for which the runtime has a CPU kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    /// The first input is `float`.
    Float,
    /// The quantized input, at this position, is `uint8` or `int8`.
    Bytes(usize),
    /// Other types.
    Unknown,
}

use Kernel::{Bytes, Float, Unknown};
use OutputType::{Always, Input};

/// Operators, in order of their names.
const OPERATORS: &[(&str, OutputType, Kernel)] = &[
    ("Attention", Input(0), Float),
    ("BiasGelu", Input(0), Float),
    ("CDist", Input(0), Float),
    ("ConvTransposeWithDynamicPads", Input(0), Float),
    ("CropAndResize", Input(0), Float),
    ("DequantizeLinear", Input(1), Bytes(0)),
    ("DynamicQuantizeLSTM", Input(0), Float),
    ("DynamicQuantizeMatMul", Input(0), Float),
    ("EmbedLayerNormalization", Input(2), Unknown),
    ("ExpandDims", Input(0), Float),
    ("FastGelu", Input(0), Float),
    ("FusedConv", Input(0), Float),
    ("FusedGemm", Input(0), Float),
    ("FusedMatMul", Input(0), Float),
    ("GatherBlockQuantized", Input(2), Unknown),
    ("GatherND", Input(0), Float),
    ("Gelu", Input(0), Float),
    ("GroupQueryAttention", Input(0), Unknown),
    ("Inverse", Input(0), Float),
    ("MatMulBnb4", Input(0), Float),
    ("MatMulFpQ4", Input(0), Float),
    ("MatMulInteger16", Always(ElementType::Int32), Unknown),
    ("MatMulIntegerToFloat", Input(2), Unknown),
    ("MatMulNBits", Input(0), Float),
    ("MultiHeadAttention", Input(0), Float),
    ("NhwcMaxPool", Input(0), Bytes(0)),
    ("Pad", Input(0), Float),
    ("QAttention", Input(3), Unknown),
    ("QGemm", Input(8), Bytes(0)),
    ("QLinearAdd", Input(0), Bytes(0)),
    ("QLinearAveragePool", Input(0), Bytes(0)),
    ("QLinearConcat", Input(1), Bytes(1)),
    ("QLinearConv", Input(7), Bytes(0)),
    ("QLinearGlobalAveragePool", Input(0), Bytes(0)),
    ("QLinearLeakyRelu", Input(0), Bytes(0)),
    ("QLinearMul", Input(0), Bytes(0)),
    ("QLinearSigmoid", Input(0), Bytes(0)),
    ("QLinearSoftmax", Input(0), Bytes(0)),
    ("QLinearWhere", Input(1), Bytes(1)),
    ("QuantizeLinear", Input(2), Unknown),
    ("QuickGelu", Input(0), Float),
    ("RotaryEmbedding", Input(0), Float),
    ("SkipLayerNormalization", Input(0), Float),
    ("SkipSimplifiedLayerNormalization", Input(0), Float),
    ("TransposeMatMul", Input(0), Float),
    ("Trilu", Input(0), Float),
    ("Unique", Input(0), Float),
];

fn find(domain: &str, operator: &str) -> Option<(OutputType, Kernel)> {
    if domain == BLOCKED_DOMAIN {
        return BLOCKED_OPERATORS.contains(&operator).then_some((Input(0), Float));
    }
    let (_, output, kernel) = OPERATORS.iter().find(|(name, ..)| domain == DOMAIN && *name == operator)?;
    Some((*output, *kernel))
}

/// Returns the type of the first output of a node of one of the domains, by the types of its inputs.
pub(super) fn output_type(
    domain: &str,
    operator: &str,
    input: impl Fn(usize) -> Option<ValueType>,
) -> Option<ValueType> {
    match find(domain, operator)?.0 {
        Input(position) => input(position),
        Always(element) => Some(ValueType::Tensor(element)),
    }
}

/// Returns the runtime that has a CPU kernel for a node, by the types of its inputs; `None` if that is not known.
pub fn runtime_with_kernel(
    domain: &str,
    operator: &str,
    input: impl Fn(usize) -> Option<ValueType>,
) -> Option<&'static str> {
    let has_kernel = match find(domain, operator)?.1 {
        Float => input(0) == Some(ValueType::Tensor(ElementType::Float)),
        Bytes(position) => {
            matches!(input(position), Some(ValueType::Tensor(ElementType::Uint8 | ElementType::Int8)))
        }
        Unknown => false,
    };
    has_kernel.then_some(RUNTIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_gives_types() {
        assert!(OPERATORS.is_sorted_by_key(|(name, ..)| name));
        let types = [ElementType::Float, ElementType::Float16, ElementType::Uint8].map(ValueType::Tensor);
        let input = |at: usize| types.get(at).cloned();
        assert_eq!(output_type(DOMAIN, "FastGelu", input), Some(types[0].clone()));
        assert_eq!(output_type(DOMAIN, "QuantizeLinear", input), Some(types[2].clone()));
        assert_eq!(output_type(DOMAIN, "QGemm", input), None, "the output has no zero point");
        assert_eq!(output_type("", "FastGelu", input), None);
        assert_eq!(output_type(BLOCKED_DOMAIN, "ReorderOutput", input), Some(types[0].clone()));
        assert_eq!(output_type(BLOCKED_DOMAIN, "FastGelu", input), None);
        assert_eq!(runtime_with_kernel(DOMAIN, "FastGelu", input), Some(RUNTIME));
        assert_eq!(runtime_with_kernel(DOMAIN, "QLinearConcat", input), None, "float16");
        assert_eq!(runtime_with_kernel(DOMAIN, "NoSuch", input), None);
    }
}
