//! What the cases reach of what there is to reach: versions, types, attributes, inputs, values, refusals.

mod enums;
mod excuses;
mod goal;
mod node;
mod reach;
mod sizes;
mod survey;
mod tally;
mod value;

pub use excuses::Excuses;
pub use goal::{Aspect, Goal};
pub use survey::Survey;
pub use tally::{Count, Coverage};
