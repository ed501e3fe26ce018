//! Imports: the opset of each domain, and the operators of all nodes in it.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt as _, HashSet};
use onnx_conformance_reference::model::graph::plain_domain;
use onnx_conformance_reference::proto::OperatorSetIdProto;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, LookupError, Specs, canonical_domain};

use crate::finding::{Finding, PathStep, Place};
use crate::infer::Bodies;
use crate::rules::RuleId;
use crate::validity::context::{Context, Groups, more};

/// Checks the imports of the model and of its functions, and the operators of all nodes against them.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let model = context.bodies().model;
    let unchecked = unchecked(context.bodies());
    check_list(context, &Place::default(), &model.opset_import, &unchecked);
    for function in &model.functions {
        let name = crate::infer::function_name(function);
        let place = Place { path: vec![PathStep::Function(name)], ..Place::default() };
        check_list(context, &place, &function.opset_import, &unchecked);
    }
    check_used(context);
    check_operators(context);
}

/// Returns the domains that the model imports and no node uses. ONNX's own domain is left out: almost every model imports it.
pub(super) fn unused<'m>(bodies: &Bodies<'m>) -> Vec<&'m str> {
    let used = bodies.used_domains();
    let domains = bodies.model.opset_import.iter().map(|import| canonical_domain(import.domain()));
    let mut unused: Vec<&str> = domains.filter(|domain| *domain != DEFAULT_DOMAIN && !used.by_model(domain)).collect();
    unused.sort_unstable();
    unused.dedup();
    unused
}

fn check_used(context: &mut Context<'_, '_>) {
    let (message, edit) = match unused(context.bodies()).as_slice() {
        [] => return,
        [domain] => (format!("no node uses the imported domain '{domain}'"), "remove the import"),
        domains => (format!("no node uses the imported domains {}", domains.join(", ")), "remove the imports"),
    };
    context.model(RuleId::OpsetUnused, message, Some(edit.to_owned()));
}

/// Returns the domains of nodes that are not calls of the model's functions, which are checked.
fn unchecked<'m>(bodies: &Bodies<'m>) -> BTreeSet<&'m str> {
    let (model, used) = (bodies.model, bodies.used_domains());
    let of_functions: HashSet<&str> = model.functions.iter().map(|function| plain_domain(function.domain())).collect();
    let lists = model.functions.iter().map(|function| &function.opset_import).chain([&model.opset_import]);
    let domains = lists.flatten().map(|import| plain_domain(import.domain()));
    domains.filter(|domain| used.by_model(domain) && !of_functions.contains(domain)).collect()
}

fn check_list(context: &mut Context<'_, '_>, place: &Place, list: &[OperatorSetIdProto], unchecked: &BTreeSet<&str>) {
    let mut push = |rule, message: String, edit: Option<String>| {
        context.push(Finding { edit, ..Finding::new(rule, place.clone(), message) });
    };
    if list.is_empty() {
        let message = "opset_import is empty; it must list the version of every domain in use".to_owned();
        push(RuleId::OpsetMissing, message, Some("import the opset that the model was exported for".to_owned()));
    }
    let mut versions: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for import in list {
        versions.entry(plain_domain(import.domain())).or_default().push(import.version());
    }
    for (domain, mut versions) in versions {
        let name = canonical_domain(domain);
        let count = versions.len();
        versions.sort_unstable();
        versions.dedup();
        if versions.len() > 1 {
            let list: Vec<String> = versions.iter().map(i64::to_string).collect();
            let message = format!("domain '{name}' is imported at versions {}", list.join(" and "));
            push(RuleId::OpsetTwice, message, Some("keep the one that the model was exported for".to_owned()));
        } else if count > 1 {
            let message = format!("domain '{name}' is imported {count} times");
            push(RuleId::OpsetRepeated, message, Some("keep one of them".to_owned()));
        }
        let newest = Specs::embedded().newest_opset(domain).ok();
        for version in versions {
            match newest {
                _ if version < 1 => {
                    let message = format!("opset {version} of '{name}' is invalid; versions start at 1");
                    push(RuleId::OpsetInvalid, message, None);
                }
                Some(newest) if version > i64::from(newest) => {
                    let message = format!("opset {version} of '{name}' is unknown; the newest known is {newest}");
                    push(RuleId::OpsetUnknown, message, Some(format!("import {newest} or an older version")));
                }
                Some(_) => {}
                None if !unchecked.contains(domain) => {}
                None => {
                    let message = format!("domain '{name}' is not one of ONNX's; its nodes are not checked");
                    push(RuleId::OpsetForeign, message, None);
                }
            }
        }
    }
}

