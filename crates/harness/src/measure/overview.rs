//! Summary of a version of a runtime, in numbers.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::suite::{RecordedCase, is_in_float, recorded_cases};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, LookupError, OperatorVersion, Specs};
use serde::Serialize;

use crate::measure::levels::LevelFailures;
use crate::measure::measurement::{Measured, Measurement};
use crate::measure::severity::Severity;
use crate::run::{Outcome, ProcessorFeatures};
use crate::runtimes::released;

/// Measured cases from the specs by outcome, and the operators that a version of a runtime computes correctly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// The runtime.
    pub runtime: String,
    /// Its version.
    pub version: String,
    /// Date on which the version was published; `None` if this project does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<String>,
    /// Date of the measurement.
    pub date: Option<String>,
    /// Platform of the measurement.
    pub platform: Option<String>,
    /// Features of its processor; `None` if they were not detected.
    pub cpu: Option<ProcessorFeatures>,
    /// Number of cases that fail only on some processors, by these processors: `without avx512_vnni, avx_vnni`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failing_by_processor: BTreeMap<String, usize>,
    /// Number of passing cases.
    pub passed: usize,
    /// Number of cases with inexact output: wrong by only a few representable values.
    pub inexact: usize,
    /// Number of cases with other wrong output, and of cases that must be refused but are not.
    pub wrong: usize,
    /// Number of cases that end in an error.
    pub failed: usize,
    /// Number of cases whose operator, type or setting the runtime reports as missing.
    pub declined: usize,
    /// Number of cases that crashed the process or did not end.
    pub crashed: usize,
    /// Number of cases in opsets or IR versions that the runtime does not accept, and of inconclusive refusals.
    pub not_taken: usize,
    /// Number of operators of ONNX's own domain that are correct in float at the opset.
    pub right: usize,
    /// Number of operators measured there; 0 if the runtime does not accept the opset.
    pub operators: usize,
    /// Graphs that fail, by the weakest level of the optimizer at which they do; empty if one level was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelFailures>,
}

impl Overview {
    /// Summarizes a measurement, with the number of these operators that are correct at the opset.
    pub fn new(measurement: &Measurement, opset: u32, operators: &[CasesOfOperator]) -> Overview {
        let mut overview = Overview {
            runtime: measurement.runtime().to_owned(),
            version: measurement.version().to_owned(),
            released: released(measurement.runtime(), measurement.version()).map(str::to_owned),
            date: measurement.date().map(str::to_owned),
            platform: measurement.platform().map(str::to_owned),
            cpu: measurement.processor().cloned(),
            failing_by_processor: BTreeMap::new(),
            passed: 0,
            inexact: 0,
            wrong: 0,
            failed: 0,
            declined: 0,
            crashed: 0,
            not_taken: 0,
            right: 0,
            operators: 0,
            levels: Vec::new(),
        };
        for version in Specs::embedded().all() {
            let mut measured = measurement.at_version(&version);
            for case in recorded_cases(&version) {
                let outcome = measured.outcome(case);
                overview.count(outcome);
                let is_failure = !matches!(outcome, Measured::Ended(Outcome::Pass) | Measured::Unknown);
                let processors = if is_failure { measurement.processors_of_failure(&case.id) } else { None };
                if let Some(processors) = processors {
                    *overview.failing_by_processor.entry(processors.to_string()).or_default() += 1;
                }
            }
        }
        for (version, cases) in operators {
            let severity = measurement.severity_at(opset, version, cases);
            overview.operators += usize::from(severity.is_some());
            overview.right += usize::from(severity == Some(Severity::Right));
        }
        overview
    }

    fn count(&mut self, measured: Measured) {
        let count = match Severity::from_measured(measured, false) {
            None if measured == Measured::Unknown => return,
            None => &mut self.not_taken,
            Some(Severity::Right) => &mut self.passed,
            Some(Severity::Inexact) => &mut self.inexact,
            Some(Severity::Declined) => &mut self.declined,
            Some(Severity::RefusesValid) => &mut self.failed,
            Some(Severity::TakesInvalid | Severity::WrongSpecial | Severity::Wrong) => &mut self.wrong,
            Some(Severity::Crash) => &mut self.crashed,
        };
        *count += 1;
    }
}

/// Cases of an operator version at an opset.
pub type CasesOfOperator = (OperatorVersion, Vec<&'static RecordedCase>);

/// Returns the operators of ONNX's own domain at an opset, by name, each with its cases that use float wherever allowed.
pub fn cases_in_float(opset: u32) -> Result<Vec<CasesOfOperator>, LookupError> {
    let (specs, mut operators) = (Specs::embedded(), Vec::new());
    for version in specs.all().filter(|version| version.domain == DEFAULT_DOMAIN) {
        let spec = specs.get(&version)?;
        if spec.deprecated || !specs.opsets(&version)?.contains(&opset) {
            continue;
        }
        let cases = recorded_cases(&version).iter().filter(|case| is_in_float(spec, CaseId::parse(&case.id))).collect();
        operators.push((version, cases));
    }
    Ok(operators)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::case::Level;

    #[test]
    fn a_case_is_in_float_where_no_type_is_another_that_may_be() {
        let in_float = |operator: &str, opset: u32, id: &str| {
            is_in_float(Specs::embedded().find(DEFAULT_DOMAIN, operator, opset).unwrap(), CaseId::parse(id))
        };
        assert!(in_float("Add", 13, "ai.onnx/Add-13/broadcast/A=2x1x3,B=4x1/T=float"));
        assert!(!in_float("Add", 13, "ai.onnx/Add-13/broadcast/A=2x1x3,B=4x1/T=double"));
        assert!(in_float("Gather", 13, "ai.onnx/Gather-13/known_values/T=float,Tind=int64"));
        assert!(!in_float("Cast", 13, "ai.onnx/Cast-13/known_values/T1=float,T2=double"));
        assert!(in_float("And", 7, "ai.onnx/And-7/known_values/T=bool"), "no type of And may be float");
        assert!(in_float("Add", 6, "ai.onnx/Add-6/legacy"));
        assert!(in_float("Abs", 13, "ai.onnx/Abs-13/ranks/X=2x3x4/T=float@opset=last"));
        assert!(!in_float("Abs", 13, "ai.onnx/Abs-13/ranks/X=2x3x4/T=double@opset=last"));
    }

    #[test]
    fn every_measured_case_is_counted() {
        let measurements = crate::measure::Measurements::embedded();
        let measurement = measurements.newest("onnxruntime").unwrap().unwrap();
        let overview = Overview::new(measurement, 21, &cases_in_float(21).unwrap());
        let judged = |version: &OperatorVersion, case: &RecordedCase| {
            let without_answer =
                || measurement.outcome(version, case).outcome().is_some_and(Outcome::is_without_answer);
            let was_measured = measurement.was_measured(CaseId::parse(&case.id), Some(version));
            was_measured && (case.facts.level != Level::Open || without_answer())
        };
        let all = Specs::embedded().all();
        let cases = all.map(|version| recorded_cases(&version).iter().filter(|case| judged(&version, case)).count());
        let counted = overview.passed
            + overview.inexact
            + overview.wrong
            + overview.failed
            + overview.declined
            + overview.crashed;
        assert_eq!(counted + overview.not_taken, cases.sum::<usize>());
        assert!(overview.right > 0 && overview.right < overview.operators, "{overview:?}");
    }
}
