//! One part of a run: `--shard` and `--times`.

use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::run::{CaseTimes, Plan, Selected, Shard, assigned_shard};

use crate::cli::usage::{Usage, ValueError};
use crate::cli::{print, results_file};

/// Options that select one part of the cases.
#[derive(Debug, Args)]
pub(crate) struct ShardOptions {
    /// Run one part of the cases, such as 2/4 for the second of four parts; auto for the part that a Slurm array, a Kubernetes indexed
    /// Job, a parallel GitLab job or `ONNX_CONFORMANCE_SHARD=K/N` assigns to this task
    #[arg(long, value_name = "K/N|auto", allow_hyphen_values = true)]
    shard: Option<ShardChoice>,

    /// With --shard: make the parts take a similar time, by the time that each case took in this results file. All parts need the same
    /// file [default: a similar number of cases]
    #[arg(long, value_name = "RESULTS", requires = "shard")]
    times: Option<PathBuf>,
}

/// Value of `--shard`.
#[derive(Clone, Copy, Debug)]
enum ShardChoice {
    /// The shard that the environment assigns.
    Assigned,
    /// This shard.
    Given(Shard),
}

impl FromStr for ShardChoice {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<ShardChoice, ValueError> {
        match text {
            "auto" => Ok(ShardChoice::Assigned),
            _ => text.parse().map(ShardChoice::Given).map_err(|_| ValueError::Shard),
        }
    }
}

/// The part of the cases to run.
#[derive(Debug)]
pub(crate) struct OpenShard {
    /// The part; `None` for all cases.
    shard: Option<Shard>,
    /// The times that the parts are balanced by, and their file.
    times: Option<(PathBuf, CaseTimes)>,
}

impl ShardOptions {
    /// Returns true if a part is selected.
    pub(crate) fn is_given(&self) -> bool {
        self.shard.is_some()
    }

    /// Returns the file of times.
    pub(crate) fn times(&self) -> Option<&Path> {
        self.times.as_deref()
    }

    /// Reads the environment and the times.
    pub(crate) fn open(&self) -> anyhow::Result<OpenShard> {
        let shard = match self.shard {
            None => None,
            Some(ShardChoice::Given(shard)) => Some(shard),
            Some(ShardChoice::Assigned) => Some(assigned()?),
        };
        let times = match &self.times {
            None => None,
            Some(path) => Some((path.clone(), CaseTimes::from_results(&results_file::read(path)?.results))),
        };
        Ok(OpenShard { shard, times })
    }
}

/// Returns the shard that the environment assigns.
fn assigned() -> Result<Shard, Usage> {
    let variable = |name: &str| Some(env::var_os(name)?.to_string_lossy().into_owned());
    let assigned = assigned_shard(&variable)
        .map_err(|error| Usage(format!("--shard auto: {}", escape::line(&error.to_string()))))?;
    print::note(&format!("running shard {}, by {}", assigned.shard, escape::line(&assigned.variable)));
    Ok(assigned.shard)
}

impl OpenShard {
    /// Retains the cases of this part.
    pub(crate) fn retain(&self, plan: &mut Plan<'_>) -> anyhow::Result<()> {
        let Some(shard) = self.shard else { return Ok(()) };
        let Some((path, times)) = &self.times else {
            plan.retain_shard(shard);
            return Ok(());
        };
        let (place, all) = (path.display(), plan.selected);
        let Some(balanced) = plan.retain_balanced(shard, times) else {
            bail!(
                "{place}: has the time of none of the {all} selected cases; give the results of a run of these cases, or omit \
                 --times"
            );
        };
        let unknown = match balanced.unknown {
            0 => String::new(),
            unknown => format!("; {unknown} cases have no time there, and get the mean"),
        };
        print::note(&format!(
            "shard {shard} has {} of {all} cases; by the times in {place} they take {} of {}, and the slowest shard {}{unknown}",
            plan.selected,
            seconds(balanced.time),
            seconds(balanced.whole),
            seconds(balanced.slowest),
        ));
        Ok(())
    }

    /// Adds the part to the selection that results describe.
    pub(crate) fn describe(&self, selected: &mut Selected) {
        selected.shard = self.shard;
        selected.times = self.times.as_ref().map(|(_, times)| times.digest());
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
