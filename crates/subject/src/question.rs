//! Questions to a subject about the model of a case, and the variants of a case that ask them. The table at the end of this file is
//! the only list of either.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Facts about a question that do not depend on the variant that asks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionFacts {
    /// The name, as declarations and requests spell it.
    pub name: &'static str,
    /// The kind of its answer.
    pub answer: AnswerKind,
    /// The cases that it is asked about.
    pub models: Models,
}

/// Kind of the answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// The outputs of the model.
    Outputs,
    /// A model.
    Model,
    /// The validity of the model.
    Validity,
}

/// Models that a question is asked about, and their form. An operator is deprecated only in models for converters, since the texts
/// leave open if a model may still use one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Models {
    /// The models of all cases, with inputs: they are run.
    All,
    /// Valid models, as they are.
    Valid,
    /// Valid models and those with deprecated operators, as they are.
    ValidOrDeprecated,
    /// Valid models, and those that must be refused because of their contents.
    ValidOrInvalid,
    /// Valid models without the types of their outputs and other values.
    WithoutTypes,
    /// Valid models whose only floating-point type is float.
    SinglePrecision,
}

/// Facts about a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantFacts {
    /// The name, as ids and declarations spell it.
    pub name: &'static str,
    /// The direction of a conversion to another opset.
    pub direction: Option<Direction>,
    /// The text about its question; `None` if the model is run.
    pub text: Option<QuestionText>,
}

impl VariantFacts {
    /// A way to supply the inputs of a run.
    const fn of_run(name: &'static str) -> VariantFacts {
        VariantFacts { name, direction: None, text: None }
    }
}

/// Direction of a conversion to another version of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the next version.
    Up,
    /// To the previous version.
    Down,
}

/// Text about a question on the site and in docs/tools.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionText {
    /// The tools that answer it, as a heading.
    pub title: &'static str,
    /// The model or the fact that is asked for, without a full stop.
    pub asks: &'static str,
    /// The correct answer, in one sentence. If the question is also asked about invalid models, the one about valid models.
    pub right: &'static str,
}

