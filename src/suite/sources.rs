//! The sources of cases, behind one index of ids.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use walkdir::WalkDir;

use crate::case::{Case, Variant, digest_of_texts, vary};
use crate::suite::export::MANIFEST;
use crate::suite::{CaseGroup, Exported, Filter, FolderSuite, Generated, IrCases, Source, SuiteError, VendoredCases};

/// A unit with its source, and the ids of its cases that are chosen.
pub type SelectedGroup<'a> = (&'a (dyn Source + Send), CaseGroup, Vec<String>);

/// All sources together.
pub struct Suite {
    sources: Vec<Box<dyn Source + Send>>,
}

impl Suite {
    /// The sources given, in order.
    pub fn new(sources: Vec<Box<dyn Source + Send>>) -> Suite {
        Suite { sources }
    }

    /// The suite with each source in the place of another.
    #[must_use]
    pub fn map_sources(self, change: impl FnMut(Box<dyn Source + Send>) -> Box<dyn Source + Send>) -> Suite {
        Suite::new(self.sources.into_iter().map(change).collect())
    }

    /// The cases in a folder of test folders, with all that a manifest says of them where it, or a folder below, has one.
    pub fn of_folder(folder: &Path) -> Result<Suite, SuiteError> {
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

    /// The suite that comes with the project: every vendored release under `testdata`, and the cases from the specs.
    pub fn open(testdata: &Path) -> Result<Suite, SuiteError> {
        Suite::with(testdata, Generated::embedded())
    }

    /// Every vendored release under `testdata`, and these cases from specs.
    pub fn with(testdata: &Path, generated: Generated) -> Result<Suite, SuiteError> {
        let mut sources: Vec<Box<dyn Source + Send>> = Vec::new();
        for release in releases(&testdata.join("onnx"))? {
            sources.push(Box::new(VendoredCases::new(&release)));
        }
        sources.push(Box::new(generated));
        sources.push(Box::new(IrCases::new(testdata)));
        Ok(Suite::new(sources))
    }

    /// What a user is told before the cases are run.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        self.sources.iter().filter_map(|source| source.remark())
    }

    /// Every unit with its source, in order.
    pub fn units(&self) -> Result<Vec<(&(dyn Source + Send), CaseGroup)>, SuiteError> {
        let mut units = Vec::new();
        for source in &self.sources {
            units.extend(source.units()?.into_iter().map(|unit| (source.as_ref(), unit)));
        }
        Ok(units)
    }

    /// The unit of this name with its source, if there is one, found without listing all.
    pub fn unit(&self, name: &str) -> Result<Option<(&(dyn Source + Send), CaseGroup)>, SuiteError> {
        for source in &self.sources {
            if let Some(unit) = source.unit(name)? {
                return Ok(Some((source.as_ref(), unit)));
            }
        }
        Ok(None)
    }

    /// The digest of what the cases are made from.
    pub fn digest(&self) -> Result<String, SuiteError> {
        let texts = self.sources.iter().map(|source| source.fingerprint()).collect::<Result<Vec<_>, _>>()?;
        Ok(digest_of_texts(texts.iter().map(String::as_str)))
    }

    /// The ids that a filter chooses, in order.
    pub fn ids(&self, filter: &Filter) -> Result<Vec<String>, SuiteError> {
        Ok(self.choose(filter)?.into_iter().flat_map(|(_, _, ids)| ids).collect())
    }

    /// The units of which a filter chooses cases, with the ids that it chooses, in order.
    pub fn choose<'a>(&'a self, filter: &Filter) -> Result<Vec<SelectedGroup<'a>>, SuiteError> {
        let mut units = self.units()?;
        units.retain(|(_, unit)| filter.may_choose_from(&unit.name));
        let choose = |(source, unit): (&'a (dyn Source + Send), CaseGroup)| {
            let ids: Vec<String> = source.ids(&unit)?.into_iter().filter(|id| filter.matches(id)).collect();
            Ok((source, unit, ids))
        };
        let mut chosen = units.into_par_iter().map(choose).collect::<Result<Vec<_>, SuiteError>>()?;
        chosen.retain(|(_, _, ids)| !ids.is_empty());
        Ok(chosen)
    }

    /// The case with this id, if there is one, in the variant that the id ends with.
    pub fn find(&self, id: &str) -> Result<Option<Case>, SuiteError> {
        let mut found = None;
        self.find_each(&[id], &mut |case| {
            found = Some(case);
            Ok(())
        })?;
        Ok(found)
    }

    /// Hands over the cases with these ids, as far as there are any, each in the variant that its id ends with. A unit is read
    /// once, whatever number of its cases is asked for.
    pub fn find_each(
        &self,
        ids: &[&str],
        sink: &mut dyn FnMut(Case) -> Result<(), SuiteError>,
    ) -> Result<(), SuiteError> {
        let units = self.units()?;
        let places: HashMap<&str, usize> =
            units.iter().enumerate().map(|(at, (_, unit))| (unit.name.as_str(), at)).collect();
        let mut wanted: BTreeMap<usize, BTreeSet<(&str, Variant)>> = BTreeMap::new();
        for id in ids {
            let (id, variant) = Variant::of_id(id);
            let groups = id.rmatch_indices('/').filter_map(|(end, _)| id.get(..end));
            let place = std::iter::once(id).chain(groups).find_map(|name| places.get(name));
            if let Some(&place) = place {
                wanted.entry(place).or_default().insert((id, variant));
            }
        }
        for (place, chosen) in wanted {
            let (source, unit) = &units[place];
            let names: HashSet<&str> = chosen.iter().map(|(id, _)| *id).collect();
            for case in source.load(unit, &|id| names.contains(id))? {
                for (_, variant) in chosen.iter().filter(|(id, _)| *id == case.id) {
                    let case = if *variant == Variant::Runtime { Some(case.clone()) } else { vary(&case, *variant) };
                    case.map_or(Ok(()), &mut *sink)?;
                }
            }
        }
        Ok(())
    }
}

/// The folders below one that have a manifest.
fn folders_with_manifest(folder: &Path) -> Result<Vec<PathBuf>, SuiteError> {
    let mut roots = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| SuiteError::walk(folder, error))?;
        if entry.file_type().is_file() && entry.file_name() == MANIFEST {
            roots.extend(entry.path().parent().map(Path::to_owned));
        }
    }
    Ok(roots)
}

fn releases(folder: &Path) -> Result<Vec<PathBuf>, SuiteError> {
    let io = |error| SuiteError::Io { path: folder.to_owned(), error };
    let mut releases = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.is_dir() {
            releases.push(path);
        }
    }
    releases.sort();
    Ok(releases)
}
