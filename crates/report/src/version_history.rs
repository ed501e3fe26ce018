//! Page with the changes between adjacent versions of every operator.

use std::fmt::Write as _;

use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::spec::diff::{Change, DiffError, versions};

/// Creates a markdown page with a row per pair of adjacent versions. `made_by` names the command that creates it.
pub fn page(specs: &Specs, made_by: &str) -> Result<String, DiffError> {
    let mut rows = String::new();
    let (mut pairs, mut meanings, mut silent) = (0, 0, 0);
    for domain in specs.domains() {
        for operator in specs.operators(domain) {
            let all: Vec<u32> = specs.versions(domain, operator).collect();
            for pair in all.windows(2) {
                let diff = versions(specs, domain, operator, pair[0], pair[1])?;
                pairs += 1;
                let mut changed = diff.changes.iter().filter_map(|change| match change {
                    Change::Meaning { meaning, .. } => Some(meaning),
                    _ => None,
                });
                meanings += usize::from(changed.clone().next().is_some());
                silent += usize::from(changed.any(|meaning| !meaning.silent.is_empty()));
                let changes: Vec<String> =
                    diff.changes.iter().map(|change| change.to_string().replace('|', "\\|")).collect();
                let _ = writeln!(rows, "| {} | {} | {} | {} |", domain, diff.from, diff.to, changes.join("<br>"));
            }
        }
    }
    Ok(format!(
        "<!-- Made by `{made_by}`. -->\n# What changed between versions\n\n{pairs} pairs of adjacent operator versions. In \
         {meanings} pairs the meaning changed; a sentence after the version's name describes how. In {silent} pairs, nodes \
         that are valid in both versions change their meaning: \"Silent (the model stays valid)\", followed by the condition and \
         a case of the suite whose result differs. All other changes are computed from the specs.\n\n\
         | domain | from | to | changes |\n|---|---|---|---|\n{rows}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_adjacent_versions_has_a_row() {
        let specs = Specs::embedded();
        let page = page(specs, "a test").unwrap();
        let operators: usize = specs.domains().map(|domain| specs.operators(domain).count()).sum();
        assert_eq!(page.lines().filter(|line| line.starts_with("| ai.onnx")).count(), specs.all().count() - operators);
        assert!(page.contains("| ai.onnx | Sum-8 | Sum-13 | tensor(bfloat16) added to T |"));
    }
}
