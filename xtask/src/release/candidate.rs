//! A version of ONNX to import, read in memory and compared with the committed one.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_cases::suite::{Releases, release_key};
use onnx_conformance_reference::kernels::framework::registry;
use onnx_conformance_reference::spec::diff::compare;
use onnx_conformance_reference::spec::{OpSpec, Specs, Texts, VersionFacts};

use super::next_specs::Prepared;
use super::pip;
use super::section::Section;
use super::tests_of::TestChanges;
use super::wanted::Wanted;
use crate::import_specs::Dump;
use crate::texts::changes::Change;
use crate::texts::{history, rules, standard};
use crate::vendor::{self, PACKAGES, Package, Packed};

/// A version with everything that is imported from it.
pub(crate) struct Candidate {
    pub(crate) package: Package,
    pub(crate) dump: Dump,
    pub(crate) packed: Packed,
    pub(crate) tests: TestChanges,
    /// Sentences that changed since the release before.
    changes: Vec<Change>,
    prepared: Prepared,
}

/// Returns true if a package is of a later release than the pinned one, or if the pinned one leads to the same release.
pub(crate) fn is_newer(package: &Package, pinned: &Package) -> bool {
    let [key, pinned_key] = [package, pinned].map(|package| release_key(&package.release));
    key > pinned_key || (key == pinned_key && (!pinned.is_released() || package.is_released()))
}

impl Candidate {
    /// Finds the wheel of a version.
    pub(crate) fn find(wanted: &Wanted) -> Result<Package> {
        let pinned = vendor::newest()?;
        let package = pip::find(wanted, &pinned.run)?;
        ensure!(
            is_newer(&package, &pinned),
            "{} leads to ONNX {}, but {PACKAGES} pins {}; name a later version",
            package.requirement(),
            package.release,
            pinned.requirement()
        );
        Ok(package)
    }

    /// Reads a package: its specs, texts and tests.
    pub(crate) fn read(package: Package) -> Result<Candidate> {
        let dump = Dump::read(&package, "candidate")?;
        let changes = history::changes(&standard::committed()?, &dump.sentences, &package.release)?;
        let packed = vendor::pack(&package)?;
        let releases = Releases::from_folder(&vendor::home())?;
        let tests = TestChanges::since_last(&releases, &package.release, &packed.index)?;
        let prepared = Prepared::read()?;
        Ok(Candidate { package, dump, packed, tests, changes, prepared })
    }

    /// Lists the differences from the release before.
    pub(crate) fn sections(&self) -> Result<Vec<Section>> {
        let names = |tests: &BTreeSet<String>| tests.iter().map(|test| self.tests.id(test)).collect::<Vec<_>>();
        Ok(vec![
            Section::new("remarks on the package", "Compare the rows with the release notes.", self.dump.notes.clone()),
            Section::new(
                "new operator versions",
                "Add what is missing: `cargo xtask new-op` lists the steps. Name changes of meaning in op.yaml.",
                self.new_versions(),
            ),
            Section::new(
                "changed schemas",
                "Judge each; the number of the version is the same.",
                self.changed_schemas(),
            ),
            Section::new(
                "changed sentences",
                "Judge each under its fixed number: does the level or an output of a case change?",
                self.changed_sentences(),
            ),
            Section::new(
                "texts that differ in white space alone",
                "Nothing to judge: specs/texts.yaml has new digests, and every sentence is the same.",
                self.changed_white_space()?,
            ),
            Section::new("changed tests", "They run below.", names(&self.tests.changed)),
            Section::new("new tests", "They run below.", names(&self.tests.added)),
            Section::new(
                "removed tests",
                "Nothing to do: older releases keep them.",
                self.tests.removed.iter().cloned().collect(),
            ),
        ])
    }

    /// Lists the operator versions of opsets that the release before does not have.
    fn new_versions(&self) -> Vec<String> {
        let old = self.dump.releases.find(&self.tests.old);
        let last = |domain: &str| old.and_then(|old| old.opsets.get(domain)).copied().unwrap_or(0);
        let new = self.dump.schemas.iter().filter(|schema| schema.version.since > last(&schema.version.domain));
        new.map(|schema| self.new_version(schema)).collect()
    }

