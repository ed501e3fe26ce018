//! Modes of `run`, and the options that each takes.

use crate::cli::usage::Usage;

/// Mode of `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Cases run, and their outcomes are compared with the expectations.
    Cases,
    /// Small models check an adapter.
    Smoke,
    /// Cases run, and an expectation file is made from their results.
    Init,
    /// An expectation file is made from results files.
    InitFromResults,
    /// An expectation file is made from a list of failing tests.
    InitFromDenylist,
}

impl Mode {
    /// Returns the option that selects the mode, and what the mode does.
    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Mode::Cases => ("run", "runs cases"),
            Mode::Smoke => ("--smoke", "runs its own small models"),
            Mode::Init => ("--init", "writes a new expectation file"),
            Mode::InitFromResults => ("--from-results", "reads results and runs nothing"),
            Mode::InitFromDenylist => ("--from-denylist", "reads a list and runs nothing"),
        }
    }

    /// Returns true if the mode takes an option, besides those of the runtime.
    fn takes(self, option: &str) -> bool {
        let is_about_cases =
            matches!(option, "FILTER" | "--from" | "--profile" | "--suite" | "--specs" | "--expectations" | "--strict");
        match self {
            Mode::Cases => true,
            Mode::Smoke => option == "--failures",
            Mode::Init => is_about_cases || matches!(option, "--results" | "--exact" | "--runs"),
            Mode::InitFromResults => {
                is_about_cases || matches!(option, "--exact" | "--from-results" | "--update-expectations")
            }
            Mode::InitFromDenylist => matches!(option, "--from-denylist" | "--expectations" | "--strict"),
        }
    }

    /// Fails if an option is given that the mode does not take. The error names the way out.
    pub(crate) fn check(self, given: &[&str]) -> Result<(), Usage> {
        let Some(option) = given.iter().find(|option| !self.takes(option)) else { return Ok(()) };
        let (selecting, does) = self.describe();
        let way_out = match (self, *option) {
            (Mode::Smoke, "--init") => "check the adapter first, then write the file in a second call".to_owned(),
            (Mode::Init | Mode::InitFromResults, "--release") => {
                "select the tests of a release with a filter, such as 'onnx-1.7.0/**'".to_owned()
            }
            (Mode::Init, "--update-expectations") => "to update a file that exists, omit --init".to_owned(),
            (Mode::Init, "--resume" | "--stale") => {
                format!("run the cases with {option} and --results FILE, then give FILE to --init --from-results")
            }
            (Mode::Init, "--shard") => {
                "run the parts with --results FILE, merge the files, then give the result to --init --from-results"
                    .to_owned()
            }
            (_, "FILTER") => format!("omit the filters, or {selecting}"),
            _ => format!("omit {option}, or {selecting}"),
        };
        let option = if *option == "FILTER" { "a filter" } else { *option };
        Err(Usage(format!("{option} has no effect with {selecting}, which {does}; {way_out}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_effect_are_refused_with_the_way_out() {
        let error = |mode: Mode, given: &[&str]| mode.check(given).unwrap_err().to_string();
        assert_eq!(Mode::Cases.check(&["FILTER", "--shard"]), Ok(()));
        assert_eq!(Mode::Smoke.check(&["--failures"]), Ok(()));
        assert_eq!(
            error(Mode::Smoke, &["--failures", "FILTER"]),
            "a filter has no effect with --smoke, which runs its own small models; omit the filters, or --smoke"
        );
        assert_eq!(
            error(Mode::Smoke, &["--init"]),
            "--init has no effect with --smoke, which runs its own small models; check the adapter first, then write the file in \
             a second call"
        );
        assert_eq!(Mode::Init.check(&["FILTER", "--profile", "--runs", "--results"]), Ok(()));
        assert!(error(Mode::Init, &["--update-expectations"]).ends_with("; to update a file that exists, omit --init"));
        assert!(error(Mode::Init, &["--release"]).ends_with(" with a filter, such as 'onnx-1.7.0/**'"));
        let resume = error(Mode::Init, &["--resume"]);
        assert!(
            resume
                .ends_with("; run the cases with --resume and --results FILE, then give FILE to --init --from-results")
        );
        assert!(error(Mode::Init, &["--shard"]).contains("merge the files"));
        assert_eq!(Mode::InitFromResults.check(&["--from-results", "--exact", "--update-expectations"]), Ok(()));
        assert!(error(Mode::InitFromResults, &["--runs"]).ends_with("; omit --runs, or --from-results"));
        assert!(
            error(Mode::InitFromDenylist, &["--from-results"]).ends_with("; omit --from-results, or --from-denylist")
        );
    }
}
