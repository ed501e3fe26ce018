//! Levels of expectations, and levels that the texts of some releases decide.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::case::text::{TextRange, TextRelease};

/// Level of an expectation: required, recommended or open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Stated by the standard.
    #[default]
    Required,
    /// Implied by the standard, or generally accepted.
    Recommended,
    /// Left open by the standard. The result is recorded and never judged.
    Open,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Required => "required",
            Level::Recommended => "recommended",
            Level::Open => "open",
        })
    }
}

/// Level of a case by the texts of some releases. By those of others it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TextLevel {
    /// The level.
    pub level: Level,
    /// The releases.
    pub texts: TextRange,
}

impl TextLevel {
    /// Returns the level by the text of a release.
    pub fn by(self, text: TextRelease) -> Level {
        if self.texts.covers(text) { self.level } else { Level::Open }
    }

    /// Formats the level as a word of a record: `required/1.18.0..`.
    pub(crate) fn word(self) -> String {
        format!("{}/{}", self.level, self.texts)
    }

    /// Parses a word of a record.
    pub(crate) fn parse(word: &str) -> Option<TextLevel> {
        let (level, texts) = word.split_once('/')?;
        let level = [Level::Required, Level::Recommended].into_iter().find(|known| known.to_string() == level)?;
        Some(TextLevel { level, texts: texts.parse().ok()? })
    }
}

impl fmt::Display for TextLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.level;
        match self.texts.bounds() {
            (Some(since), None) => write!(f, "{level} from the text of {since} on; open before"),
            (None, Some(until)) => write!(f, "{level} before the text of {until}; open from it on"),
            (Some(since), Some(until)) => write!(
                f,
                "{level} from the text of {since} on and before that of {until}; open before and from {until} on"
            ),
            (None, None) => write!(f, "{level}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_that_of_its_texts_and_open_in_others() {
        let check = |texts: &str, level: Level, levels: [Level; 3], sentence: &str| {
            let decided = TextLevel { level, texts: texts.parse().unwrap() };
            assert_eq!(["1.9.0", "1.10.0", "1.18.0"].map(|text| decided.by(text.parse().unwrap())), levels);
            assert_eq!(TextLevel::parse(&decided.word()), Some(decided));
            assert_eq!(decided.to_string(), sentence);
        };
        let (required, recommended, open) = (Level::Required, Level::Recommended, Level::Open);
        check("1.10.0..", required, [open, required, required], "required from the text of 1.10.0 on; open before");
        check(
            "..1.10.0",
            recommended,
            [recommended, open, open],
            "recommended before the text of 1.10.0; open from it on",
        );
        check(
            "1.10.0..1.18.0",
            required,
            [open, required, open],
            "required from the text of 1.10.0 on and before that of 1.18.0; open before and from 1.18.0 on",
        );
        for word in ["required", "open/1.10.0..", "required/..", "required/1.x..", "refusal/static"] {
            assert_eq!(TextLevel::parse(word), None, "{word}");
        }
    }
}
