//! The version of the suite.

/// The version of the suite, independent of that of the program. docs/stability.md says what a version may change.
/// CHANGELOG.md lists the changes.
pub const SUITE_VERSION: &str = "0.2.0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changelog_names_the_version() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../CHANGELOG.md")).unwrap();
        let newest = text.lines().find(|line| line.starts_with("## ")).unwrap();
        let (program, suite) = (env!("CARGO_PKG_VERSION"), format!("suite {SUITE_VERSION}"));
        assert!(newest.contains(program) && newest.contains(&suite), "CHANGELOG.md: the newest heading is `{newest}`");
    }
}
