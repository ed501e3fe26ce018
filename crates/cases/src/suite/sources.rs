//! The sources of cases, behind a single index of ids.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onnx_conformance_reference::parallel::map_items;

use crate::case::{Case, CaseId, Variant, digest_of_texts, folders, vary};
use crate::suite::export::MANIFEST;
use crate::suite::walk::walk;
use crate::suite::{
    ArchivedCases, CaseGroup, Exported, Filter, FolderSuite, Generated, GraphCases, HostileCases, IrCases, Releases,
    Source, SuiteError, VendoredCases, WrappedCases,
};

/// A group with its source, and the ids of its selected cases.
pub type SelectedGroup<'a> = (&'a (dyn Source + Send), CaseGroup, Vec<String>);

/// All sources together.
pub struct Suite {
    sources: Vec<Box<dyn Source + Send>>,
}

impl Suite {
    /// Creates a suite of the given sources, in order.
    pub fn new(sources: Vec<Box<dyn Source + Send>>) -> Suite {
        Suite { sources }
    }

    /// Replaces each source.
    #[must_use]
    pub fn map_sources(self, change: impl FnMut(Box<dyn Source + Send>) -> Box<dyn Source + Send>) -> Suite {
        Suite::new(self.sources.into_iter().map(change).collect())
    }

    /// Opens an archive that `export --archive` wrote, or a folder of test folders.
    pub fn from_path(path: &Path) -> Result<Suite, SuiteError> {
        if path.is_file() {
            return Ok(Suite::new(vec![Box::new(ArchivedCases::open(path)?)]));
        }
        Suite::from_folder(path)
    }

    /// Opens a folder of test folders. Manifests in it, or in a folder below, are used.
    pub fn from_folder(folder: &Path) -> Result<Suite, SuiteError> {
        if folder.join(MANIFEST).is_file() {
            return Ok(Suite::new(vec![Box::new(Exported::open(folder)?)]));
        }
        let roots = folders_with_manifest(folder)?;
        let plain = FolderSuite::open(folder)?.outside(&roots);
        let mut sources: Vec<Box<dyn Source + Send>> = Vec::new();
        sources.extend(plain.map(|plain| Box::new(plain) as Box<dyn Source + Send>));
        for root in &roots {
            sources.push(Box::new(Exported::open_below(folder, root)?));
        }
        Ok(Suite::new(sources))
    }

    /// Restricts loading to cases whose files have at most this many bytes.
    #[must_use]
    pub fn within(mut self, memory: u64) -> Suite {
        self.sources.iter_mut().for_each(|source| source.limit(memory));
        self
    }

    /// Opens the project's suite with these cases from specs. The tests of releases and the data of format cases are
    /// embedded, unless a folder is given.
    pub fn project(testdata: Option<&Path>, generated: Generated) -> Result<Suite, SuiteError> {
        Suite::with(&Releases::below(testdata)?, generated, testdata)
    }

    /// Opens the suite of the project: every release under `testdata`, and the cases from the specs.
    pub fn open(testdata: &Path) -> Result<Suite, SuiteError> {
        Suite::project(Some(testdata), Generated::embedded())
    }

    /// Creates a suite of these releases, these cases from specs, the cases about the format, graphs, and the hostile models.
    /// The data of the format's cases is in `testdata` or in the program.
    pub fn with(releases: &Arc<Releases>, generated: Generated, testdata: Option<&Path>) -> Result<Suite, SuiteError> {
        let mut sources: Vec<Box<dyn Source + Send>> = Vec::new();
        for release in VendoredCases::all(releases)? {
            sources.push(Box::new(release));
        }
        sources.push(Box::new(generated));
        sources.push(Box::new(testdata.map_or_else(IrCases::embedded, IrCases::new)));
        sources.push(Box::new(GraphCases));
        sources.push(Box::new(WrappedCases::embedded()));
        sources.push(Box::new(HostileCases));
        Ok(Suite::new(sources))
    }

