//! Opsets and IR version of a model for a measured runtime.

use std::collections::BTreeMap;

use anyhow::bail;
use onnx_conformance_check::convert::Target;
use onnx_conformance_check::used_domains::UsedDomains;
use onnx_conformance_harness::measure::{Measurement, Measurements};
use onnx_conformance_reference::proto::ModelProto;
use onnx_conformance_reference::spec::{Specs, canonical_domain};
use onnx_conformance_subject::{Accepted, Opsets};

use crate::cli::runtime_name::RuntimeName;
use crate::cli::usage::Usage;

/// Conversion target for a runtime, and the facts that determine it in a sentence.
pub(crate) struct RuntimeTarget {
    pub(crate) target: Target,
    pub(crate) reason: String,
}

/// Returns the numbers nearest to those of a model that a runtime accepts. `name` is the runtime, or the runtime with its version:
/// `onnxruntime@1.20.1`.
pub(crate) fn runtime_target(name: &str, model: &ModelProto) -> anyhow::Result<RuntimeTarget> {
    let (measurement, accepted) = accepted(name)?;
    let runtime = format!("{} {}", measurement.runtime(), measurement.version());
    let used = UsedDomains::of_model(model);
    let mut opsets = BTreeMap::new();
    for import in &model.opset_import {
        let domain = canonical_domain(import.domain());
        if !Specs::embedded().domains().any(|known| known == domain) {
            continue;
        }
        match accepted.opsets.get(domain) {
            Some(range) => {
                opsets.insert(domain.to_owned(), nearest(*range, import.version()));
            }
            None if used.by_model(domain) => {
                let domains: Vec<&str> = accepted.opsets.keys().map(String::as_str).collect();
                bail!(Usage(format!(
                    "--runtime {name}: the model uses {domain}, but {runtime} accepts only {}",
                    domains.join(", ")
                )));
            }
            // A runtime that does not know a domain ignores an import that no node uses.
            None => {}
        }
    }
    let ir = nearest(accepted.ir, model.ir_version());
    let ir = (ir != model.ir_version()).then_some(ir);
    let date = measurement.date().map(|date| format!(" (measured {date})")).unwrap_or_default();
    Ok(RuntimeTarget {
        target: Target { opsets, ir, ..Target::default() },
        reason: format!("for {runtime}{date}, which accepts {accepted}"),
    })
}

fn accepted(name: &str) -> anyhow::Result<(&'static Measurement, &'static Accepted)> {
    let measurement = RuntimeName::parse(name).measurement("--runtime: ")?;
    let Some(accepted) = measurement.accepts() else {
        let known = Measurements::embedded().all()?.into_iter().filter(|other| other.accepts().is_some());
        let known: Vec<String> = known.map(|other| format!("{}@{}", other.runtime(), other.version())).collect();
        let known = known.join(", ");
        bail!(Usage(format!(
            "--runtime {name}: its measurement does not say which opsets it accepts; those of {known} do"
        )));
    };
    Ok((measurement, accepted))
}

/// Returns the number in the range that is nearest to this one.
fn nearest(range: Opsets, number: i64) -> i64 {
    let oldest = match range {
        Opsets::UpTo(_) => i64::MIN,
        Opsets::Between(oldest, _) => i64::from(oldest),
    };
    number.max(oldest).min(i64::from(range.newest()))
}
