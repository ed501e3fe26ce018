//! Coverage items of an operator version, with those of the rules in its op.yaml.

use std::collections::BTreeSet;

use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog, OperatorFile};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use crate::coverage::item::{CoverageItem, CoverageKind, items};

/// Returns the items of a supported version; of a deprecated one that a case runs it.
pub(super) fn items_of(
    specs: &Specs,
    operators: &OperatorCatalog,
    version: &OperatorVersion,
) -> Result<BTreeSet<CoverageItem>, GenerateError> {
    let spec = specs.get(version)?;
    if spec.deprecated {
        return Ok([CoverageItem::new(CoverageKind::Executed)].into());
    }
    let mut items = items(spec, *specs.released_opsets(version)?.end());
    if operators.has(version) && newest(specs, version) == *version {
        items.extend(constraints(operators.get(version)?));
    }
    Ok(items)
}

/// Returns the newest version of an operator.
pub(super) fn newest(specs: &Specs, version: &OperatorVersion) -> OperatorVersion {
    let since = specs.versions(&version.domain, &version.name).last().unwrap_or(version.since);
    OperatorVersion { since, ..version.clone() }
}

/// Returns the constraint items: a case keeps each rule, and another violates it if the file has refusals for it. Other rules are
/// only promises.
fn constraints(file: &OperatorFile) -> impl Iterator<Item = CoverageItem> {
    let refused: BTreeSet<&str> = file.refuse.iter().filter_map(|refusal| refusal.constraint.as_deref()).collect();
    file.constraints.keys().flat_map(move |id| {
        let broken = refused.contains(id).then(|| CoverageItem::named(CoverageKind::ConstraintBroken, id));
        std::iter::once(CoverageItem::named(CoverageKind::ConstraintKept, id)).chain(broken)
    })
}
