//! The shard that a scheduler assigns to a task, by the environment variables of Slurm arrays, Kubernetes indexed Jobs and parallel
//! GitLab jobs.

use crate::run::{Shard, ShardError};

/// Variable that names the shard itself and takes precedence over the variables of schedulers: `2/8`.
const OWN: &str = "ONNX_CONFORMANCE_SHARD";

/// Index of a task in a Slurm array. It begins at `SLURM_ARRAY_TASK_MIN`.
const SLURM: &str = "SLURM_ARRAY_TASK_ID";

/// Index of a pod of a Kubernetes indexed Job, from 0.
const KUBERNETES: &str = "JOB_COMPLETION_INDEX";

/// Number of pods of a Kubernetes indexed Job. Kubernetes does not set it, so users do.
const COMPLETIONS: &str = "JOB_COMPLETIONS";

/// Index of a parallel GitLab job, from 1.
const GITLAB: &str = "CI_NODE_INDEX";

/// Number of parallel GitLab jobs.
const NODES: &str = "CI_NODE_TOTAL";

/// The shard of a task, and the variable that assigns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedShard {
    /// The shard.
    pub shard: Shard,
    /// The variable with its value: `SLURM_ARRAY_TASK_ID=3`.
    pub variable: String,
}

/// Environment variables that do not name a shard.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// None of the variables is set.
    #[error(
        "no scheduler assigns a shard, since none of {OWN}, {SLURM} (Slurm), {KUBERNETES} (Kubernetes) and {GITLAB} (GitLab) is set; \
         give --shard K/N, or set {OWN}=K/N"
    )]
    Unassigned,
    /// Two schedulers set their variables.
    #[error("both {0} and {1} are set, so the shard is ambiguous; give --shard K/N, or set {OWN}=K/N")]
    Ambiguous(&'static str, &'static str),
    /// The scheduler sets the index only.
    #[error("{index} is set, but {missing} is not; {hint}, or give --shard K/N")]
    Missing {
        /// The variable that is set.
        index: &'static str,
        /// The variable that is not.
        missing: &'static str,
        /// The way to set it.
        hint: &'static str,
    },
    /// A variable has another value than a number.
    #[error("{name}={value} is not a whole number; give --shard K/N, or set {OWN}=K/N")]
    Number {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The index is outside of its range.
    #[error("{index} is outside of {range}; give --shard K/N, or set {OWN}=K/N")]
    Range {
        /// The index with its value.
        index: String,
        /// The variables of the range with their values.
        range: String,
    },
    /// The tasks of a Slurm array are not evenly spaced, so the index does not show which of them this is.
    #[error(
        "the Slurm array has gaps, since SLURM_ARRAY_TASK_COUNT={count} is not the number of tasks from SLURM_ARRAY_TASK_MIN={min} to \
         SLURM_ARRAY_TASK_MAX={max} by SLURM_ARRAY_TASK_STEP={step}; submit a range such as --array=1-8, or give --shard K/N"
    )]
    Gaps {
        /// Number of tasks.
        count: usize,
        /// First index.
        min: usize,
        /// Last index.
        max: usize,
        /// Distance between indices.
        step: usize,
    },
    /// The project's own variable does not name a shard.
    #[error("{OWN}={value}: {error}")]
    Own {
        /// Its value.
        value: String,
        /// The reason.
        error: ShardError,
    },
}

/// Returns the shard that the environment assigns to this task. `variable` returns the value of an environment variable.
pub fn assigned_shard(variable: &dyn Fn(&str) -> Option<String>) -> Result<AssignedShard, SchedulerError> {
    let environment = Environment { variable };
    if let Some(value) = environment.text(OWN) {
        let shard = value.parse().map_err(|error| SchedulerError::Own { value: value.clone(), error })?;
        return Ok(AssignedShard { shard, variable: format!("{OWN}={value}") });
    }
    let indices: Vec<&'static str> =
        [SLURM, KUBERNETES, GITLAB].into_iter().filter(|name| environment.text(name).is_some()).collect();
    let (index, shard) = match *indices.as_slice() {
        [] => return Err(SchedulerError::Unassigned),
        [SLURM] => (SLURM, environment.slurm()?),
        [KUBERNETES] => (KUBERNETES, environment.kubernetes()?),
        [index] => (index, environment.gitlab()?),
        [first, second, ..] => return Err(SchedulerError::Ambiguous(first, second)),
    };
    let value = environment.text(index).unwrap_or_default();
    Ok(AssignedShard { shard, variable: format!("{index}={value}") })
}

