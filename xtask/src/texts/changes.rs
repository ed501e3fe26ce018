//! Changes of texts under a fixed version number.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Result, ensure};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::standard::{Texts, version};

/// Adjacent sentences that were removed, added or replaced, at every place where that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Places, each with the number of the first sentence concerned in the newer text, from 1.
    pub(crate) places: Vec<(String, usize)>,
    /// Sentences of the older text.
    pub(crate) removed: Vec<String>,
    /// Sentences of the newer text.
    pub(crate) added: Vec<String>,
}

/// Formats a change as in history.txt.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<String> = self.places.iter().map(|(place, number)| format!("{place} #{number}")).collect();
        writeln!(f, "@@ {}", places.join(", "))?;
        self.removed.iter().try_for_each(|sentence| writeln!(f, "- {sentence}"))?;
        self.added.iter().try_for_each(|sentence| writeln!(f, "+ {sentence}"))
    }
}

/// Returns the changes of the operator versions that both texts have, in the order of their first places.
pub(crate) fn compare(old: &Texts, new: &Texts) -> Vec<Change> {
    let [of_old, of_new] = [old, new].map(|texts| texts.keys().filter_map(|it| version(it)).collect::<BTreeSet<_>>());
    let places: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut changes: Vec<Change> = Vec::new();
    let mut positions: BTreeMap<(&[String], &[String]), usize> = BTreeMap::new();
    for place in places {
        let is_in_both = version(place).is_some_and(|it| of_old.contains(it) && of_new.contains(it));
        let [old, new] = [old, new].map(|texts| texts.get(place).map_or(&[][..], Vec::as_slice));
        if !is_in_both || old == new {
            continue;
        }
        for difference in capture_diff_slices(Algorithm::Myers, old, new) {
            if matches!(difference, DiffOp::Equal { .. }) {
                continue;
            }
            let (_, before, after) = difference.as_tag_tuple();
            let found = (place.clone(), after.start + 1);
            let key = (&old[before], &new[after]);
            let change = *positions.entry(key).or_insert_with(|| {
                changes.push(Change { places: Vec::new(), removed: key.0.to_vec(), added: key.1.to_vec() });
                changes.len() - 1
            });
            changes[change].places.push(found);
        }
    }
    changes
}

/// Turns the newer texts into the older ones.
///
/// # Errors
/// If the newer texts do not have the added sentences at their places.
pub(crate) fn undo(texts: &mut Texts, changes: &[Change]) -> Result<()> {
    let mut by_place: BTreeMap<&str, Vec<(usize, &Change)>> = BTreeMap::new();
    for change in changes {
        for (place, number) in &change.places {
            by_place.entry(place).or_default().push((*number, change));
        }
    }
    for (place, mut changes) in by_place {
        // From the last sentence to the first, so that the numbers of the others stay valid.
        changes.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        let sentences = texts.entry(place.to_owned()).or_default();
        for (number, change) in changes {
            let range = number - 1..number - 1 + change.added.len();
            ensure!(
                sentences.get(range.clone()) == Some(&change.added),
                "the text {place} does not have these sentences from number {number} on: {:?}",
                change.added
            );
            sentences.splice(range, change.removed.iter().cloned());
        }
        if sentences.is_empty() {
            texts.remove(place);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(places: &[(&str, &[&str])]) -> Texts {
        let text = |sentences: &[&str]| sentences.iter().map(|it| (*it).to_owned()).collect();
        places.iter().map(|(place, sentences)| ((*place).to_owned(), text(sentences))).collect()
    }

    #[test]
    fn equal_changes_are_joined_and_lead_back() {
        let old =
            texts(&[("ai.onnx/A-1", &["a", "b", "c"]), ("ai.onnx/A-1 input X", &["x"]), ("ai.onnx/A-7", &["b", "c"])]);
        let new = texts(&[
            ("ai.onnx/A-1", &["a", "B", "c", "d"]),
            ("ai.onnx/A-1 body 1", &["y = B (x)"]),
            ("ai.onnx/A-7", &["B", "c"]),
        ]);
        let found = compare(&old, &new);
        let shown: String = found.iter().map(Change::to_string).collect();
        assert_eq!(
            shown,
            "@@ ai.onnx/A-1 #2, ai.onnx/A-7 #1\n- b\n+ B\n\
             @@ ai.onnx/A-1 #4\n+ d\n\
             @@ ai.onnx/A-1 body 1 #1\n+ y = B (x)\n\
             @@ ai.onnx/A-1 input X #1\n- x\n"
        );
        let mut back = new;
        undo(&mut back, &found).unwrap();
        assert_eq!(back, old);
    }

    #[test]
    fn new_versions_and_other_documents_are_no_changes() {
        let old = texts(&[("ai.onnx/A-1", &["a"]), ("onnx.proto", &["p"])]);
        let new = texts(&[("ai.onnx/A-1", &["a"]), ("ai.onnx/A-7", &["b"]), ("onnx.proto", &["q"])]);
        assert_eq!(compare(&old, &new), []);
    }

    #[test]
    fn changes_of_another_text_are_refused() {
        let [old, mut new] = ["b", "c"].map(|sentence| texts(&[("ai.onnx/A-1", &[sentence])]));
        let changes = compare(&old, &new);
        undo(&mut new, &changes).unwrap();
        let error = undo(&mut new, &changes).unwrap_err().to_string();
        assert_eq!(error, "the text ai.onnx/A-1 does not have these sentences from number 1 on: [\"c\"]");
    }
}
