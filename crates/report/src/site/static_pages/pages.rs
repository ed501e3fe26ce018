//! All pages except those of operators, which are made with their data.

use std::collections::BTreeMap;

use onnx_conformance_check::rules::RuleId;

use crate::site::columns::ShownColumns;
use crate::site::finding_pages::{MeasuredFinding, SampleTexts};
use crate::site::static_pages::error::StaticError;
use crate::site::static_pages::page::Page;
use crate::site::static_pages::runtime_page::Operators;
use crate::site::static_pages::{finding_page, lists, release_page, rule_page, runtime_page};

/// Sources of the pages.
pub(crate) struct Sources<'a> {
    /// The columns.
    pub(crate) columns: &'a ShownColumns,
    /// The operators with their failures.
    pub(crate) operators: &'a Operators<'a>,
    /// The findings.
    pub(crate) findings: &'a [MeasuredFinding<'a>],
    /// Texts about the samples of findings, by full id.
    pub(crate) samples: &'a BTreeMap<String, SampleTexts>,
}

/// Creates the pages of runtimes, findings, rules and releases, and the lists of everything.
pub(crate) fn pages(sources: &Sources<'_>) -> Result<Vec<Page>, StaticError> {
    let Sources { columns, operators, findings, samples } = sources;
    let releases = release_page::releases()?;
    let mut pages = vec![
        lists::operators(columns, operators),
        lists::runtimes(columns, operators),
        lists::findings(findings)?,
        lists::rules(),
        lists::releases(&releases),
    ];
    pages.extend((0..columns.len()).map(|at| runtime_page::page(at, columns, operators, findings)));
    for finding in *findings {
        let sample = samples.get(&finding.finding.full_id());
        pages.push(finding_page::page(finding, sample, columns)?);
    }
    pages.extend(RuleId::ALL.into_iter().map(rule_page::page));
    pages.extend(releases.iter().map(release_page::ReleaseChanges::page));
    Ok(pages)
}
