//! Questions to a subject about the model of a case.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A question about a model. The model and its known answer are those of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Question {
    /// The outputs of the model.
    #[default]
    Run,
    /// A model with the same outputs that is simpler or faster.
    Optimize,
    /// The model with the types and shapes of its values.
    Infer,
    /// The validity of the model.
    Check,
    /// The model at another opset of ONNX's default domain.
    Convert,
    /// The model in half precision.
    Float16,
}

impl Question {
    /// Every question.
    pub const ALL: [Question; 6] =
        [Question::Run, Question::Optimize, Question::Infer, Question::Check, Question::Convert, Question::Float16];

    /// Returns the name, as declarations and requests spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Question::Run => "run",
            Question::Optimize => "optimize",
            Question::Infer => "infer",
            Question::Check => "check",
            Question::Convert => "convert",
            Question::Float16 => "float16",
        }
    }

    /// Returns true if the answer is a model.
    pub const fn is_answered_by_a_model(self) -> bool {
        !matches!(self, Question::Run | Question::Check)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
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
