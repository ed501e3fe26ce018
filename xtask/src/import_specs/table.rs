//! The releases up to that of a package: the rows of its own table, and those that it omits.

use anyhow::{Result, ensure};
use onnx_conformance_cases::suite::release_key;
use onnx_conformance_reference::spec::{Release, Releases};

/// Returns the releases up to `own`, the package's own IR version and opsets, and remarks. A patch release or a
/// development build may be missing in the table of the package; its row is then derived from these. For older rows
/// that the table omits, the committed rows are used.
pub(super) fn releases(
    table: &[Release],
    own: &Release,
    committed: &Releases,
    package: &str,
) -> Result<(Releases, Vec<String>)> {
    let mut notes = Vec::new();
    let mut rows = table.to_vec();
    let key = release_key(&own.onnx);
    if let Some(row) = rows.iter().find(|row| row.onnx == own.onnx) {
        ensure!(
            row == own,
            "onnx.helper.VERSION_TABLE of {package} has {}, but the package itself has {}; it is no release yet: compare its \
             texts with `cargo xtask import-specs --wheel FILE`, or choose another build",
            facts(row),
            facts(own)
        );
    } else {
        notes.push(format!(
            "onnx.helper.VERSION_TABLE of {package} has no row for {}; its row in specs/releases.yaml is derived from the \
             package: {}",
            own.onnx,
            facts(own)
        ));
        rows.push(own.clone());
    }
    for old in &committed.releases {
        if release_key(&old.onnx) < key && !rows.iter().any(|row| row.onnx == old.onnx) {
            rows.push(old.clone());
        }
    }
    rows.sort_by_key(|row| release_key(&row.onnx));
    let later: Vec<&str> =
        rows.iter().filter(|row| release_key(&row.onnx) > key).map(|row| row.onnx.as_str()).collect();
    ensure!(
        later.is_empty(),
        "onnx.helper.VERSION_TABLE of {package} goes on to {}, which is later than {}; name the package for its last release",
        later.join(", "),
        own.onnx
    );
    Ok((Releases { releases: rows, ..Releases::default() }, notes))
}

/// Formats the IR version and the opsets of a release.
fn facts(release: &Release) -> String {
    let opsets: Vec<String> = release.opsets.iter().map(|(domain, opset)| format!("{domain} {opset}")).collect();
    format!("IR {}, {}", release.ir, opsets.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(onnx: &str, ir: u32, opset: u32) -> Release {
        Release { onnx: onnx.to_owned(), ir, opsets: [("ai.onnx".to_owned(), opset)].into() }
    }

    fn check(table: &[Release], own: &Release, committed: &[Release]) -> Result<(Vec<String>, Vec<String>), String> {
        let committed = Releases { releases: committed.to_vec(), ..Releases::default() };
        let (releases, notes) =
            releases(table, own, &committed, "onnx-weekly==9.1").map_err(|error| error.to_string())?;
        Ok((releases.releases.into_iter().map(|row| facts(&row) + " " + &row.onnx).collect(), notes))
    }

    #[test]
    fn a_row_that_the_table_omits_is_derived_from_the_package() {
        let table = [release("8.9.0", 7, 40), release("9.0.0", 7, 41)];
        let (rows, notes) = check(&table, &release("9.1.0", 8, 42), &table).unwrap();
        assert_eq!(rows, ["IR 7, ai.onnx 40 8.9.0", "IR 7, ai.onnx 41 9.0.0", "IR 8, ai.onnx 42 9.1.0"]);
        assert!(notes[0].contains("has no row for 9.1.0") && notes[0].contains("IR 8, ai.onnx 42"), "{notes:?}");
    }

    #[test]
    fn a_derived_row_is_kept_by_later_imports() {
        let table = [release("9.0.0", 7, 41), release("9.1.0", 8, 42)];
        let committed = [release("9.0.0", 7, 41), release("9.0.1", 7, 41), release("9.1.0", 6, 1)];
        let (rows, notes) = check(&table, &release("9.1.0", 8, 42), &committed).unwrap();
        assert_eq!(rows, ["IR 7, ai.onnx 41 9.0.0", "IR 7, ai.onnx 41 9.0.1", "IR 8, ai.onnx 42 9.1.0"]);
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn a_table_that_contradicts_the_package_is_refused() {
        let error = check(&[release("9.1.0", 8, 42)], &release("9.1.0", 8, 43), &[]).unwrap_err();
        assert!(error.contains("has IR 8, ai.onnx 42, but the package itself has IR 8, ai.onnx 43"), "{error}");
        let error = check(&[release("9.2.0", 8, 42)], &release("9.1.0", 8, 42), &[]).unwrap_err();
        assert!(error.contains("goes on to 9.2.0, which is later than 9.1.0"), "{error}");
    }
}
