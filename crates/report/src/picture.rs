//! Picture of the matrix: results of each runtime's newest measured version on every operator of an opset.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use onnx_conformance_harness::escape::html;
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::measure::{
    CasesOfOperator, Measurement, Measurements, Overview, Severity, cases_in_float,
};
use onnx_conformance_reference::spec::LookupError;

/// Width of an operator's stripe, and height of a runtime's row.
const STRIPE: (usize, usize) = (4, 30);

/// Position of the first stripe, from the left and from above.
const ORIGIN: (usize, usize) = (160, 40);

/// Margin to the right of the stripes, and below them.
const MARGIN: (usize, usize) = (120, 36);

/// An error while drawing the picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The specs have no such operator version.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A measurement cannot be read.
    #[error(transparent)]
    Measurement(#[from] ExpectationError),
}

/// Creates an SVG whose first line names the command that writes it. It counts required cases that use float wherever allowed.
pub fn page(opset: u32, written_by: &str) -> Result<String, PictureError> {
    let operators = cases_in_float(opset)?;
    let measurements = Measurements::embedded();
    let mut rows = Vec::new();
    for (runtime, _) in measurements.runtimes() {
        rows.extend(measurements.newest(runtime)?);
    }
    let ((left, top), (across, down)) = (ORIGIN, STRIPE);
    let (width, below) = (left + operators.len() * across + MARGIN.0, top + rows.len() * (down + 6));
    let height = below + MARGIN.1;
    let mut svg = format!(
        "<!-- Written by `{written_by}`. -->\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <title>What runtimes do with the operators of opset {opset}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"10\" y=\"22\" fill=\"#1a1e23\">The {} operators of ONNX at opset {opset} in float, from A to Z: a stripe each</text>\n",
        operators.len()
    );
    for (number, measurement) in rows.into_iter().enumerate() {
        let y = top + number * (down + 6);
        let of = Overview::new(measurement, opset, &operators);
        let (name, base) = (html(&format!("{} {}", of.runtime, of.version)), y + down / 2 + 5);
        let _ = writeln!(svg, "<text x=\"10\" y=\"{base}\" fill=\"#1a1e23\">{name}</text>");
        for (severity, path) in stripes(measurement, opset, &operators, y) {
            let _ = writeln!(svg, "<path fill=\"{}\" d=\"{path}\"/>", look(severity).0);
        }
        let x = left + operators.len() * across + 10;
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{base}\" fill=\"#59626d\">{} of {} right</text>",
            of.right, of.operators
        );
    }
    let mut x = 10;
    for severity in Severity::ALL {
        let ((colour, words), y) = (look(severity), below + 12);
        let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\" fill=\"#59626d\">{words}</text>", x + 18, y + 11);
        x += 34 + words.len() * 7;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// Returns the stripes of a runtime as one path per severity. An operator without measured cases has no stripe.
fn stripes(
    measurement: &Measurement,
    opset: u32,
    operators: &[CasesOfOperator],
    y: usize,
) -> BTreeMap<Severity, String> {
    let (across, down) = STRIPE;
    let mut paths: BTreeMap<Severity, String> = BTreeMap::new();
    for (number, (version, cases)) in operators.iter().enumerate() {
        if let Some(worst) = measurement.severity_at(opset, version, cases) {
            let x = ORIGIN.0 + number * across;
            let _ = write!(paths.entry(worst).or_default(), "M{x} {y}h{across}v{down}h-{across}z");
        }
    }
    paths
}

