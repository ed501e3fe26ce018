//! Random selection from lists.

use crate::Random;

/// Selects an item; `None` if the list is empty.
pub(crate) fn pick<'a, T>(random: &mut Random, items: &'a [T]) -> Option<&'a T> {
    items.get(place(random, items.len()))
}

/// Selects a position in a list of this length; 0 if it is empty.
pub(crate) fn place(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length as u64)).unwrap_or(0)
}
