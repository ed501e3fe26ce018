//! What a person needs to look into a failure: the inputs in short, and the case as files.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::case::Case;
use crate::report::case::short_inputs;
use crate::run::{Book, CaseResult, Standing};

/// Collects what is to be said of unexpected failures, while the cases are at hand.
pub(crate) struct Failures<'a> {
    book: &'a Book,
    most: usize,
    details: Mutex<BTreeMap<String, String>>,
}

impl<'a> Failures<'a> {
    /// Notes at most `most` failures that `book` does not expect.
    pub(crate) fn new(book: &'a Book, most: usize) -> Failures<'a> {
        Failures { book, most, details: Mutex::default() }
    }

    /// Looks at a case and its result.
    pub(crate) fn inspect(&self, case: &Case, result: &CaseResult) {
        if self.book.standing(result).0 != Standing::Regression {
            return;
        }
        let mut details = self.details.lock().unwrap_or_else(PoisonError::into_inner);
        if details.len() < self.most {
            details.insert(result.id.clone(), short_inputs(case));
        }
    }

    /// What there is to say, by case.
    pub(crate) fn finish(self) -> BTreeMap<String, String> {
        self.details.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
