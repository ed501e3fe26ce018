//! Probes for the opsets and IR versions that a runtime accepts, with models of one `Identity` node.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    GraphProto, Message as _, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto, encode, texts,
};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs, model_domain};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::named::Named;
use crate::{Accepted, Ask, Builtin, Ended, Host, Opsets, Output, Question, Request, Response};

/// Opset of ONNX's own domain in the probes of other properties: the oldest that current runtimes accept. Its
/// `Identity` has not changed for long.
const PLAIN_OPSET: u32 = 13;

/// The oldest IR version whose models import opsets.
const OLDEST_IR: u32 = 3;

/// Returns the files that a runtime accepts, found by probing, unless it declares them itself or runs no models.
pub fn probe_if_undeclared(host: &dyn Host) -> Option<Accepted> {
    let declaration = host.declaration();
    let says_all = declaration.opsets.is_some() && declaration.ir.is_some();
    if declaration.name == Builtin::NAME || says_all || !declaration.answers(Question::Run) {
        None
    } else {
        accepted(host)
    }
}

/// Probes the opsets and IR versions that a runtime accepts. Returns `None` if the runtime runs no such model in any
/// opset, or dies or hangs on one.
pub fn accepted(host: &dyn Host) -> Option<Accepted> {
    let releases = Specs::embedded().releases().ok()?;
    let newest_ir = releases.newest()?.ir;
    let lowest_ir = |domain: &str, opset| releases.lowest_ir(domain, opset).unwrap_or(OLDEST_IR);
    let mut opsets = BTreeMap::new();
    for domain in Specs::embedded().domains() {
        let probe = |opset| {
            let (mut ir, mut imports) = (lowest_ir(domain, opset), vec![(domain, opset)]);
            if domain != DEFAULT_DOMAIN {
                ir = ir.max(lowest_ir(DEFAULT_DOMAIN, PLAIN_OPSET));
                imports.push((DEFAULT_DOMAIN, PLAIN_OPSET));
            }
            Probe { ir, imports }
        };
        let newest = Specs::embedded().newest_opset(domain).ok()?;
        let versions = accepted_versions(1..=newest, |opset| probe(opset).runs(host))?;
        opsets.extend(range(&versions).map(|range| (domain.to_owned(), range)));
    }
    // Every IR version may import an old opset.
    let Opsets::Between(oldest, _) = *opsets.get(DEFAULT_DOMAIN)? else { return None };
    let imports = vec![(DEFAULT_DOMAIN, oldest.max(7))];
    let versions = accepted_versions(OLDEST_IR..=newest_ir, |ir| Probe { ir, imports: imports.clone() }.runs(host))?;
    Some(Accepted { ir: range(&versions)?, opsets })
}

/// Returns the accepted versions, or `None` if the runtime died or hung on one.
fn accepted_versions(versions: RangeInclusive<u32>, is_accepted: impl Fn(u32) -> Option<bool>) -> Option<Vec<u32>> {
    let mut accepted = Vec::new();
    for version in versions {
        accepted.extend(is_accepted(version)?.then_some(version));
    }
    Some(accepted)
}

/// Returns the range from the first to the last version.
fn range(versions: &[u32]) -> Option<Opsets> {
    versions.first().zip(versions.last()).map(|(oldest, newest)| Opsets::Between(*oldest, *newest))
}

/// A model that returns its input.
struct Probe<'a> {
    ir: u32,
    imports: Vec<(&'a str, u32)>,
}

