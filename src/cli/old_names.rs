//! Commands of an earlier version of the program, translated into those of today.

use std::ffi::OsString;

/// Options whose values are separate words and need no translation.
const VALUED: [&str; 2] = ["--format", "--color"];

/// Command of an earlier version.
#[derive(Debug)]
pub(crate) struct OldName {
    pub(crate) name: &'static str,
    /// The command of today, as a note names it.
    pub(crate) new: &'static str,
    /// Words that replace the name.
    words: &'static [&'static str],
    /// Options that have another name; an empty one for an option whose value is now an argument.
    options: &'static [(&'static str, &'static str)],
    /// Prefix of each argument.
    prefix: &'static str,
    /// Words to add if none of the options is given.
    default: &'static [&'static str],
}

static OLD_NAMES: [OldName; 4] = [
    OldName {
        name: "changes",
        new: "diff suite@FROM suite@TO",
        words: &["diff"],
        options: &[],
        prefix: "suite@",
        default: &[],
    },
    OldName {
        name: "init",
        new: "run --init",
        words: &["run", "--init"],
        options: &[
            ("--from", "--from-results"),
            ("--output", "--expectations"),
            ("-o", "--expectations"),
            ("--scope", ""),
            ("--update", "--update-expectations"),
        ],
        prefix: "",
        default: &[],
    },
    OldName {
        name: "man",
        new: "completions --man DIR",
        words: &["completions"],
        options: &[("--output", "--man"), ("-o", "--man")],
        prefix: "",
        default: &["--man", "-"],
    },
    OldName {
        name: "smoke",
        new: "run --smoke",
        words: &["run", "--smoke"],
        options: &[("--keep", "--failures")],
        prefix: "",
        default: &[],
    },
];

/// Translates a command line, whose first word is the program. Also returns the old name, if it has one.
pub(crate) fn translate(line: impl Iterator<Item = OsString>) -> (Vec<OsString>, Option<&'static OldName>) {
    let mut words: Vec<OsString> = line.collect();
    let place = command_place(&words);
    let name = words.get(place).and_then(|word| word.to_str());
    let Some(old) = OLD_NAMES.iter().find(|old| Some(old.name) == name) else { return (words, None) };
    let rest = words.split_off(place + 1);
    words.pop();
    words.extend(old.words.iter().map(OsString::from));
    words.extend(old.translate_rest(rest));
    (words, Some(old))
}

/// Returns the position of the subcommand, which only options precede.
fn command_place(words: &[OsString]) -> usize {
    let mut place = 1;
    while let Some(option) = words.get(place).and_then(|word| word.to_str()).filter(|word| word.starts_with('-')) {
        place += if VALUED.contains(&option) { 2 } else { 1 };
    }
    place
}

impl OldName {
    /// Translates the words after the name.
    fn translate_rest(&self, rest: Vec<OsString>) -> Vec<OsString> {
        let (mut words, mut is_value, mut is_translated) = (Vec::new(), false, false);
        for word in rest {
            let text = word.to_str().unwrap_or_default();
            let is_next_value = VALUED.contains(&text);
            if let Some((new, value)) = self.option(text) {
                is_translated = true;
                words.extend((!new.is_empty()).then(|| OsString::from(new)));
                words.extend(value.map(OsString::from));
            } else if is_value || text.starts_with('-') || self.prefix.is_empty() {
                words.push(word);
            } else {
                let mut argument = OsString::from(self.prefix);
                argument.push(&word);
                words.push(argument);
            }
            is_value = is_next_value;
        }
        if !is_translated {
            words.extend(self.default.iter().map(OsString::from));
        }
        words
    }

    /// Returns the new name of an option, and its value if that is in the same word: `--keep=made`, `-omade`.
    fn option<'a>(&self, text: &'a str) -> Option<(&'static str, Option<&'a str>)> {
        self.options.iter().find_map(|(old, new)| {
            let rest = text.strip_prefix(old)?;
            match rest.strip_prefix('=') {
                Some(value) => Some((*new, Some(value))),
                None if rest.is_empty() => Some((*new, None)),
                None if !old.starts_with("--") => Some((*new, Some(rest))),
                None => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_command_lines_become_those_of_today() {
        let check = |old: &str, expected: &str| {
            let line = ["program"].into_iter().chain(old.split(' ')).map(OsString::from);
            let (words, name) = translate(line);
            let words: Vec<&str> = words.iter().skip(1).map(|word| word.to_str().unwrap()).collect();
            assert_eq!(words.join(" "), expected, "{old}");
            assert_eq!(name.is_some(), old != expected, "{old}");
        };
        check("smoke --runtime mine --keep made", "run --smoke --runtime mine --failures made");
        check("smoke --keep=made", "run --smoke --failures made");
        check("--color never smoke", "--color never run --smoke");
        check(
            "init --scope a/** --scope=b/** -o f.yaml --strict",
            "run --init a/** b/** --expectations f.yaml --strict",
        );
        check(
            "init --from r.jsonl --update -of.yaml",
            "run --init --from-results r.jsonl --update-expectations --expectations f.yaml",
        );
        check("init --from-denylist opencv:a.txt", "run --init --from-denylist opencv:a.txt");
        check("changes 0.1.0", "diff suite@0.1.0");
        check("changes --format json 0.1.0 0.2.0 --all", "diff --format json suite@0.1.0 suite@0.2.0 --all");
        check("man", "completions --man -");
        check("man --output made", "completions --man made");
        for today in ["run init", "list smoke", "--color always run man", "run --init", "--color"] {
            check(today, today);
        }
    }
}
