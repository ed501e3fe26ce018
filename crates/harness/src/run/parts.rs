//! Parts of a run that are merged: whether they are shards of the same run.

use std::collections::BTreeMap;
use std::fmt;

use crate::run::{Selected, Shard};

/// A results file as part of a run.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The file.
    pub place: &'a str,
    /// The selection of its cases.
    pub selected: &'a Selected,
}

/// Parts that are not of the same run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartsError {
    /// The parts are of different selections.
    #[error("{place}: covers {own}, but {first} covers {other}; merge only parts of the same run")]
    Filters {
        /// The file.
        place: String,
        /// Its selection.
        own: String,
        /// The first file.
        first: String,
        /// The selection of the first file.
        other: String,
    },
    /// The run is divided into another number of shards, or not at all.
    #[error("{place}: is {own}, but {first} is {other}; merge only the shards of one run")]
    Shards {
        /// The file.
        place: String,
        /// Its shard.
        own: String,
        /// The first file.
        first: String,
        /// The shard of the first file.
        other: String,
    },
    /// The shards are balanced by different times.
    #[error("{place}: its shard is {own}, but that of {first} is {other}; run all shards with the same --times")]
    Times {
        /// The file.
        place: String,
        /// The times that its shard is balanced by.
        own: String,
        /// The first file.
        first: String,
        /// The times of the first file.
        other: String,
    },
    /// Two files are of the same shard.
    #[error("{place}: is shard {shard}, which {first} also is; give each shard once")]
    Doubled {
        /// The file.
        place: String,
        /// The shard.
        shard: Shard,
        /// The other file.
        first: String,
    },
}

/// Shards of a run that no part is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingShards {
    /// The first of them, up to [`MissingShards::MAX_NAMED`].
    pub named: Vec<Shard>,
    /// Number of missing shards.
    pub count: usize,
}

impl MissingShards {
    /// Largest number of shards that are named.
    pub const MAX_NAMED: usize = 10;

    /// Returns the missing ones of `of` shards, given those that exist by number.
    fn from_places(places: &BTreeMap<usize, &str>, of: usize) -> MissingShards {
        let numbers = (1..=of).filter(|number| !places.contains_key(number));
        let named = numbers.filter_map(|number| Shard::new(number, of)).take(MissingShards::MAX_NAMED).collect();
        MissingShards { named, count: of.saturating_sub(places.len()) }
    }
}

/// Formats the shards as `1/4, 3/4`.
impl fmt::Display for MissingShards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self.named.iter().map(ToString::to_string).collect();
        write!(f, "{}", named.join(", "))?;
        match self.count.saturating_sub(self.named.len()) {
            0 => Ok(()),
            further => write!(f, " and {further} more"),
        }
    }
}

