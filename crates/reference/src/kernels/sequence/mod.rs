//! Operators on sequences, optionals and strings.

pub(crate) mod full_match;
pub(crate) mod optional;
pub(crate) mod regex_syntax;
pub(crate) mod sequences;
#[cfg(test)]
mod shape_tests;
pub(crate) mod strings;
pub(crate) mod tfidf_vectorizer;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] =
    &[optional::KERNELS, sequences::KERNELS, strings::KERNELS, tfidf_vectorizer::KERNELS];