/// Broken rule of an operator: the rule, the message, and the edit that fixes it.
type Problem = (RuleId, String, Option<String>);

/// Reason why the operator of a node has no version.
#[derive(PartialEq, Eq, Hash)]
enum Reason<'m> {
    NotImported(Option<usize>, &'m str),
    NoName,
    NoFunction(String, &'m str),
    Lookup(RuleId, String, Option<String>),
}

fn check_operators(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    let specs = Specs::embedded();
    let mut groups: Groups<Reason<'_>> = Groups::new();
    let mut known: HashMap<(Option<usize>, &str, &str), Option<Problem>> = HashMap::new();
    let mut foreign: HashMap<&str, bool> = HashMap::new();
    for id in bodies.node_ids() {
        let Some(node) = bodies.node(id) else { continue };
        let function = bodies.body(id.body).function;
        let domain = plain_domain(node.domain());
        if node.op_type().is_empty() {
            groups.add(Reason::NoName, id);
            continue;
        }
        let Some(opset) = bodies.opset(id.body, domain) else {
            groups.add(Reason::NotImported(function, domain), id);
            continue;
        };
        if bodies.function_of(node).is_some() {
            continue;
        }
        let has_functions = || bodies.model.functions.iter().any(|function| plain_domain(function.domain()) == domain);
        let is_foreign = *foreign.entry(domain).or_insert_with(|| specs.newest_opset(domain).is_err());
        if is_foreign && has_functions() {
            groups.add(
                Reason::NoFunction(format!("{}/{}", canonical_domain(domain), node.op_type()), node.overload()),
                id,
            );
            continue;
        }
        let reason = known
            .entry((function, domain, node.op_type()))
            .or_insert_with(|| lookup(specs, domain, node.op_type(), opset));
        if let Some((rule, message, edit)) = reason {
            groups.add(Reason::Lookup(*rule, message.clone(), edit.clone()), id);
        }
    }
    for (reason, node, count) in groups.into_sorted() {
        let more = more(count);
        match reason {
            Reason::NoName => context.node(node, RuleId::NodeOperator, format!("op_type is empty{more}"), None),
            Reason::NoFunction(name, overload) => {
                let overload = if overload.is_empty() { String::new() } else { format!(" with overload '{overload}'") };
                let message = format!("the model has no function {name}{overload}{more}");
                context.node(node, RuleId::NodeOperator, message, None);
            }
            Reason::NotImported(_, domain) => {
                let name = canonical_domain(domain);
                let message = format!("domain '{name}' is not in opset_import{more}");
                let edit = format!("import '{name}' at the intended version");
                context.node(node, RuleId::OpsetNotImported, message, Some(edit));
            }
            Reason::Lookup(rule, message, edit) => context.node(node, rule, format!("{message}{more}"), edit),
        }
    }
}

fn lookup(specs: &Specs, domain: &str, operator: &str, opset: i64) -> Option<Problem> {
    match specs.find(domain, operator, opset) {
        Ok(spec) if spec.deprecated => {
            let message = format!("{} deprecates the operator", spec.version);
            // Conversions to a later opset replace the deprecated operators of ONNX's own domain.
            let edit = match canonical_domain(domain) {
                DEFAULT_DOMAIN => "`convert --opset` with a later opset replaces it",
                _ => "replace it as its specification describes",
            };
            Some((RuleId::NodeDeprecated, message, Some(edit.to_owned())))
        }
        Ok(spec) if spec.experimental => {
            Some((RuleId::NodeExperimental, format!("{} is experimental", spec.version), None))
        }
        Err(error @ LookupError::UnknownOperator { .. }) => Some((RuleId::NodeOperator, error.to_string(), None)),
        Err(LookupError::NotYet { first, .. }) if opset >= 1 => {
            let name = canonical_domain(domain);
            let message = format!("opset {opset} of {name} has no {operator}, which was added in opset {first}");
            Some((RuleId::NodeOpset, message, Some(format!("import opset {first} or newer"))))
        }
        Ok(_) | Err(_) => None,
    }
}
