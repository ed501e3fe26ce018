//! Drawing from lists.

use crate::Random;

/// One of some items; nothing where there is none.
pub(crate) fn pick<'a, T>(random: &mut Random, items: &'a [T]) -> Option<&'a T> {
    items.get(place(random, items.len()))
}

/// A place in a list of this length; 0 where it is empty.
pub(crate) fn place(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length as u64)).unwrap_or(0)
}
