//! Names of fields, for messages about encodings.

use crate::proto::measure::Kind;

impl Kind {
    /// The largest field number that ONNX has assigned in messages of this kind.
    pub const fn last_field(self) -> u64 {
        match self {
            Kind::Model => 26,
            Kind::Graph | Kind::Tensor => 16,
            Kind::Function => 14,
            Kind::Node => 10,
            Kind::Attribute => 23,
            Kind::ValueInfo | Kind::Training | Kind::Sharding => 4,
            Kind::Type => 9,
            Kind::SparseTensor | Kind::Entry | Kind::Device | Kind::NodeDevice => 3,
            Kind::TensorType | Kind::MapType | Kind::Annotation | Kind::DeviceGroup | Kind::ShardedDim => 2,
            Kind::ItemType | Kind::Shape => 1,
            Kind::Sequence | Kind::Optional => 7,
            Kind::Map => 5,
            Kind::Text | Kind::Shared | Kind::Floats | Kind::Varints(_) => 0,
        }
    }

    /// True if ONNX has a field of this number in messages of this kind. `holder` is the enclosing message and the
    /// number of the field there. It distinguishes the small messages that share one kind.
    pub const fn has_field(self, holder: Option<(Kind, u64)>, number: u64) -> bool {
        match (self, number) {
            (_, 0)
            | (Kind::Model, 9..=13 | 15..=19 | 21..=24)
            | (Kind::Graph, 3 | 4 | 6..=9)
            | (Kind::Function | Kind::Type, 2 | 3)
            | (Kind::Attribute, 12 | 16..=19)
            | (Kind::Tensor, 15) => false,
            (Kind::Entry, 3) => matches!(holder, Some((Kind::Shape | Kind::ShardedDim, _))),
            _ => number <= self.last_field(),
        }
    }

    /// ONNX's name of a field, for the larger messages.
    pub const fn field_name(self, number: u64) -> Option<&'static str> {
        Some(match (self, number) {
            (Kind::Model, 1) => "ir_version",
            (Kind::Model, 2) => "producer_name",
            (Kind::Model, 3) => "producer_version",
            (Kind::Model, 4) | (Kind::Node, 7) | (Kind::Function, 10) => "domain",
            (Kind::Model, 5) => "model_version",
            (Kind::Model, 7) => "graph",
            (Kind::Model, 8) | (Kind::Function, 9) => "opset_import",
            (Kind::Model, 14) | (Kind::Graph, 16) => "metadata_props",
            (Kind::Model, 20) => "training_info",
            (Kind::Model, 25) => "functions",
            (Kind::Graph, 1) | (Kind::Function, 7) => "node",
            (Kind::Attribute | Kind::ValueInfo | Kind::Function, 1)
            | (Kind::Graph, 2)
            | (Kind::Node, 3)
            | (Kind::Tensor, 8) => "name",
            (Kind::Graph, 5) => "initializer",
            (Kind::Graph, 15) => "sparse_initializer",
            (Kind::Graph, 11) | (Kind::Node, 1) | (Kind::Function, 4) => "input",
            (Kind::Graph, 12) | (Kind::Node, 2) | (Kind::Function, 5) => "output",
            (Kind::Graph, 13) => "value_info",
            (Kind::Model | Kind::Node, 6) | (Kind::Graph, 10) | (Kind::Tensor, 12) | (Kind::Attribute, 13) => {
                "doc_string"
            }
            (Kind::Node, 4) => "op_type",
            (Kind::Node, 5) | (Kind::Function, 6) => "attribute",
            (Kind::Attribute, 4) => "s",
            (Kind::Attribute, 5) => "t",
            (Kind::Attribute, 6) => "g",
            (Kind::Attribute, 7) => "floats",
            (Kind::Attribute, 8) => "ints",
            (Kind::Attribute, 9) => "strings",
            (Kind::Attribute, 10) => "tensors",
            (Kind::Attribute, 11) => "graphs",
            (Kind::Attribute, 20) | (Kind::ValueInfo, 2) => "type",
            (Kind::Attribute, 21) => "ref_attr_name",
            (Kind::Attribute, 22) => "sparse_tensor",
            (Kind::Tensor, 1) => "dims",
            (Kind::Tensor, 2) => "data_type",
            (Kind::Tensor, 4) => "float_data",
            (Kind::Tensor, 5) => "int32_data",
            (Kind::Tensor, 6) => "string_data",
            (Kind::Tensor, 7) => "int64_data",
            (Kind::Tensor, 9) => "raw_data",
            (Kind::Tensor, 10) => "double_data",
            (Kind::Tensor, 11) => "uint64_data",
            (Kind::Tensor, 13) => "external_data",
            (Kind::Tensor, 14) => "data_location",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_messages_are_named_and_known() {
        for kind in [Kind::Model, Kind::Graph, Kind::Function, Kind::Node, Kind::Attribute, Kind::Tensor] {
            let numbers = (1..=kind.last_field()).filter(|&number| kind.field_name(number).is_some());
            assert!(numbers.count() > 5, "{kind:?}");
            assert_eq!(kind.field_name(kind.last_field() + 1), None);
            assert_eq!(kind.field(kind.last_field() + 1), Kind::Text);
        }
    }

    #[test]
    fn fields_that_onnx_has_given_away_are_known() {
        let known = |kind: Kind| (0..40).filter(|number| kind.has_field(None, *number)).collect::<Vec<u64>>();
        assert_eq!(known(Kind::Model), [1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26]);
        assert_eq!(known(Kind::Graph), [1, 2, 5, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(known(Kind::Type), [1, 4, 5, 6, 7, 8, 9]);
        assert_eq!(known(Kind::Entry), [1, 2]);
        assert!(Kind::Entry.has_field(Some((Kind::Shape, 1)), 3));
        assert!(!Kind::Entry.has_field(Some((Kind::Model, 8)), 3));
        // Every field that contains a message is known.
        for kind in [Kind::Model, Kind::Graph, Kind::Function, Kind::Node, Kind::Attribute, Kind::Tensor, Kind::Type] {
            assert!((1..40).all(|number| kind.has_field(None, number) || !kind.field(number).is_message()), "{kind:?}");
        }
    }
}
