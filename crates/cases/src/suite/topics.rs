//! Topics that are embedded in the program, each parsed on first use.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use crate::case::{Case, digest_of_texts};
use crate::generate::{Family, Topic, embedded_topics, read_topic, topic_cases, topic_ids};
use crate::suite::{CaseGroup, SuiteError};

/// The embedded topics of a family.
#[derive(Debug)]
pub(super) struct Topics {
    family: Family,
    all: OnceLock<Vec<EmbeddedTopic>>,
}

#[derive(Debug)]
struct EmbeddedTopic {
    /// Common prefix of the ids.
    name: String,
    text: &'static str,
    topic: OnceLock<Topic>,
    ids: OnceLock<Vec<String>>,
}

impl Topics {
    pub(super) const fn new(family: Family) -> Topics {
        Topics { family, all: OnceLock::new() }
    }

    /// Returns the topics, in order.
    pub(super) fn topics(&self) -> Result<Vec<&Topic>, SuiteError> {
        self.all().iter().map(|it| it.topic(self.family)).collect()
    }

    /// Returns the ids of all cases, planned on first use. A test makes every case, so every embedded file can be read.
    pub(super) fn all_ids(&self) -> impl Iterator<Item = &str> {
        self.all().iter().flat_map(|it| it.ids(self.family).unwrap_or_default()).map(String::as_str)
    }

    pub(super) fn groups(&self) -> Vec<CaseGroup> {
        self.all().iter().map(|it| CaseGroup { name: it.name.clone() }).collect()
    }

    pub(super) fn find_group(&self, name: &str) -> Option<CaseGroup> {
        self.all().iter().find(|it| it.name == name).map(|it| CaseGroup { name: it.name.clone() })
    }

    /// Returns the ids of a group's cases, sorted.
    pub(super) fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        Ok(self.of_group(group)?.ids(self.family)?.to_vec())
    }

    /// Makes the selected cases of a group. Models with external data belong to `folder`.
    pub(super) fn load(
        &self,
        group: &CaseGroup,
        folder: &Path,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Case>, SuiteError> {
        Ok(topic_cases(self.of_group(group)?.topic(self.family)?, folder, wanted)?)
    }

    pub(super) fn fingerprint(&self) -> String {
        digest_of_texts(self.all().iter().map(|it| it.text))
    }

    /// Returns a text for each topic, so that a new case in one leaves the measurements of the others valid.
    pub(super) fn fingerprints(&self) -> BTreeMap<String, String> {
        self.all().iter().map(|it| (it.name.clone(), digest_of_texts([it.text]))).collect()
    }

    fn all(&self) -> &[EmbeddedTopic] {
        self.all.get_or_init(|| {
            let topic = |(name, text)| EmbeddedTopic { name, text, topic: OnceLock::new(), ids: OnceLock::new() };
            embedded_topics(self.family).map(topic).collect()
        })
    }

    fn of_group(&self, group: &CaseGroup) -> Result<&EmbeddedTopic, SuiteError> {
        let found = self.all().iter().find(|it| it.name == group.name);
        let missing =
            || SuiteError::File { path: (&group.name).into(), rule: "this file of cases does not exist".into() };
        found.ok_or_else(missing)
    }
}

impl EmbeddedTopic {
    fn topic(&self, family: Family) -> Result<&Topic, SuiteError> {
        if let Some(topic) = self.topic.get() {
            return Ok(topic);
        }
        let name = self.name.split_once('/').map_or("", |(_, name)| name);
        let topic = read_topic(family, name, self.text)?;
        Ok(self.topic.get_or_init(|| topic))
    }

    fn ids(&self, family: Family) -> Result<&[String], SuiteError> {
        if let Some(ids) = self.ids.get() {
            return Ok(ids);
        }
        let ids = topic_ids(self.topic(family)?)?;
        Ok(self.ids.get_or_init(|| ids))
    }
}