    fn new_version(&self, schema: &OpSpec) -> String {
        let version = &schema.version;
        let kernel = registry::find(version);
        let shape = match kernel {
            Some(kernel) if kernel.infers_shapes() => "a shape rule",
            _ => "no shape rule",
        };
        let cases = if OperatorCatalog::embedded().has(version) { "op.yaml" } else { "no op.yaml" };
        let kernel =
            kernel.map_or("no kernel".to_owned(), |kernel| format!("the kernel of version {}", kernel.row().2));
        let older = self.dump.schemas.iter().filter(|other| {
            let other = &other.version;
            (&other.domain, &other.name) == (&version.domain, &version.name) && other.since < version.since
        });
        let before = older.max_by_key(|other| other.version.since);
        let differences = before.map_or("new operator".to_owned(), |before| {
            let found: Vec<String> = compare(before, schema).iter().map(ToString::to_string).collect();
            format!("since {}: {}", before.version.since, found.join(", "))
        });
        if let Some(state) = self.prepared.state(schema, self.dump.texts.get(&version.qualified())) {
            return format!("{}: {state}; {differences}", version.qualified());
        }
        format!("{}: {kernel}, {shape}, {cases}; {differences}", version.qualified())
    }

    /// Lists the schemas that differ from this program's under the same number, and schemas that were removed.
    fn changed_schemas(&self) -> Vec<String> {
        let specs = Specs::embedded();
        let mut lines = Vec::new();
        for schema in &self.dump.schemas {
            let Ok(known) = specs.get(&schema.version) else { continue };
            // op.yaml has the changes and the facts.
            let known = OpSpec { changes: Vec::new(), facts: VersionFacts::default(), ..known.clone() };
            if known != *schema {
                let found: Vec<String> = compare(&known, schema).iter().map(ToString::to_string).collect();
                let found = if found.is_empty() { "the formal parameters differ".to_owned() } else { found.join(", ") };
                lines.push(format!("{}: {found}", schema.version.qualified()));
            }
        }
        let is_there = |version: &_| self.dump.schemas.iter().any(|schema| schema.version == *version);
        let gone = specs.all().filter(|version| !is_there(version));
        lines.extend(gone.map(|version| format!("{}: removed", version.qualified())));
        lines
    }

    fn changed_sentences(&self) -> Vec<String> {
        let catalog = OperatorCatalog::embedded();
        let line = |change: &Change| {
            let rules: String =
                rules::about(&catalog, change).iter().flat_map(|rule| ["= ", rule, "\n"]).map(str::to_owned).collect();
            format!("{change}{rules}").trim_end().to_owned()
        };
        self.changes.iter().map(line).collect()
    }

    /// Lists the versions whose text has another digest and the same sentences.
    fn changed_white_space(&self) -> Result<Vec<String>> {
        let committed = Texts::read(Specs::embedded())?;
        let versions: BTreeSet<&str> = self
            .changes
            .iter()
            .flat_map(|change| &change.places)
            .filter_map(|(place, _)| standard::version(place))
            .collect();
        let is_other =
            |(version, facts): &(&String, &_)| committed.texts.get(*version).is_some_and(|old| old != *facts);
        let other = self.dump.texts.iter().filter(is_other).map(|(version, _)| version);
        Ok(other.filter(|version| !versions.contains(version.as_str())).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_follows_its_builds_and_older_versions() {
        let package = |name: &str, release: &str, version: &str| Package::new(release, name, version, "", "");
        let build = package("onnx-weekly", "9.1.0", "9.1.0.dev2");
        let candidate = package("onnx", "9.1.0", "9.1.0rc1");
        let release = package("onnx", "9.1.0", "9.1.0");
        assert!(is_newer(&build, &package("onnx", "9.0.9", "9.0.9")) && is_newer(&candidate, &build));
        assert!(is_newer(&release, &build) && is_newer(&release, &release));
        assert!(!is_newer(&build, &release) && !is_newer(&candidate, &release));
        assert!(!is_newer(&release, &package("onnx", "9.2.0", "9.2.0")));
    }
}
