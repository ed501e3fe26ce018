//! Table of attacks by topic, and the case of each.

use std::path::Path;
use std::{fs, io};

use bytes::Bytes;
use onnx_conformance_reference::proto::Message;

use crate::case::{Case, DataSet, Expected, ExpectedOutput, Level, Named, Refusal, RuleRef, digest_of_texts};
use crate::compare::Accuracy;
use crate::hostile::draft::{Answer, Attack, Draft, DraftError};
use crate::hostile::{allocation, attributes, cycles, depth, encoding, external, graph, names, numbers, sizes};

/// Attacks of one topic: `hostile/<name>/**`.
#[derive(Debug)]
pub struct Topic {
    /// Middle part of the id.
    pub name: &'static str,
    /// The attacks in reading order.
    pub attacks: &'static [Attack],
    /// The digest of the cases, which a test compares with them.
    pub digest: &'static str,
}

/// Every topic, sorted by name.
static TOPICS: [Topic; 10] = [
    Topic { name: "allocation", attacks: allocation::ATTACKS, digest: "636177ee3ebbb30f" },
    Topic { name: "attributes", attacks: attributes::ATTACKS, digest: "acd86c7019b00c3b" },
    Topic { name: "cycles", attacks: cycles::ATTACKS, digest: "a6ba0fe3c2249426" },
    Topic { name: "depth", attacks: depth::ATTACKS, digest: "f57bc38e6869a1af" },
    Topic { name: "encoding", attacks: encoding::ATTACKS, digest: "2a9469faed632099" },
    Topic { name: "external", attacks: external::ATTACKS, digest: "68b5b2761378904d" },
    Topic { name: "graph", attacks: graph::ATTACKS, digest: "95426cdc32fe9c25" },
    Topic { name: "names", attacks: names::ATTACKS, digest: "e10c2e600b3af926" },
    Topic { name: "numbers", attacks: numbers::ATTACKS, digest: "eb69de6f5625e1e1" },
    Topic { name: "sizes", attacks: sizes::ATTACKS, digest: "ecf20afef7f8ff38" },
];

/// Returns every topic, sorted by name.
pub fn topics() -> &'static [Topic] {
    &TOPICS
}

/// Returns the fingerprint of the cases.
pub fn fingerprint() -> String {
    digest_of_texts(TOPICS.iter().map(|topic| topic.digest))
}

/// Writes the files that a model names into a new folder, next to the model itself.
pub type WriteFiles = Box<dyn FnOnce(&Path, &[u8]) -> io::Result<()>>;

impl Attack {
    /// Makes the case of the attack. If it has files to write, its folder is not set yet.
    pub fn case(&self, id: &str) -> Result<(Case, Option<WriteFiles>), DraftError> {
        let Draft { model, inputs, answer, files } = (self.make)()?;
        let (outputs, valid) = match answer {
            Answer::Outputs(outputs) => (outputs, None),
            Answer::Refusal(valid) => (Vec::new(), Some(valid)),
            Answer::Any => (Vec::new(), None),
        };
        let refusal = valid.map(|valid| {
            let model = valid.model.encode_to_vec().into();
            let control = case(format!("{id}/control"), model, valid.inputs, valid.outputs);
            Refusal { rule: self.says.to_owned(), control: Box::new(control), only_at_run_time: false }
        });
        let write = files.map(|write| -> WriteFiles {
            Box::new(move |folder, model| write(folder).and_then(|()| fs::write(folder.join("model.onnx"), model)))
        });
        let topic = id.split('/').nth(1).unwrap_or_default();
        let place = format!("crates/cases/src/hostile/{topic}.rs");
        let rule = Some(RuleRef { id: "hostile".to_owned(), says: self.says.to_owned(), place });
        Ok((Case { refusal, rule, is_hostile: true, ..case(id.to_owned(), model, inputs, outputs) }, write))
    }
}

/// Makes a case of one data set with exact outputs.
fn case(id: String, model: Bytes, inputs: Vec<Named>, outputs: Vec<Named>) -> Case {
    let expected = |Named { name, value }| ExpectedOutput { name, expected: Expected::Value(value, Accuracy::Exact) };
    let outputs = outputs.into_iter().map(expected).collect();
    Case { level: Level::Recommended, ..Case::new(id, model, vec![DataSet { inputs, outputs }]) }
}