/// Defines the questions, their variants and their facts from one table, in which each question has its variants.
macro_rules! questions {
    ($(
        $(#[$($attribute:tt)*])*
        $question:ident: $facts:expr => {
            $($(#[$($variant_attribute:tt)*])* $variant:ident: $variant_facts:expr;)*
        }
    )*) => {
        /// A question about a model. The model and its known answer are those of a case.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Question {
            $($(#[$($attribute)*])* $question,)*
        }

        /// The way inputs are supplied to a runtime, or the question that a tool is asked about the model. It is an axis of the run, not of
        /// the case.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Variant {
            $($($(#[$($variant_attribute)*])* $variant,)*)*
        }

        impl Question {
            /// Every question.
            pub const ALL: [Question; [$(Question::$question,)*].len()] = [$(Question::$question,)*];

            /// Returns the facts in its row.
            pub const fn facts(self) -> QuestionFacts {
                match self {
                    $(Question::$question => $facts,)*
                }
            }
        }

        impl Variant {
            /// Every variant.
            pub const ALL: [Variant; [$($(Variant::$variant,)*)*].len()] = [$($(Variant::$variant,)*)*];

            /// Returns the question of its row, and the facts there.
            const fn row(self) -> (Question, VariantFacts) {
                match self {
                    $($(Variant::$variant => (Question::$question, $variant_facts),)*)*
                }
            }
        }
    };
}

impl Question {
    /// Returns the name, as declarations and requests spell it.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns true if the answer is a model.
    pub const fn is_answered_by_a_model(self) -> bool {
        matches!(self.facts().answer, AnswerKind::Model)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Variant {
    /// Returns the facts in its row.
    pub const fn facts(self) -> VariantFacts {
        self.row().1
    }

    /// Returns the name, as ids and declarations spell it.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the question that is asked about the model.
    pub const fn question(self) -> Question {
        self.row().0
    }
}

/// A question, with what it needs besides the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The question.
    pub question: Question,
    /// The opset of ONNX's default domain to convert to.
    pub opset: Option<u32>,
}

impl Ask {
    /// The question of a run.
    pub const RUN: Ask = Ask { question: Question::Run, opset: None };
}

// The order is that of pages and schemas.
questions! {
    /// The outputs of the model.
    #[default]
    Run: QuestionFacts { name: "run", answer: AnswerKind::Outputs, models: Models::All } => {
        /// Every input is given at run time.
        #[default]
        Runtime: VariantFacts::of_run("runtime");
        /// Inputs are `Constant` nodes of the model.
        Constants: VariantFacts::of_run("constants");
        /// Inputs are initializers of the model.
        Initializers: VariantFacts::of_run("initializers");
        /// Every input, including the first, is a `Constant` node of the model.
        AllConstants: VariantFacts::of_run("all-constants");
        /// Inputs are given at run time, and their declared dimensions have names instead of sizes.
        DynamicShapes: VariantFacts::of_run("dynamic-shapes");
        /// Every tensor of inputs and outputs passes through an exact no-op, such as two Transposes or a product with 1.
        Wrapped: VariantFacts::of_run("wrapped");
    }

    /// A model with the same outputs that is simpler or faster.
    Optimize: QuestionFacts { name: "optimize", answer: AnswerKind::Model, models: Models::Valid } => {
        /// The model is optimized.
        Optimize: VariantFacts {
            name: "optimize",
            direction: None,
            text: Some(QuestionText {
                title: "Optimizers",
                asks: "the same model, simpler or faster",
                right: "The new model is valid, keeps the names and order of inputs and outputs, and has the outputs of \
                        the case.",
            }),
        };
    }

    /// The model with the types and shapes of its values.
    Infer: QuestionFacts { name: "infer", answer: AnswerKind::Model, models: Models::WithoutTypes } => {
        /// Types and shapes are inferred.
        Infer: VariantFacts {
            name: "infer",
            direction: None,
            text: Some(QuestionText {
                title: "Shape inference",
                asks: "the model with types and shapes",
                right: "No inferred type, rank or size contradicts a run, and a name stands for one size.",
            }),
        };
    }

    /// The validity of the model.
    Check: QuestionFacts { name: "check", answer: AnswerKind::Validity, models: Models::ValidOrInvalid } => {
        /// The model is checked.
        Check: VariantFacts {
            name: "check",
            direction: None,
            text: Some(QuestionText {
                title: "Checkers",
                asks: "is the model valid?",
                right: "A valid model is accepted.",
            }),
        };
    }

    /// The model at another opset of ONNX's default domain.
    Convert: QuestionFacts { name: "convert", answer: AnswerKind::Model, models: Models::ValidOrDeprecated } => {
        /// The model is converted to the opset of the next version of its operator.
        Upgrade: VariantFacts {
            name: "upgrade",
            direction: Some(Direction::Up),
            text: Some(QuestionText {
                title: "Converters, up",
                asks: "the model at the opset of the next version of its operator, or at the newest opset",
                right: "The new model imports the opset of the request, is valid, and has the outputs of the case.",
            }),
        };
        /// The model is converted to the last opset of the previous version of its operator.
        Downgrade: VariantFacts {
            name: "downgrade",
            direction: Some(Direction::Down),
            text: Some(QuestionText {
                title: "Converters, down",
                asks: "the model at the last opset of the previous version of its operator",
                right: "The new model imports the opset of the request, is valid, and has the outputs of the case.",
            }),
        };
    }

    /// The model in half precision.
    Float16: QuestionFacts { name: "float16", answer: AnswerKind::Model, models: Models::SinglePrecision } => {
        /// The model is converted to half precision.
        Float16: VariantFacts {
            name: "float16",
            direction: None,
            text: Some(QuestionText {
                title: "Half precision",
                asks: "the model in half precision",
                right: "The new model is valid, and its outputs differ by less than a twentieth of the largest \
                        element.",
            }),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_is_spelled_as_in_messages() {
        for question in Question::ALL {
            assert_eq!(serde_json::to_value(question).unwrap(), question.name());
        }
        for variant in Variant::ALL {
            assert_eq!(serde_json::to_value(variant).unwrap(), variant.name());
        }
    }

    #[test]
    fn a_variant_that_asks_has_a_text_of_its_own() {
        let mut titles = BTreeSet::new();
        for variant in Variant::ALL {
            let text = variant.facts().text;
            assert_eq!(text.is_some(), variant.question() != Question::Run, "{variant}");
            assert!(text.is_none_or(|text| titles.insert(text.title)), "{variant}: another one has this title");
        }
    }
}
