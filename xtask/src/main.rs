//! The project's own tasks.
mod proto;
fn main(){ print!("{}", proto::generate(std::path::Path::new(".")).unwrap()); }
