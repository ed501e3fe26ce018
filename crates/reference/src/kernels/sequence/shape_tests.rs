//! Inferred shapes and types of sequences and texts, compared with execution.

use std::sync::Arc;

use crate::dtype::ElementType;
use crate::testing::{floats, ints, node, strings};
use crate::types::ValueType;
use crate::value::{Optional, Sequence, Value};

fn words() -> crate::tensor::Tensor {
    strings(&[1, 3], &["a b", "c", ""])
}

#[test]
fn texts_keep_their_shapes() {
    assert_eq!(node("StringSplit", 20).input(words()).outputs(2).inferred(), ["[A0, A1, ?]", "[A0, A1]"]);
    assert_eq!(node("StringSplit", 20).input(strings(&[0], &[])).outputs(2).inferred(), ["[A0, ?]", "[A0]"]);
    assert_eq!(node("StringConcat", 20).inputs([words(), strings(&[], &["x"])]).inferred(), ["[A0, A1]"]);
    let normalized = || node("StringNormalizer", 10).input(words());
    assert_eq!(normalized().inferred(), ["[1, max(1, A1)]"]);
    assert_eq!(normalized().set("stopwords", &["c"][..]).inferred(), ["[1, ?]"]);
    assert_eq!(node("StringNormalizer", 10).input(strings(&[0], &[])).inferred(), ["[max(1, A0)]"]);
    let matched = node("RegexFullMatch", 20).input(words()).set("pattern", "a");
    assert_eq!(matched.inferred(), ["[A0, A1]"]);
}

#[test]
fn counts_have_a_place_for_each_index() {
    let counted = |tokens: crate::tensor::Tensor| {
        let node = node("TfIdfVectorizer", 9).input(tokens).set("mode", "TF").set("pool_int64s", &[2, 3][..]);
        let node = node.set("ngram_counts", &[0i64][..]).set("ngram_indexes", &[0, 4][..]);
        node.set("min_gram_length", 1).set("max_gram_length", 1).set("max_skip_count", 0).inferred()
    };
    assert_eq!(counted(ints(&[3], &[2, 3, 2])), ["[5]"]);
    assert_eq!(counted(ints(&[2, 2], &[2, 3, 2, 9])), ["[A0, 5]"]);
}

#[test]
fn types_of_items_go_in_and_out() {
    let item = || floats(&[2], &[1.0, 2.0]);
    let list = || Value::Sequence(Sequence::new(ValueType::Tensor(ElementType::Float), vec![item().into()]));
    assert_eq!(node("SequenceConstruct", 11).inputs([item(), item()]).inferred(), ["?"]);
    assert_eq!(node("SequenceEmpty", 11).set("dtype", 7).inferred(), ["?"]);
    assert_eq!(node("SplitToSequence", 11).input(item()).inferred(), ["?"]);
    assert_eq!(node("SequenceAt", 11).input(list()).input(ints(&[], &[0])).inferred(), ["?"]);
    assert_eq!(node("SequenceLength", 11).input(list()).inferred(), ["[]"]);
    assert_eq!(node("ConcatFromSequence", 11).input(list()).set("axis", 0).inferred(), ["?"]);
    assert_eq!(node("Optional", 15).input(list()).inferred(), ["?"]);
    let present = Optional { item_type: item_type(), item: Some(Arc::new(Value::Tensor(item()))) };
    assert_eq!(node("OptionalGetElement", 18).input(Value::Optional(present)).inferred(), ["?"]);
    assert_eq!(node("OptionalGetElement", 18).input(item()).inferred(), ["[A0]"]);
    assert_eq!(node("OptionalHasElement", 18).input(item()).inferred(), ["[]"]);
}

fn item_type() -> ValueType {
    ValueType::Tensor(ElementType::Float)
}
