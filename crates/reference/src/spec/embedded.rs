//! The files under `specs/` at build time.

/// Every YAML file under `specs/`: its path relative to that folder, and its text, sorted by path.
pub static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/specs.rs"));

/// The text of one file, by its path relative to `specs/`.
pub fn file(path: &str) -> Option<&'static str> {
    FILES.binary_search_by(|(candidate, _)| candidate.cmp(&path)).ok().and_then(|index| FILES.get(index)).map(|f| f.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found() {
        assert!(FILES.iter().all(|(path, text)| file(path) == Some(*text)));
    }
}