    /// Returns notes for users before the run.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        self.sources.iter().filter_map(|source| source.remark())
    }

    /// Returns every group that is selected by default, with its source, in order.
    pub fn groups(&self) -> Result<Vec<(&(dyn Source + Send), CaseGroup)>, SuiteError> {
        self.groups_for(&Filter::default())
    }

    /// Returns the groups that a filter may select cases from, in order.
    fn groups_for(&self, filter: &Filter) -> Result<Vec<(&(dyn Source + Send), CaseGroup)>, SuiteError> {
        let is_meant = |source: &&(dyn Source + Send)| {
            let names_it = || source.common_prefix().is_none_or(|group| filter.may_select_from(group));
            if filter.is_default() { source.is_default() } else { names_it() }
        };
        let mut groups = Vec::new();
        for source in self.sources.iter().map(AsRef::as_ref).filter(is_meant) {
            let of_source = source.groups()?.into_iter().filter(|group| filter.may_select_from(&group.name));
            groups.extend(of_source.map(|group| (source, group)));
        }
        Ok(groups)
    }

    /// Returns the group of this name with its source, without listing all groups.
    pub fn find_group(&self, name: &str) -> Result<Option<(&(dyn Source + Send), CaseGroup)>, SuiteError> {
        let found = self.place(name)?;
        Ok(found.and_then(|(at, group)| Some((self.sources.get(at)?.as_ref(), group))))
    }

    /// Returns the group of this name with the index of its source.
    fn place(&self, name: &str) -> Result<Option<(usize, CaseGroup)>, SuiteError> {
        for (at, source) in self.sources.iter().enumerate() {
            if let Some(group) = source.find_group(name)? {
                return Ok(Some((at, group)));
            }
        }
        Ok(None)
    }

    /// Computes the digest of the sources of the cases.
    pub fn digest(&self) -> Result<String, SuiteError> {
        let texts = self.sources.iter().map(|source| source.fingerprint()).collect::<Result<Vec<_>, _>>()?;
        Ok(digest_of_texts(texts.iter().map(String::as_str)))
    }

    /// Returns the digests of the cases of no operator, by the first part of their ids, or by the first two if they are made
    /// from one file for each topic: `onnx-1.22.0`, `graph/reshapes`.
    pub fn digests_outside_operators(&self) -> Result<BTreeMap<String, String>, SuiteError> {
        let mut digests = BTreeMap::new();
        for source in &self.sources {
            let texts = source.fingerprints()?;
            digests.extend(texts.into_iter().map(|(prefix, text)| (prefix, digest_of_texts([text.as_str()]))));
        }
        Ok(digests)
    }

    /// Returns the ids that a filter selects, in order.
    pub fn ids(&self, filter: &Filter) -> Result<Vec<String>, SuiteError> {
        Ok(self.choose(filter)?.into_iter().flat_map(|(_, _, ids)| ids).collect())
    }

    /// Returns the groups that a filter selects cases from, with the selected ids, in order.
    pub fn choose<'a>(&'a self, filter: &Filter) -> Result<Vec<SelectedGroup<'a>>, SuiteError> {
        let groups = self.groups_for(filter)?;
        let ids = map_items(None, &groups, |(source, group)| {
            Ok(source.ids(group)?.into_iter().filter(|id| filter.matches(id)).collect::<Vec<String>>())
        });
        let ids = ids.into_iter().collect::<Result<Vec<_>, SuiteError>>()?;
        let chosen = groups.into_iter().zip(ids).map(|((source, group), ids)| (source, group, ids));
        Ok(chosen.filter(|(_, _, ids)| !ids.is_empty()).collect())
    }

    /// Returns the case with this id, in the variant that the id ends with, if it exists and is within the limit.
    pub fn find(&self, id: &str) -> Result<Option<Case>, SuiteError> {
        let mut found = None;
        self.find_each(&[id], &mut |case| {
            found = Some(case);
            Ok(())
        })?;
        Ok(found)
    }

    /// Hands over the cases with these ids that exist, each in the variant that its id ends with. Every group is read
    /// once at most.
    pub fn find_each(
        &self,
        ids: &[&str],
        sink: &mut dyn FnMut(Case) -> Result<(), SuiteError>,
    ) -> Result<(), SuiteError> {
        let mut wanted: BTreeMap<(usize, CaseGroup), BTreeSet<(&str, Variant)>> = BTreeMap::new();
        for id in ids {
            let CaseId { path: id, variant } = CaseId::parse(id);
            for name in std::iter::once(id).chain(folders(id).rev()) {
                if let Some(place) = self.place(name)? {
                    wanted.entry(place).or_default().insert((id, variant));
                    break;
                }
            }
        }
        for ((at, group), chosen) in wanted {
            let Some(source) = self.sources.get(at) else { continue };
            let names: HashSet<&str> = chosen.iter().map(|(id, _)| *id).collect();
            let cases = match source.load(&group, &|id| names.contains(id)) {
                Err(SuiteError::TooLarge { .. }) => continue,
                cases => cases?,
            };
            for case in cases {
                for (_, variant) in chosen.iter().filter(|(id, _)| *id == case.id) {
                    let case = if *variant == Variant::Runtime { Some(case.clone()) } else { vary(&case, *variant) };
                    case.map_or(Ok(()), &mut *sink)?;
                }
            }
        }
        Ok(())
    }
}

/// Finds the folders below one that have a manifest.
fn folders_with_manifest(folder: &Path) -> Result<Vec<PathBuf>, SuiteError> {
    let mut roots = Vec::new();
    for entry in walk(folder) {
        let entry = entry?;
        if entry.is_file && entry.is_named(MANIFEST) {
            roots.extend(entry.path.parent().map(Path::to_owned));
        }
    }
    Ok(roots)
}