/// Checks that parts are of the same run: the same filters, and different shards of the same division. Returns the shards that are
/// missing.
pub fn check_parts(parts: &[Part<'_>]) -> Result<MissingShards, PartsError> {
    let mut places: BTreeMap<usize, &str> = BTreeMap::new();
    let Some((first, others)) = parts.split_first() else { return Ok(MissingShards::default()) };
    for part in others {
        check_same_run(part, first)?;
    }
    for part in parts {
        let Some(shard) = part.selected.shard else { continue };
        if let Some(other) = places.insert(shard.number(), part.place) {
            return Err(PartsError::Doubled { place: part.place.to_owned(), shard, first: other.to_owned() });
        }
    }
    Ok(MissingShards::from_places(&places, first.selected.shard.map_or(0, Shard::of)))
}

fn check_same_run(part: &Part<'_>, first: &Part<'_>) -> Result<(), PartsError> {
    let (own, other) = (part.selected, first.selected);
    let (place, first) = (part.place.to_owned(), first.place.to_owned());
    if (&own.filters, &own.within) != (&other.filters, &other.within) {
        let (own, other) = (describe_selection(own), describe_selection(other));
        return Err(PartsError::Filters { place, own, first, other });
    }
    if own.shard.map(Shard::of) != other.shard.map(Shard::of) {
        let (own, other) = (describe_shard(own), describe_shard(other));
        return Err(PartsError::Shards { place, own, first, other });
    }
    if own.times != other.times {
        let (own, other) = (describe_times(own), describe_times(other));
        return Err(PartsError::Times { place, own, first, other });
    }
    Ok(())
}

fn describe_selection(selected: &Selected) -> String {
    let patterns: Vec<&str> = selected.filters.iter().chain(&selected.within).map(String::as_str).collect();
    if patterns.is_empty() { "the whole suite".to_owned() } else { format!("'{}'", patterns.join(" ")) }
}

fn describe_shard(selected: &Selected) -> String {
    selected.shard.map_or_else(|| "no shard".to_owned(), |shard| format!("shard {shard}"))
}

fn describe_times(selected: &Selected) -> String {
    let balanced = |digest: &String| format!("balanced by the times {digest}");
    selected.times.as_ref().map_or_else(|| "not balanced by times".to_owned(), balanced)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(shard: &str) -> Selected {
        Selected { shard: shard.parse().ok(), ..Selected::default() }
    }

    /// Returns the missing shards, or the error, of files called a, b, ...
    fn check(parts: &[Selected]) -> String {
        let places: Vec<String> = ('a'..='z').map(String::from).collect();
        let parts: Vec<Part<'_>> =
            parts.iter().zip(&places).map(|(selected, place)| Part { place, selected }).collect();
        match check_parts(&parts) {
            Ok(missing) => missing.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn shards_of_one_run_are_merged_and_missing_ones_named() {
        assert_eq!(check(&[selected("1/2"), selected("2/2")]), "");
        assert_eq!(check(&[selected("4/4"), selected("2/4")]), "1/4, 3/4");
        let many = format!("1/{0}, 3/{0}, ", usize::MAX);
        let said = check(&[selected(&format!("2/{}", usize::MAX))]);
        assert!(said.starts_with(&many) && said.ends_with(&format!(" and {} more", usize::MAX - 11)), "{said}");
        assert_eq!(check(&[selected(""), selected("")]), "");
        assert_eq!(check(&[]), "");
    }

    #[test]
    fn shards_of_different_divisions_are_refused() {
        let said = "merge only the shards of one run";
        assert_eq!(check(&[selected("1/2"), selected("2/4")]), format!("b: is shard 2/4, but a is shard 1/2; {said}"));
        assert_eq!(check(&[selected("1/2"), selected("")]), format!("b: is no shard, but a is shard 1/2; {said}"));
    }

    #[test]
    fn a_shard_is_given_once() {
        let said = "c: is shard 1/2, which a also is; give each shard once";
        assert_eq!(check(&[selected("1/2"), selected("2/2"), selected("1/2")]), said);
    }

    #[test]
    fn shards_by_different_times_are_refused() {
        let timed = |shard, times: &str| Selected { times: Some(times.to_owned()), ..selected(shard) };
        assert_eq!(check(&[timed("1/2", "0a"), timed("2/2", "0a")]), "");
        assert_eq!(
            check(&[timed("1/2", "0a"), timed("2/2", "0b")]),
            "b: its shard is balanced by the times 0b, but that of a is balanced by the times 0a; run all shards with the same --times"
        );
        assert!(check(&[timed("1/2", "0a"), selected("2/2")]).contains("b: its shard is not balanced by times, but"));
    }

    #[test]
    fn parts_of_another_selection_are_refused() {
        let filtered = |filters: &[&str], within: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
            Selected { filters: owned(filters), within: owned(within), ..selected("2/2") }
        };
        let said = "but a covers the whole suite; merge only parts of the same run";
        assert_eq!(
            check(&[selected("1/2"), filtered(&["ai.onnx/**"], &[])]),
            format!("b: covers 'ai.onnx/**', {said}")
        );
        assert_eq!(
            check(&[selected("1/2"), filtered(&[], &["onnx-1.8.0"])]),
            format!("b: covers 'onnx-1.8.0', {said}")
        );
    }
}
