//! Cases of every kind for the tests of exports and archives, made once in a process.

use std::collections::HashSet;
use std::sync::LazyLock;

use onnx_conformance_reference::spec::Specs;

use crate::case::Case;
use crate::suite::{Filter, Generated, GraphCases, HostileCases, IrCases, Suite, VendoredCases};

/// Cases with values of every kind, every rule, refusals by model and by value, and external data.
pub(super) static SAMPLE_CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let suite = Suite::new(vec![
        Box::new(VendoredCases::newest().unwrap()),
        Box::new(Generated::embedded()),
        Box::new(IrCases::embedded()),
        Box::new(GraphCases),
        Box::new(HostileCases),
    ]);
    let newest = Specs::embedded().newest_release();
    let patterns = [
        "ai.onnx/{Sum,Dropout,Bernoulli,RandomNormal,Unique,Identity,OptionalHasElement,CastLike}-*/**",
        "ai.onnx/{If,Loop,Sigmoid,Exp,ReduceSum,LayerNormalization,StringSplit,Multinomial,Gather}-*/**",
        "ai.onnx.ml/{CastMap,ZipMap,DictVectorizer}-*/**",
        &format!("onnx-{newest}/node/test_{{sum,dropout,bernoulli,image,optional,sequence,layer}}*"),
        &format!("onnx-{newest}/simple/**"),
        "ir/**",
        "graph/**/good/**",
        "hostile/{external,numbers,sizes}/**",
    ];
    selected(&suite, &Filter::new(&patterns).unwrap())
});

/// Returns the cases that a filter selects.
pub(super) fn selected(suite: &Suite, filter: &Filter) -> Vec<Case> {
    let mut cases = Vec::new();
    for (source, group, ids) in suite.choose(filter).unwrap() {
        let ids: HashSet<&str> = ids.iter().map(String::as_str).collect();
        cases.extend(source.load(&group, &|id| ids.contains(id)).unwrap());
    }
    cases
}