impl Probe<'_> {
    /// Returns true if the runtime runs the model, or `None` if it dies or hangs.
    fn runs(&self, host: &dyn Host) -> Option<bool> {
        let value = Value::Tensor(Tensor::of_floats(ElementType::Float, &[2], &[1.5, -2.0]).ok()?);
        let inputs = [Named { name: "x".to_owned(), value: value.clone() }];
        let outputs = [Output::new("y", ValueType::Tensor(ElementType::Float), 0)];
        let model = self.model().encode_to_vec().into();
        let request =
            Request { id: "accepted", model: &model, folder: None, inputs: &inputs, outputs: &outputs, ask: Ask::RUN };
        match host.run(&request).ended {
            Ended::Answered(Response::Outputs { values, .. }) => Some(values == [value]),
            Ended::Answered(_) => Some(false),
            Ended::Timeout(_) | Ended::OutOfMemory(_) | Ended::Crash(_) | Ended::ProtocolError(_) => None,
        }
    }

    fn model(&self) -> ModelProto {
        let info = |name: &str| ValueInfoProto {
            name: Some(name.to_owned()),
            r#type: Some(encode::value_type(&ValueType::Tensor(ElementType::Float), Some(&[2]))),
            ..ValueInfoProto::default()
        };
        let import = |(domain, opset): &(&str, u32)| OperatorSetIdProto {
            domain: Some(model_domain(domain).to_owned()),
            version: Some(i64::from(*opset)),
        };
        let node = NodeProto {
            op_type: Some("Identity".into()),
            input: texts(["x"]),
            output: texts(["y"]),
            ..NodeProto::default()
        };
        ModelProto {
            ir_version: Some(i64::from(self.ir)),
            opset_import: self.imports.iter().map(import).collect(),
            producer_name: Some("onnx-conformance".to_owned()),
            graph: Some(GraphProto {
                name: Some("accepted".to_owned()),
                node: vec![node],
                input: vec![info("x")],
                output: vec![info("y")],
                ..GraphProto::default()
            }),
            ..ModelProto::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onnx_conformance_reference::proto::decode;
    use onnx_conformance_reference::spec::canonical_domain;

    use super::*;
    use crate::{Builtin, Declaration, Phase, Ran};

    /// A runtime that accepts models up to an opset and an IR version.
    struct UpTo {
        opset: i64,
        ir: i64,
        hangs: bool,
    }

    impl Host for UpTo {
        fn declaration(&self) -> Declaration {
            Declaration::named("up-to", "1")
        }

        fn run(&self, request: &Request<'_>) -> Ran {
            let model = decode::model(request.model.clone()).unwrap();
            let imports = model.opset_import.iter();
            let mut known = imports.map(|it| (canonical_domain(it.domain()), it.version()));
            let ended = if known.all(|(domain, opset)| domain == "ai.onnx" && opset <= self.opset)
                && model.ir_version() <= self.ir
            {
                Ended::Answered(Response::Outputs { values: vec![request.inputs[0].value.clone()], cells: Vec::new() })
            } else if self.hangs {
                Ended::Timeout("no answer".to_owned())
            } else {
                Ended::Answered(Response::Error { phase: Phase::Load, message: "too new".to_owned() })
            };
            Ran { ended, flaky: None }
        }
    }

    #[test]
    fn the_built_in_executor_takes_every_release() {
        let found = accepted(&Builtin::new(Duration::from_mins(1))).unwrap();
        let newest = Specs::embedded().releases().unwrap().newest().unwrap();
        assert_eq!(found.ir, Opsets::Between(3, newest.ir));
        // A domain without operators is not probed.
        let has_operators = |domain: &str| Specs::embedded().domains().any(|known| known == domain);
        for (domain, opset) in newest.opsets.iter().filter(|(domain, _)| has_operators(domain)) {
            assert_eq!(found.opsets.get(domain), Some(&Opsets::Between(1, *opset)), "{domain}");
        }
    }

    #[test]
    fn a_limit_is_found() {
        let found = accepted(&UpTo { opset: 21, ir: 10, hangs: false }).unwrap();
        assert_eq!(found.ir, Opsets::Between(3, 10));
        assert_eq!(found.opsets, BTreeMap::from([("ai.onnx".to_owned(), Opsets::Between(1, 21))]));
    }

    #[test]
    fn a_runtime_that_hangs_or_runs_nothing_has_no_probed_versions() {
        assert_eq!(accepted(&UpTo { opset: 21, ir: 10, hangs: true }), None);
        assert_eq!(accepted(&UpTo { opset: 0, ir: 10, hangs: false }), None);
    }
}
