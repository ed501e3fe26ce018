//! Facts about values, which values of the same type and shape share: a model has many values, but few different shapes.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _};
use onnx_conformance_reference::infer::Shape;
use onnx_conformance_reference::types::ValueType;

use crate::facts::{MAX_RANK, ValueFact};

/// Facts by type and shape, within a limit of memory.
pub(super) struct SharedFacts {
    known: HashMap<(Option<ValueType>, Option<Shape>), Arc<ValueFact>>,
    limit: usize,
    /// Bytes used by shapes and constants.
    used: usize,
    /// True if shapes or constants were dropped because of the limit.
    pub(super) is_truncated: bool,
}

impl SharedFacts {
    pub(super) fn new(limit: usize) -> SharedFacts {
        SharedFacts { known: HashMap::new(), limit, used: 0, is_truncated: false }
    }

    /// Returns the fact in shared memory. Drops its shape if the limit is reached.
    pub(super) fn share(&mut self, fact: ValueFact) -> Arc<ValueFact> {
        let shape = fact.shape.filter(|shape| shape.len() <= MAX_RANK);
        let fact = ValueFact { shape, ..fact };
        if has_elements(&fact) {
            return Arc::new(fact);
        }
        let key = (fact.value_type, fact.shape);
        if let Some(known) = self.known.get(&key) {
            return Arc::clone(known);
        }
        let fact = ValueFact { value_type: key.0.clone(), shape: key.1.clone(), ..ValueFact::default() };
        // The key is a copy.
        match self.used.checked_add(fact.size().saturating_mul(2)).filter(|used| *used <= self.limit) {
            Some(used) => {
                self.used = used;
                let fact = Arc::new(fact);
                self.known.insert(key, Arc::clone(&fact));
                fact
            }
            None => self.share_type(fact.value_type),
        }
    }

    /// Counts the memory of a constant while it is in use. Returns only its type if the limit is reached.
    pub(super) fn counted(&mut self, fact: Arc<ValueFact>) -> Arc<ValueFact> {
        if !has_elements(&fact) {
            return fact;
        }
        match self.used.checked_add(fact.size()).filter(|used| *used <= self.limit) {
            Some(used) => {
                self.used = used;
                fact
            }
            None => self.share_type(fact.value_type.clone()),
        }
    }

    /// Records that a counted fact is no longer in use.
    pub(super) fn forget(&mut self, fact: &ValueFact) {
        if has_elements(fact) {
            self.used = self.used.saturating_sub(fact.size());
        }
    }

    /// Returns a fact with only the type.
    fn share_type(&mut self, value_type: Option<ValueType>) -> Arc<ValueFact> {
        self.is_truncated = true;
        let fact = ValueFact { value_type, ..ValueFact::default() };
        let known = self.known.entry((fact.value_type.clone(), None));
        Arc::clone(known.or_insert_with(|| Arc::new(fact)))
    }
}

/// True if the elements of a value are known, which no other value shares.
pub(super) fn has_elements(fact: &ValueFact) -> bool {
    fact.constant.is_some() || fact.elements.is_some()
}
