//! The variants of a case: the ways in which its inputs are given, and the questions that are asked about its model.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Question;

/// The way inputs are supplied to a runtime, or the question that a tool is asked about the model. It is an axis of the run, not of
/// the case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Variant {
    /// Every input is given at run time.
    #[default]
    Runtime,
    /// Inputs are `Constant` nodes of the model.
    Constants,
    /// Inputs are initializers of the model.
    Initializers,
    /// Every input, including the first, is a `Constant` node of the model.
    AllConstants,
    /// Inputs are given at run time, and their declared dimensions have names instead of sizes.
    DynamicShapes,
    /// Every tensor of inputs and outputs passes through an exact no-op, such as two Transposes or a product with 1.
    Wrapped,
    /// The model is optimized.
    Optimize,
    /// Types and shapes are inferred.
    Infer,
    /// The model is checked.
    Check,
    /// The model is converted to the opset of the next version of its operator.
    Upgrade,
    /// The model is converted to the last opset of the previous version of its operator.
    Downgrade,
    /// The model is converted to half precision.
    Float16,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 12] = [
        Variant::Runtime,
        Variant::Constants,
        Variant::Initializers,
        Variant::AllConstants,
        Variant::DynamicShapes,
        Variant::Wrapped,
        Variant::Optimize,
        Variant::Infer,
        Variant::Check,
        Variant::Upgrade,
        Variant::Downgrade,
        Variant::Float16,
    ];

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

    /// Returns the name, as ids and declarations spell it, and the question that is asked about the model.
    const fn definition(self) -> (&'static str, Question) {
        match self {
            Variant::Runtime => ("runtime", Question::Run),
            Variant::Constants => ("constants", Question::Run),
            Variant::Initializers => ("initializers", Question::Run),
            Variant::AllConstants => ("all-constants", Question::Run),
            Variant::DynamicShapes => ("dynamic-shapes", Question::Run),
            Variant::Wrapped => ("wrapped", Question::Run),
            Variant::Optimize => ("optimize", Question::Optimize),
            Variant::Infer => ("infer", Question::Infer),
            Variant::Check => ("check", Question::Check),
            Variant::Upgrade => ("upgrade", Question::Convert),
            Variant::Downgrade => ("downgrade", Question::Convert),
            Variant::Float16 => ("float16", Question::Float16),
        }
    }

    /// Returns the name, as ids and declarations spell it.
    pub const fn name(self) -> &'static str {
        self.definition().0
    }

    /// Returns the question that is asked about the model.
    pub const fn question(self) -> Question {
        self.definition().1
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
