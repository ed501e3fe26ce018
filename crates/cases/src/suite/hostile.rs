//! Hostile models, one group per topic.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use onnx_conformance_subject::run_folder::RunFolder;

use crate::case::Case;
use crate::hostile::{Attack, Topic, fingerprint, topics};
use crate::suite::{CaseGroup, Source, SuiteError};

/// The folder of models with files. It outlives the suite, since cases refer to it.
static WRITTEN: Mutex<Option<RunFolder>> = Mutex::new(None);

/// Removes the temporary folder of models with files.
pub(super) fn remove_hostile_files() {
    // A folder that cannot be removed does no harm.
    drop(WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// The hostile models, which are made on loading.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostileCases;

impl HostileCases {
    /// First part of the ids.
    pub const GROUP: &str = "hostile";

    /// Ids of all hostile models, by topic, without making any.
    pub fn all_ids() -> impl Iterator<Item = String> {
        topics().iter().flat_map(ids_of)
    }

    fn topic(group: &str) -> Option<&'static Topic> {
        let name = group.strip_prefix(HostileCases::GROUP)?.strip_prefix('/')?;
        topics().iter().find(|topic| topic.name == name)
    }
}

impl Source for HostileCases {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        Ok(topics().iter().map(|topic| CaseGroup { name: format!("{}/{}", HostileCases::GROUP, topic.name) }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        Ok(Self::topic(name).map(|_| CaseGroup { name: name.to_owned() }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        let mut ids: Vec<String> = Self::topic(&group.name).into_iter().flat_map(ids_of).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        let mut cases = Vec::new();
        for attack in Self::topic(&group.name).map_or(&[][..], |topic| topic.attacks) {
            let id = format!("{}/{}", group.name, attack.name);
            if wanted(&id) {
                cases.push(make_case(attack, &id)?);
            }
        }
        Ok(cases)
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(fingerprint())
    }

    fn common_prefix(&self) -> Option<&str> {
        Some(HostileCases::GROUP)
    }
}

/// Ids of the models of a topic.
fn ids_of(topic: &'static Topic) -> impl Iterator<Item = String> {
    topic.attacks.iter().map(move |attack| format!("{}/{}/{}", HostileCases::GROUP, topic.name, attack.name))
}

/// Makes the case of an attack. If its model has files, they are in the temporary folder.
fn make_case(attack: &Attack, id: &str) -> Result<Case, SuiteError> {
    let (mut case, files) = attack.case(id).map_err(|error| SuiteError::Hostile { id: id.to_owned(), error })?;
    if let Some(files) = files {
        let folder = write_once(id, |folder| files(folder, &case.model));
        case.folder = Some(folder.map_err(|error| SuiteError::Io { path: std::env::temp_dir(), error })?);
        let folder = case.folder.clone();
        case.refusal.iter_mut().for_each(|refusal| refusal.control.folder.clone_from(&folder));
    }
    Ok(case)
}

/// Returns the folder of a model in the temporary folder, written on first use.
fn write_once(id: &str, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    if written.is_none() {
        *written = Some(RunFolder::new_in(&std::env::temp_dir())?);
    }
    let home = written.as_ref().map_or_else(std::env::temp_dir, |folder| folder.path().to_owned());
    let folder = home.join(id.replace('/', "-")).join("model");
    if !folder.exists() {
        fs::create_dir_all(&folder)?;
        write(&folder)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::case::digest;

    #[test]
    fn every_attack_is_deterministic() {
        let mut ids = BTreeSet::new();
        let (mut digests, mut recorded) = (Vec::new(), Vec::new());
        for group in HostileCases.groups().unwrap() {
            let cases = HostileCases.load(&group, &|_| true).unwrap();
            assert_eq!(digest(&cases), digest(&HostileCases.load(&group, &|_| true).unwrap()), "{}", group.name);
            let topic = HostileCases::topic(&group.name).unwrap();
            digests.push((topic.name, digest(&cases)));
            recorded.push((topic.name, topic.digest.to_owned()));
            let made: BTreeSet<String> = cases.iter().map(|case| case.id.clone()).collect();
            assert_eq!(made, HostileCases.ids(&group).unwrap().into_iter().collect(), "{}", group.name);
            for case in &cases {
                let word = |part: &str| part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
                assert!(case.id.split('/').all(word), "{}", case.id);
                assert!(case.model.len() < 4 << 20, "{}: {} bytes", case.id, case.model.len());
                let control = case.refusal.as_ref().map(|refusal| &refusal.control.model);
                assert_ne!(control, Some(&case.model), "{}: attacks nothing", case.id);
            }
            ids.extend(made);
        }
        assert!(ids.len() > 250, "{}", ids.len());
        assert_eq!(digests, recorded, "the cases have changed, so write these digests");
    }

    #[test]
    fn files_that_a_model_must_not_reach_exist() {
        let group = CaseGroup { name: "hostile/external".to_owned() };
        let cases = HostileCases.load(&group, &|id| id.ends_with("/parent") || id.ends_with("/link")).unwrap();
        for case in cases {
            let folder = case.folder.unwrap();
            assert_eq!(fs::read(folder.join("model.onnx")).unwrap(), case.model);
            let weights = fs::read(folder.join("weights.bin")).unwrap();
            assert_eq!(fs::read(folder.join("../outside.bin")).unwrap(), weights);
            if cfg!(unix) {
                assert_eq!(fs::read(folder.join("link.bin")).unwrap(), weights);
                assert_eq!(fs::read(folder.join("linked/outside.bin")).unwrap(), weights);
            }
        }
    }
}
