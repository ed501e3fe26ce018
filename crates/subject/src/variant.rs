//! Variants of a case in ids. Their table is that of the questions.

use std::fmt;

use crate::question::{Question, Variant};

impl Variant {
    /// Splits an id into the id without variant and the variant: `ai.onnx/Sum-13/known_values@constants`.
    pub fn split_id(id: &str) -> (&str, Variant) {
        let named = |name: &str| Variant::ALL.into_iter().find(|variant| variant.name() == name);
        let split = id.rsplit_once('@').and_then(|(plain, name)| Some((plain, named(name)?)));
        split.unwrap_or((id, Variant::Runtime))
    }

    /// Returns the id of a case in this variant.
    pub fn id(self, plain: &str) -> String {
        match self {
            Variant::Runtime => plain.to_owned(),
            other => format!("{plain}@{other}"),
        }
    }

    /// Returns the variants that ask a question.
    pub fn asking(question: Question) -> impl Iterator<Item = Variant> {
        Variant::ALL.into_iter().filter(move |variant| variant.question() == question)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