/// Environment variables. An empty variable counts as unset.
struct Environment<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Environment<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// Returns the number in a variable that goes with an index. `hint` says how to set it.
    fn number(&self, name: &'static str, index: &'static str, hint: &'static str) -> Result<usize, SchedulerError> {
        let value = self.text(name).ok_or(SchedulerError::Missing { index, missing: name, hint })?;
        value.parse().map_err(|_| SchedulerError::Number { name, value })
    }

    fn slurm(&self) -> Result<Shard, SchedulerError> {
        let number = |name| self.number(name, SLURM, "submit the job as an array, such as --array=1-8");
        let (id, count) = (number(SLURM)?, number("SLURM_ARRAY_TASK_COUNT")?);
        let (min, max) = (number("SLURM_ARRAY_TASK_MIN")?, number("SLURM_ARRAY_TASK_MAX")?);
        let step = number("SLURM_ARRAY_TASK_STEP")?;
        let place = |index: usize| index.checked_sub(min).filter(|_| index <= max)?.checked_div(step);
        if place(max).and_then(|last| last.checked_add(1)) != Some(count) {
            return Err(SchedulerError::Gaps { count, min, max, step });
        }
        let number = place(id).and_then(|place| place.checked_add(1));
        let range = format!("SLURM_ARRAY_TASK_MIN={min} to SLURM_ARRAY_TASK_MAX={max}");
        shard(number, count, format!("{SLURM}={id}"), range)
    }

    fn kubernetes(&self) -> Result<Shard, SchedulerError> {
        let hint = "set it to the completions of the Job, since Kubernetes sets only the index";
        let index = self.number(KUBERNETES, KUBERNETES, hint)?;
        let completions = self.number(COMPLETIONS, KUBERNETES, hint)?;
        let range = format!("the indices below {COMPLETIONS}={completions}");
        shard(index.checked_add(1), completions, format!("{KUBERNETES}={index}"), range)
    }

    fn gitlab(&self) -> Result<Shard, SchedulerError> {
        let hint = "give the job `parallel`, with which GitLab sets both";
        let (index, total) = (self.number(GITLAB, GITLAB, hint)?, self.number(NODES, GITLAB, hint)?);
        shard(Some(index), total, format!("{GITLAB}={index}"), format!("1 to {NODES}={total}"))
    }
}