/// Returns the colour and the label of a severity.
const fn look(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Right => ("#8fd3b6", "right"),
        Severity::Inexact => ("#c5dfa0", "inexact"),
        Severity::Declined => ("#d5d1e0", "declines a case"),
        Severity::TakesInvalid => ("#efe6a8", "accepts invalid models"),
        Severity::RefusesValid => ("#fbd66f", "fails on a case"),
        Severity::WrongSpecial => ("#f7bfa0", "wrong in special values"),
        Severity::Wrong => ("#e0784a", "wrong"),
        Severity::Crash => ("#8e1b17", "crashes or hangs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use onnx_conformance_cases::case::{CaseId, Level};
    use onnx_conformance_cases::suite::RecordedCase;
    use onnx_conformance_harness::measure::{NodeKind, NodeVerdict};
    use onnx_conformance_reference::spec::OperatorVersion;

    use crate::site::{Column, Levels, VersionTable, name_of, states};

    /// Returns the state that the page gives to cases of an operator version, of those that count at an opset.
    fn on_page(opset: u32, version: &OperatorVersion, cases: &[&RecordedCase], column: &[Column]) -> char {
        let names: BTreeSet<&str> = cases.iter().map(|case| name_of(case, version)).collect();
        let table = VersionTable::new(version, column).unwrap();
        let rows = table.cases.iter().filter(|row| row.opset <= opset && names.contains(row.name.as_str()));
        let states = states(&rows.collect::<Vec<_>>(), Levels::Required, 1);
        crate::site::letter_of(&states[0])
    }

    /// Returns the kind of the node of a case in a model of an opset.
    fn kind_of(opset: u32, version: &OperatorVersion, case: &RecordedCase) -> NodeKind {
        let named =
            CaseId::parse(&case.id).types().map(|(name, it)| (name.to_owned(), it.to_owned())).collect::<Vec<_>>();
        let others = case.facts.types.iter().filter_map(|pair| pair.split_once('='));
        let others = others.map(|(name, it)| (name.to_owned(), it.to_owned()));
        let types = named.into_iter().chain(others).collect();
        NodeKind { version: version.clone(), opset, types, settings: case.facts.settings.clone() }
    }

    #[test]
    fn summary_picture_page_and_check_agree_on_what_is_right() {
        for (runtime, name) in [("onnxruntime", "1.20.1"), ("onnxruntime", "1.31.1"), ("tract", "0.23.9")] {
            let measurement = Measurements::embedded().get(runtime, name).unwrap().unwrap();
            let is_it = |column: &Column| column.runtime() == runtime && column.version() == name;
            let column: Vec<Column> = Column::committed().unwrap().into_iter().filter(is_it).collect();
            for opset in [13, 21, 26] {
                let operators = cases_in_float(opset).unwrap();
                let place = format!("{runtime} {name} at opset {opset}");
                let (mut right, mut measured) = (0, 0);
                for (version, cases) in &operators {
                    let severity = measurement.severity_at(opset, version, cases);
                    let letter = on_page(opset, version, cases, &column);
                    if measurement.takes_opset("ai.onnx", opset) {
                        assert_eq!(severity == Some(Severity::Right), letter == 'r', "{place}: {version}");
                        assert_eq!(severity.is_none(), "?no".contains(letter), "{place}: {version}");
                    } else {
                        assert_eq!(severity, None, "{place}: {version}");
                    }
                    right += usize::from(severity == Some(Severity::Right));
                    measured += usize::from(severity.is_some());
                    let is_positive = |case: &&&RecordedCase| {
                        case.facts.level == Level::Required
                            && case.facts.refusal.is_none()
                            && measurement.counts_at(opset, version, case)
                            && measurement.outcome(version, case).outcome().is_some()
                    };
                    for case in cases.iter().filter(is_positive).filter(|_| severity == Some(Severity::Right)) {
                        let answer = measurement.answer(&kind_of(opset, version, case));
                        assert_eq!(answer.verdict, NodeVerdict::Runs, "{place}: {}: {answer:?}", case.id);
                    }
                }
                let of = Overview::new(measurement, opset, &operators);
                assert_eq!((of.right, of.operators), (right, measured), "{place}");
                let paths = stripes(measurement, opset, &operators, 0);
                let count = |path: &String| path.matches('M').count();
                assert_eq!(paths.get(&Severity::Right).map_or(0, count), right, "{place}");
                assert_eq!(paths.values().map(count).sum::<usize>(), measured, "{place}");
            }
        }
    }

    #[test]
    fn each_measured_operator_has_one_stripe() {
        let (operators, measurements) = (cases_in_float(21).unwrap(), Measurements::embedded());
        let svg = page(21, "a test").unwrap();
        assert!(svg.starts_with("<!-- Written by `a test`"), "{svg}");
        for (runtime, _) in measurements.runtimes() {
            let measurement = measurements.newest(runtime).unwrap().unwrap();
            let paths = stripes(measurement, 21, &operators, 0);
            let of = Overview::new(measurement, 21, &operators);
            let count = |path: &String| path.matches('M').count();
            assert_eq!(paths.values().map(count).sum::<usize>(), of.operators, "{runtime}");
            assert_eq!(paths.get(&Severity::Right).map_or(0, count), of.right, "{runtime}");
            assert!(svg.contains(&format!(">{} of {} right<", of.right, of.operators)), "{runtime}");
        }
    }
}
