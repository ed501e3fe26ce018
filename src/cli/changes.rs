//! `changes`: what changed between two versions of the suite.

use std::fmt::Write as _;

use clap::Args;
use onnx_conformance_cases::suite::{Generated, SUITE_VERSION, Suite};
use onnx_conformance_harness::exit;
use onnx_conformance_harness::promises::{Changes, FrozenList, Kind, Renames};

use crate::cli::options::Form;
use crate::cli::print;

/// Number of behaviours of a kind that are printed without `--all`.
const SHOWN: usize = 12;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Earlier version of the suite
    #[arg(value_name = "FROM")]
    from: String,

    /// Later version of the suite [default: that of this program]
    #[arg(value_name = "TO")]
    to: Option<String>,

    /// Print every changed behaviour
    #[arg(long)]
    all: bool,

    /// Output format. JSON has every case
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<u8> {
    let from = list(&arguments.from, None)?;
    let to = match arguments.to.as_deref().unwrap_or(SUITE_VERSION) {
        version if version == arguments.from => from.clone(),
        version => list(version, Some(&from))?,
    };
    let changes = Changes::between(&from, &to, Renames::embedded());
    match arguments.format {
        Form::Text => print::styled(text(&changes, arguments.all).trim_end())?,
        Form::Json => print::json(&changes)?,
    }
    Ok(exit::SUCCESS)
}

/// Returns the list of a version: a frozen one, or that of the cases in this program. Cases that an earlier list has are not made again.
fn list(version: &str, earlier: Option<&FrozenList>) -> anyhow::Result<FrozenList> {
    if version == SUITE_VERSION && !FrozenList::versions().any(|frozen| frozen == version) {
        print::note(&format!("suite {version} is not frozen yet; its cases are those of this program"));
        let suite = Suite::project(None, Generated::embedded())?;
        return Ok(match earlier {
            Some(earlier) => FrozenList::after(earlier, &suite)?,
            None => FrozenList::new(&suite)?,
        });
    }
    Ok(FrozenList::embedded(version)?)
}

/// Formats the changes: a line per kind with its number of cases, then its behaviours.
fn text(changes: &Changes, is_all: bool) -> String {
    let mut text = format!("suite {} -> {}\n", changes.from, changes.to);
    if changes.cases.is_empty() {
        text.push_str("no case differs\n");
    }
    // Writing to a string cannot fail.
    for kind in Kind::ALL.into_iter().filter(|kind| changes.count(*kind) > 0) {
        let behaviours = changes.behaviours(kind);
        let cases = match changes.count(kind) {
            1 => "1 case".to_owned(),
            count => format!("{count} cases"),
        };
        let _ = writeln!(text, "\n{kind}: {cases}");
        let shown = if is_all { behaviours.len() } else { SHOWN };
        for (name, count) in behaviours.iter().take(shown) {
            let _ = writeln!(text, "{count:>7}  {name}");
        }
        if behaviours.len() > shown {
            let _ = writeln!(text, "         and {} more; --all prints them", behaviours.len() - shown);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(version: &str, cases: &[String]) -> FrozenList {
        FrozenList::parse(version, &format!("suite {version}\n{}", cases.concat())).unwrap()
    }

    #[test]
    fn behaviours_are_listed_by_kind() {
        let case = |name: &str, level: &str| format!("ai.onnx/Abs-13/{name}/T=float {level} 0a1b2c 0a1b2c 0e0\n");
        let new: Vec<String> = (10..30)
            .map(|number| {
                case(&format!("new_{number}"), "required")
                    .replace("0a1b2c 0a1b2c", &format!("0000{number} 0000{number}"))
            })
            .collect();
        let from = list("1.0.0", &[case("known", "open"), case("other", "required")]);
        let to = list("1.1.0", &[&[case("known", "required")], &new[..], &[case("renamed", "required")]].concat());
        let changes = Changes::between(&from, &to, &Renames::default());
        let shown = text(&changes, false);
        assert!(
            shown.starts_with(
                "suite 1.0.0 -> 1.1.0\n\nraised: 1 case\n      1  ai.onnx/Abs-13/known\n\nrenamed: 1 case\n"
            ),
            "{shown}"
        );
        assert!(shown.ends_with("         and 8 more; --all prints them\n"), "{shown}");
        assert_eq!(text(&changes, true).lines().count(), shown.lines().count() + 7);
        assert_eq!(
            text(&Changes::between(&from, &from, &Renames::default()), false),
            "suite 1.0.0 -> 1.0.0\nno case differs\n"
        );
    }
}
