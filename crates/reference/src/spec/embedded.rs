//! The files under `specs/` at build time.

/// Every YAML file under `specs/`: its path relative to that folder, and its text, sorted by path.
pub static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/specs.rs"));

/// The text of one file, by its path relative to `specs/`.
pub fn file(path: &str) -> Option<&'static str> {
    FILES.binary_search_by(|(candidate, _)| candidate.cmp(&path)).ok().and_then(|index| FILES.get(index)).map(|f| f.1)
}

/// The files of [`FILES`] that are from `specs/next`, by their paths, sorted; none without the feature `next`.
static NEXT: &[&str] = include!(concat!(env!("OUT_DIR"), "/next.rs"));

/// Returns true if a file, by its path relative to `specs/`, is from `specs/next`.
pub fn is_next(path: &str) -> bool {
    NEXT.binary_search(&path).is_ok()
}

/// Returns the path of a file below the folder `root`, for messages. An embedded file from `specs/next` is there.
pub fn shown(root: &str, path: &str) -> String {
    match root {
        "" => path.to_owned(),
        "specs" if is_next(path) && !path.starts_with("next/") => format!("specs/next/{path}"),
        _ => format!("{root}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found() {
        assert!(FILES.iter().all(|(path, text)| file(path) == Some(*text)));
        assert!(NEXT.iter().all(|path| file(path).is_some()));
    }

    #[test]
    fn the_next_release_is_embedded_with_its_feature_only() {
        assert!(cfg!(feature = "next") || NEXT.is_empty(), "{NEXT:?}");
        assert_eq!(shown("specs", "ai.onnx/Abs/13.yaml"), "specs/ai.onnx/Abs/13.yaml");
        let version = NEXT.iter().find(|path| path.split('/').count() == 3);
        assert!(version.is_none_or(|path| shown("specs", path) == format!("specs/next/{path}")));
    }
}