/// Returns the shard with this number of `count`; otherwise an error about the index and its range.
fn shard(number: Option<usize>, count: usize, index: String, range: String) -> Result<Shard, SchedulerError> {
    number.and_then(|number| Shard::new(number, count)).ok_or(SchedulerError::Range { index, range })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the shard from variables such as `CI_NODE_INDEX=2 CI_NODE_TOTAL=4`.
    fn assigned(variables: &str) -> Result<String, String> {
        let value = |name: &str| {
            let mut pairs = variables.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
        };
        let assigned = assigned_shard(&value).map_err(|error| error.to_string())?;
        Ok(format!("{} by {}", assigned.shard, assigned.variable))
    }

    fn check(variables: &str, expected: &str) {
        assert_eq!(assigned(variables).as_deref(), Ok(expected), "{variables}");
    }

    fn check_refused(variables: &str, expected: &[&str]) {
        let error = assigned(variables).unwrap_err();
        assert!(error.contains("--shard K/N") || error.contains("expected K/N"), "{error}");
        assert!(!error.contains(". ") && !error.ends_with('.'), "not one sentence: {error}");
        for text in expected {
            assert!(error.contains(text), "no '{text}' in '{error}'");
        }
    }

    fn slurm(id: &str, min: usize, max: usize, step: usize, count: usize) -> String {
        format!(
            "SLURM_ARRAY_TASK_ID={id} SLURM_ARRAY_TASK_MIN={min} SLURM_ARRAY_TASK_MAX={max} SLURM_ARRAY_TASK_STEP={step} \
             SLURM_ARRAY_TASK_COUNT={count}"
        )
    }

    #[test]
    fn a_slurm_array_begins_anywhere_and_has_any_step() {
        check(&slurm("1", 1, 8, 1, 8), "1/8 by SLURM_ARRAY_TASK_ID=1");
        check(&slurm("8", 1, 8, 1, 8), "8/8 by SLURM_ARRAY_TASK_ID=8");
        check(&slurm("0", 0, 7, 1, 8), "1/8 by SLURM_ARRAY_TASK_ID=0");
        check(&slurm("30", 10, 40, 10, 4), "3/4 by SLURM_ARRAY_TASK_ID=30");
        check(&slurm("5", 5, 5, 1, 1), "1/1 by SLURM_ARRAY_TASK_ID=5");
    }

    #[test]
    fn a_slurm_array_that_is_no_range_is_refused() {
        check_refused(&slurm("3", 1, 7, 1, 3), &["SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_MAX=7", "--array=1-8"]);
        check_refused(&slurm("3", 1, 7, 0, 3), &["SLURM_ARRAY_TASK_STEP=0"]);
        check_refused(&slurm("9", 1, 8, 1, 8), &["SLURM_ARRAY_TASK_ID=9", "SLURM_ARRAY_TASK_MIN=1"]);
        check_refused(&slurm("x", 1, 8, 1, 8), &["SLURM_ARRAY_TASK_ID=x is not a whole number"]);
        check_refused("SLURM_ARRAY_TASK_ID=1", &["SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_COUNT is not"]);
        let max = usize::MAX;
        check_refused(&slurm("1", 0, max, 1, max), &["gaps"]);
    }

    #[test]
    fn a_kubernetes_job_counts_from_zero_and_needs_its_completions() {
        check("JOB_COMPLETION_INDEX=0 JOB_COMPLETIONS=8", "1/8 by JOB_COMPLETION_INDEX=0");
        check("JOB_COMPLETION_INDEX=7 JOB_COMPLETIONS=8", "8/8 by JOB_COMPLETION_INDEX=7");
        check_refused("JOB_COMPLETION_INDEX=8 JOB_COMPLETIONS=8", &["JOB_COMPLETION_INDEX=8", "JOB_COMPLETIONS=8"]);
        check_refused("JOB_COMPLETION_INDEX=0", &["JOB_COMPLETIONS is not; set it to the completions of the Job"]);
        check_refused("JOB_COMPLETION_INDEX=0 JOB_COMPLETIONS=all", &["JOB_COMPLETIONS=all"]);
        check_refused("JOB_COMPLETION_INDEX=-1 JOB_COMPLETIONS=8", &["JOB_COMPLETION_INDEX=-1"]);
    }

    #[test]
    fn a_gitlab_job_counts_from_one() {
        check("CI_NODE_INDEX=1 CI_NODE_TOTAL=4", "1/4 by CI_NODE_INDEX=1");
        check("CI_NODE_INDEX=4 CI_NODE_TOTAL=4", "4/4 by CI_NODE_INDEX=4");
        check_refused("CI_NODE_INDEX=0 CI_NODE_TOTAL=4", &["CI_NODE_INDEX=0", "1 to CI_NODE_TOTAL=4"]);
        check_refused("CI_NODE_INDEX=1", &["CI_NODE_TOTAL is not; give the job `parallel`"]);
    }

    #[test]
    fn the_own_variable_takes_precedence() {
        check("ONNX_CONFORMANCE_SHARD=2/8", "2/8 by ONNX_CONFORMANCE_SHARD=2/8");
        check("ONNX_CONFORMANCE_SHARD=2/8 CI_NODE_INDEX=1 CI_NODE_TOTAL=4", "2/8 by ONNX_CONFORMANCE_SHARD=2/8");
        check_refused("ONNX_CONFORMANCE_SHARD=9/8", &["ONNX_CONFORMANCE_SHARD=9/8: expected K/N"]);
    }

    #[test]
    fn two_schedulers_or_none_are_refused() {
        let both = format!("{} CI_NODE_INDEX=1 CI_NODE_TOTAL=4", slurm("1", 1, 8, 1, 8));
        check_refused(&both, &["both SLURM_ARRAY_TASK_ID and CI_NODE_INDEX are set", "ONNX_CONFORMANCE_SHARD=K/N"]);
        for unassigned in ["", "CI_NODE_TOTAL=1", "ONNX_CONFORMANCE_SHARD=", "SLURM_JOB_ID=7"] {
            check_refused(unassigned, &["SLURM_ARRAY_TASK_ID (Slurm)", "ONNX_CONFORMANCE_SHARD=K/N"]);
        }
    }
}
