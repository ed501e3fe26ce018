//! Page of a finding: the standard, the runtime, the versions, the program and the text of an issue.

use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_reference::spec::Specs;

use crate::site::column::Column;
use crate::site::finding_pages::{MeasuredFinding, SampleTexts};
use crate::site::static_pages::address::{Address, Place, case_hash, short_name};
use crate::site::static_pages::html::Html;
use crate::site::static_pages::mark::letter_mark;
use crate::site::static_pages::page::Page;

/// Creates the page. The sample's texts are missing if its model is too large to be shown.
pub(crate) fn page(
    measured: &MeasuredFinding<'_>,
    sample: Option<&SampleTexts>,
    columns: &[Column],
) -> Result<Page, ExpectationError> {
    let (finding, row) = (measured.finding, measured.row()?);
    let id = finding.full_id();
    let about = format!("{} {}: {}", finding.runtime, finding.measured_in()?, finding.does);
    let mut page = Page::new(Address::Finding(&id), &finding.title, &about);
    let place = page.place.clone();
    let subjects = Html::joined(row.about.iter().map(|name| subject(name, &place)), ", ");
    page.facts(Html::terms(
        "facts",
        [
            (Html::from("State"), letter_mark(row.state)),
            (Html::from("Finding"), Html::inline("code", id.as_str())),
            (Html::from("About"), subjects),
        ],
    ));
    let standard = Html::with("blockquote", &[], finding.proof.to_string());
    let conclusion = finding.text.as_deref().map(|text| Html::element("p", text)).unwrap_or_default();
    page.section("The standard", [standard, conclusion].into());
    page.section("Versions", versions(measured, columns, &place));
    page.section("Operator versions that show it", shown(measured, &place));
    let case = Html::element(
        "p",
        [Html::from("The smallest case: "), place.app_link(&case_hash(&finding.sample), finding.sample.as_str())],
    );
    page.section("Case", [case, texts(sample)].into());
    Ok(page)
}

/// Links the name of an operator; returns the name of a pattern of graphs or of a group of cases as it is.
pub(crate) fn subject(name: &str, place: &Place) -> Html {
    match name.split_once('/') {
        Some((domain, operator)) if Specs::embedded().versions(domain, operator).next().is_some() => {
            place.link(Address::Operator(domain, operator), short_name(domain, operator))
        }
        _ => Html::from(name),
    }
}

fn versions(measured: &MeasuredFinding<'_>, columns: &[Column], place: &Place) -> Html {
    let row = |(version, failures, state): &(&'static str, usize, char)| {
        let is_it = |column: &&Column| {
            column.runtime == measured.finding.runtime && column.version == *version && column.file.is_none()
        };
        let name = columns
            .iter()
            .find(is_it)
            .map_or_else(|| Html::from(*version), |column| place.link(Address::Runtime(&column.key), *version));
        vec![name, letter_mark(*state), Html::from(*failures)]
    };
    if measured.measured.is_empty() {
        return Html::element("p", "No measured version ran these cases.");
    }
    Html::table("Measured versions", ["version", "state", "failing cases"], measured.measured.iter().map(row))
}

/// Returns the program and the case. An issue to file has both.
fn texts(sample: Option<&SampleTexts>) -> Html {
    let part = |title: &str, text: Option<&str>| {
        text.map(|text| Html::from([Html::element("h3", title), Html::code_block(text)])).unwrap_or_default()
    };
    let Some(SampleTexts { case, program, issue }) = sample else { return Html::default() };
    if issue.is_some() {
        return part("Issue to file, with a program and the case", issue.as_deref());
    }
    let case = part("Model, inputs and expected outputs", case.as_deref());
    Html::from([part("Program", program.as_deref()), case])
}

fn shown(measured: &MeasuredFinding<'_>, place: &Place) -> Html {
    let rows = measured.shown.iter().map(|(version, behaviours)| {
        let (domain, name) = (version.domain.as_str(), version.name.as_str());
        let title = format!("{}-{}", short_name(domain, name), version.since);
        let behaviours: Vec<&str> = behaviours.iter().map(String::as_str).collect();
        (place.link_to_version([domain, name], version.since, title), Html::from(behaviours.join(", ")))
    });
    Html::terms("rules", rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::findings::{Finding, Findings};

    use crate::site::finding_pages::samples;

    /// Returns the page of the first finding that fits.
    fn text(is_chosen: impl Fn(&Finding) -> bool) -> String {
        let finding = Findings::embedded().unwrap().all().find(|finding| is_chosen(finding)).unwrap();
        let samples = samples([finding].into_iter()).unwrap();
        let columns = Column::committed().unwrap();
        let it = MeasuredFinding { finding, shown: &[], measured: vec![("1.20.1", 3, 'w')] };
        page(&it, samples.get(&finding.full_id()), &columns).unwrap().text(None)
    }

    #[test]
    fn a_finding_that_the_standard_leaves_open_has_its_case() {
        let text = text(|finding| {
            finding.runtime == "onnxruntime" && !finding.proof.is_standard() && finding.sample.starts_with("ai.onnx/")
        });
        assert!(
            !text.contains("Issue to file") && text.contains("<h3>Model, inputs and expected outputs</h3>"),
            "{text}"
        );
    }

    #[test]
    fn a_finding_has_quote_versions_program_and_issue() {
        let text = text(|finding| finding.full_id() == "onnxruntime/gather-strings");
        for part in [
            "<h1>Gather of strings",
            "<blockquote>&quot;",
            "<th scope=\"row\"><a href=\"../../runtime/onnxruntime-1.20.1.html\">1.20.1</a></th>",
            "import onnxruntime",
            "opset_import",
            "<h3>Issue to file, with a program and the case</h3>",
            "href=\"../../index.html#/finding/onnxruntime/gather-strings\"",
        ] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}
