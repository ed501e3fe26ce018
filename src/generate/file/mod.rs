//! What people write: words that op.yaml is put together from, and the file with its shorthands written out.

mod anchors;
mod since;
mod type_list;
mod words;
mod written_out;

pub use since::Since;
pub(super) use type_list::TypeGroups;
pub use type_list::{TypeList, TypesFile};
pub use words::Words;
pub(super) use written_out::{refuse_anchors, resolve, write_out};
