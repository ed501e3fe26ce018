//! Checks every finding against its proof, its sample and the measurements.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_cases::suite::WrappedCases;
use onnx_conformance_reference::spec::yaml;
use onnx_conformance_reference::spec::{AttributeSpec, FormalParameter, OpSpec, OperatorVersion, Specs};

use crate::findings::{Finding, Findings, Proof, Quote, ToolFault, ToolFaults};
use crate::measure::{Measurement, Measurements};
use crate::run::Outcome;
use crate::run::test_results::result;

/// Files below specs/texts. Each text of the standard follows a line `@@` with its locations, and each sentence its digest.
const TEXTS: [&str; 2] = ["schemas.txt", DOCUMENTS];

/// The file whose locations are documents, each with a heading that may contain a comma.
const DOCUMENTS: &str = "documents.txt";

/// Separator between the pieces of a quote.
const LEFT_OUT: &str = " ... ";

/// Texts of the standard by location, such as `ai.onnx/Abs-13`, `ai.onnx/Abs-13 X` or `IR.md`, with normalized white space.
struct StandardTexts(BTreeMap<String, String>);

impl StandardTexts {
    fn read() -> StandardTexts {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("specs/texts");
        let mut texts = BTreeMap::new();
        for name in TEXTS {
            let file = std::fs::read_to_string(folder.join(name)).unwrap();
            for block in file.split("\n@@ ").skip(1) {
                let (places, text) = block.split_once('\n').unwrap_or((block, ""));
                let text = folded(&text.lines().map(without_digest).collect::<Vec<_>>().join("\n"));
                if name == DOCUMENTS {
                    // The sections of a document are one text, since a quote may come from several.
                    let document = places.split_once(' ').map_or(places, |(document, _)| document);
                    let all: &mut String = texts.entry(document.to_owned()).or_default();
                    all.extend([" ", &text]);
                } else {
                    texts.extend(places.split(", ").map(|place| (place.to_owned(), text.clone())));
                }
            }
        }
        StandardTexts(texts)
    }

    /// Returns true if a text of an operator version, or a document, contains all pieces of a quote in this order.
    fn have(&self, source: &str, says: &str) -> bool {
        let of_parts = format!("{source} ");
        let parts = self.0.range(of_parts.clone()..).take_while(|(place, _)| place.starts_with(&of_parts));
        let texts = self.0.get(source).into_iter().chain(parts.map(|(_, text)| text));
        texts.into_iter().any(|text| has_pieces(text, says))
    }
}

/// Returns true if a text contains all pieces of a quote in this order. No piece may be empty.
fn has_pieces(text: &str, says: &str) -> bool {
    let mut rest = text;
    folded(says).split(LEFT_OUT).all(|piece| match rest.split_once(piece) {
        Some((_, behind)) if !piece.is_empty() => {
            rest = behind;
            true
        }
        _ => false,
    })
}

fn without_digest(line: &str) -> &str {
    line.split_once(' ').map_or("", |(_, sentence)| sentence)
}

/// Normalizes white space, including line breaks in HTML, and removes comment slashes at line starts.
fn folded(text: &str) -> String {
    let text = ["<br>", "<br/>", "<br />"].iter().fold(text.to_owned(), |text, tag| text.replace(tag, " "));
    let lines = text.lines().map(|line| line.trim_start().trim_start_matches("//"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Returns true if the signature of a version has this property: `T: tensor(double)`, `B: optional`, `axis: default 1`,
/// `output Y: optional`.
fn signature_says(spec: &OpSpec, says: &str) -> bool {
    let Some((name, fact)) = says.split_once(": ") else { return false };
    if let Some(output) = name.strip_prefix("output ") {
        return spec.outputs.iter().any(|it| it.name == output && has_presence(it, fact));
    }
    let types = spec.types.get(name).map(Vec::as_slice).unwrap_or_default();
    types.iter().any(|it| it.to_string() == fact)
        || spec.inputs.iter().any(|it| it.name == name && has_presence(it, fact))
        || spec.attributes.get(name).is_some_and(|attribute| attribute_says(attribute, fact))
}

fn has_presence(parameter: &FormalParameter, fact: &str) -> bool {
    parameter.presence.to_string().split(", ").next() == Some(fact)
}

fn attribute_says(attribute: &AttributeSpec, fact: &str) -> bool {
    match fact.strip_prefix("default ") {
        Some(value) => attribute.default.as_ref().is_some_and(|default| default.to_string() == value),
        None => fact == if attribute.required { "required" } else { "optional" },
    }
}

/// Returns the reason why the proof of a finding is invalid; `None` if it holds.
fn fault_of_proof(finding: &Finding, texts: &StandardTexts) -> Option<String> {
    let version = CaseId::parse(&finding.sample).version();
    let spec = version.as_ref().and_then(|version| Specs::embedded().get(version).ok());
    let (from, says) = match &finding.proof {
        Proof::Quote(Quote { from, says }) => (from.as_deref(), says),
        Proof::Body if spec.is_none_or(|spec| spec.function.is_some()) => return None,
        Proof::Body => return Some("the operator version of the sample has no function body".to_owned()),
        Proof::UpstreamTest | Proof::Suite => return None,
    };
    let holds = match (from, &version) {
        (Some("signature"), _) => spec.is_some_and(|spec| signature_says(spec, says)),
        (Some(from), _) => texts.have(from, says),
        (None, Some(version)) => texts.have(&version.qualified(), says),
        (None, None) => return Some("the sample is of no operator version; give the quote a `from:`".to_owned()),
    };
    let source = from.map_or_else(|| version.map(|it| it.qualified()).unwrap_or_default(), str::to_owned);
    (!holds).then(|| format!("the quote is not in the text of {source}: \"{says}\""))
}

/// Returns the line of a finding in its file.
fn place(finding: &Finding) -> String {
    let path = format!("findings/{}.yaml", finding.runtime);
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&path)).unwrap();
    let line = text.lines().position(|line| line.trim() == format!("- id: {}", finding.id)).unwrap();
    format!("{path}:{}: {}", line + 1, finding.id)
}

/// Returns the measurements of a finding's runtime, the newest first.
fn measurements(finding: &Finding) -> Vec<&'static Measurement> {
    let all = Measurements::embedded();
    let versions = all.runtimes().into_iter().find(|(runtime, _)| *runtime == finding.runtime);
    let versions = versions.map(|(_, versions)| versions).unwrap_or_default();
    versions.into_iter().rev().filter_map(|version| all.get(finding.runtime, version).unwrap()).collect()
}

/// Asserts that no finding has a problem. Lists the findings that have one by file and line.
fn assert_none(fault: impl Fn(&Finding) -> Option<String>) {
    let findings = Findings::embedded().unwrap();
    let faults = findings.all().filter_map(|finding| Some(format!("{}: {}", place(finding), fault(finding)?)));
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{} findings do not hold:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_quote_is_in_the_text_of_its_version() {
    let texts = StandardTexts::read();
    assert_none(|finding| fault_of_proof(finding, &texts));
}

/// The samples are compared with the measurements of tools by `cargo xtask gen`'s own tests.
#[test]
fn every_quote_about_a_tool_is_in_a_text() {
    let texts = StandardTexts::read();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("findings/tools");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let file: ToolFaults = yaml::read("findings/tools", &text).unwrap();
        for ToolFault { id, quote, .. } in &file.faults {
            let holds = |quote: &String| texts.0.values().any(|text| has_pieces(text, quote));
            assert!(quote.as_ref().is_none_or(holds), "{}/{id}: {quote:?} is in no text", file.tool);
        }
    }
}

#[test]
fn quotes_are_found_by_their_pieces_in_order() {
    let text = folded("one  two\n  three");
    assert!(has_pieces(&text, "one two") && has_pieces(&text, "one ... three") && has_pieces(&text, "two\nthree"));
    assert!(!has_pieces(&text, "three ... one") && !has_pieces(&text, "four") && !has_pieces(&text, ""));
    assert_eq!(folded("  // The name\n  // MUST be"), "The name MUST be");
    let spec = Specs::embedded().get(&"ai.onnx/LayerNormalization-17".parse().unwrap()).unwrap();
    for fact in ["T: tensor(double)", "B: optional", "X: required", "axis: default -1", "output Mean: optional"] {
        assert!(signature_says(spec, fact), "{fact}");
    }
    for fact in ["T: tensor(string)", "X: optional", "axis: default 1", "output Y: optional", "B"] {
        assert!(!signature_says(spec, fact), "{fact}");
    }
}

#[test]
fn every_sample_is_a_case_that_the_newest_failing_version_fails() {
    assert_none(|finding| {
        let sample = &finding.sample;
        if !finding.is_about(sample) {
            return Some(format!("the sample '{sample}' is none of its cases"));
        }
        let fails = |it: &Measurement| it.entry(sample).is_some_and(|entry| entry.outcome() != Outcome::Unsupported);
        let newest = measurements(finding).into_iter().find(|it| fails(it) || !finding.failures(it).is_empty());
        let Some(newest) = newest else { return Some("no measurement shows it".to_owned()) };
        (!fails(newest))
            .then(|| format!("{} {} does not fail the sample '{sample}'", newest.runtime(), newest.version()))
    });
}

/// Returns the newest measurement in which a case of a finding fails, with its failing cases by id.
fn newest_failures(finding: &Finding) -> Option<(&'static Measurement, BTreeMap<&str, Outcome>)> {
    measurements(finding).into_iter().find_map(|measurement| {
        let failures: BTreeMap<_, _> = finding.failures(measurement).into_iter().collect();
        (!failures.is_empty()).then_some((measurement, failures))
    })
}

#[test]
fn hostile_models_show_findings() {
    let [finding] = Findings::embedded().unwrap().named("onnxruntime/div-overflow")[..] else {
        panic!("no such finding")
    };
    let (_, failures) = newest_failures(finding).unwrap();
    assert_eq!(failures.get("hostile/numbers/smallest_int64_divided_by_minus_1"), Some(&Outcome::Crash));
}

#[test]
fn the_cases_of_a_finding_end_alike_or_as_it_says() {
    assert_none(|finding| {
        let (measurement, failures) = newest_failures(finding)?;
        let ends: BTreeSet<Outcome> = failures.into_values().collect();
        let says: BTreeSet<Outcome> = finding.outcomes.iter().copied().collect();
        let is_right = if ends.len() > 1 { says == ends } else { says.is_empty() };
        let ends = ends.iter().map(Outcome::to_string).collect::<Vec<_>>().join(", ");
        (!is_right).then(|| format!("its cases end otherwise on {}: `outcomes: [{ends}]`", measurement.version()))
    });
}

#[test]
fn a_failing_case_shows_one_finding() {
    let findings = Findings::embedded().unwrap();
    assert_none(|finding| {
        let (_, failures) = newest_failures(finding)?;
        let of_another = |id: &&str| {
            let others = findings.all().filter(|it| it.runtime == finding.runtime && it.id != finding.id);
            others.filter(|it| it.is_about(id)).map(|it| format!("{id} is one of {}, too", it.id)).next()
        };
        failures.keys().find_map(of_another)
    });
}

#[test]
fn cases_of_upstream_and_of_the_format_are_counted() {
    let fails = |id: &str| {
        let findings = Findings::embedded().unwrap().named(id);
        let [finding] = findings[..] else { panic!("{id}: {findings:?}") };
        newest_failures(finding).map(|(_, failures)| failures.keys().map(ToString::to_string).collect::<Vec<_>>())
    };
    let upstream = format!("onnx-{}/node/", Specs::embedded().newest_release());
    let of_upstream = fails("onnx-reference/range-of-nothing").unwrap();
    assert!(of_upstream.len() == 4 && of_upstream.iter().all(|id| id.starts_with(&upstream)), "{of_upstream:?}");
    let of_the_format = fails("onnx-reference/model-without-graph").unwrap();
    assert!(of_the_format.contains(&"ir/graph/refuse/no-graph".to_owned()), "{of_the_format:?}");
}

#[test]
fn titles_differ_and_say_something() {
    let mut titles: BTreeMap<(&str, &str), &Finding> = BTreeMap::new();
    for finding in Findings::embedded().unwrap().all() {
        assert!(finding.title.split(' ').count() > 2 && !finding.title.ends_with('.'), "{}", place(finding));
        let other = titles.insert((finding.runtime, &finding.title), finding);
        assert!(other.is_none(), "{} has the title of {}", place(finding), other.map(place).unwrap_or_default());
    }
}

/// The program prints the scope of a finding from the measurements. A sentence that repeats it is false after the next one.
#[test]
fn titles_and_sentences_about_the_runtime_claim_no_scope() {
    const SCOPES: [&str; 15] = [
        "only",
        "always",
        "never",
        "every",
        "all",
        "any",
        "each",
        "both",
        "whenever",
        "none",
        "others",
        "rest",
        "otherwise",
        "elsewhere",
        "everywhere",
    ];
    let is_release =
        |word: &str| word.split('.').count() == 3 && word.chars().all(|it| it.is_ascii_digit() || it == '.');
    assert_none(|finding| {
        let claim = |text: &str| {
            // Quoted messages are not claims of this project.
            let own: String = text.split('"').step_by(2).collect();
            let words: Vec<&str> =
                own.split(|it: char| !it.is_alphanumeric() && it != '.').map(|word| word.trim_matches('.')).collect();
            let claims = |word: &&&str| SCOPES.contains(&word.to_lowercase().as_str()) || is_release(word);
            words.iter().find(claims).map(|word| (*word).to_owned())
        };
        let (title, does) = (claim(&finding.title), claim(&finding.does));
        let (field, word) = title.map(|word| ("title", word)).or(does.map(|word| ("runtime", word)))?;
        Some(format!("`{field}` claims a scope: {word}"))
    });
}

#[test]
fn a_finding_is_about_the_operators_of_its_cases_alone() {
    let about = |operator: &str| {
        let version: OperatorVersion = operator.parse().unwrap();
        let findings = Findings::embedded().unwrap();
        findings.about(&version).map(Finding::full_id).collect::<Vec<_>>()
    };
    // Its patterns cover several operators: `ai.onnx/{Greater,Less}-...`.
    let of_comparisons = "openvino/greater-nan".to_owned();
    assert!(about("ai.onnx/Greater-13").contains(&of_comparisons), "{:?}", about("ai.onnx/Greater-13"));
    assert!(!about("ai.onnx/Softmax-13").contains(&of_comparisons));
}

#[test]
fn a_result_names_the_finding_of_a_failure() {
    let named = |id: &str, outcome| {
        let finding = Findings::embedded().unwrap().for_result("onnxruntime", &result(id, outcome));
        finding.map(Finding::full_id)
    };
    let scalar = "ai.onnx/NonZero-13/scalar/X=1/T=float";
    assert_eq!(named(scalar, Outcome::WrongShape).as_deref(), Some("onnxruntime/nonzero-scalar"));
    assert_eq!(named(&format!("{scalar}@constants"), Outcome::WrongShape), None);
    for outcome in [Outcome::Pass, Outcome::Unsupported, Outcome::NotApplicable] {
        assert_eq!(named(scalar, outcome), None);
    }
}

#[test]
fn every_required_failure_of_the_runtimes_that_ci_holds_has_a_finding() {
    // onnx.reference rewrites no graph: its failures there are those of its operators, which have findings.
    for (runtime, counts_graphs) in [("onnxruntime", true), ("onnx-reference", false)] {
        let measurement = Measurements::embedded().newest(runtime).unwrap().unwrap();
        let found = Findings::embedded().unwrap().unexplained(measurement);
        let ids = found.iter().map(|(id, _)| id.as_str());
        let ids: Vec<&str> = ids.filter(|id| counts_graphs || !id.starts_with("graph/")).collect();
        assert!(ids.is_empty(), "{runtime}: add what these show to findings/{runtime}.yaml: {ids:#?}");
    }
}

#[test]
fn a_graph_that_fails_needs_a_finding() {
    let text = "runtime: none\nversion: 1.2\nexact: true\nexpect:\n  \
                - {cases: \"graph/transposes/pair_that_cancels/in/**\", outcome: mismatch}\n  \
                - {cases: \"graph/transposes/pair_that_cancels/near/**\", outcome: unsupported}\n";
    let measurement = Measurement::read("a.yaml", text, None).unwrap().unwrap();
    let found = Findings::embedded().unwrap().unexplained(&measurement);
    assert!(found.len() > 4, "{found:?}");
    for (id, outcome) in found {
        assert!(id.starts_with("graph/transposes/pair_that_cancels/in/") && outcome == Outcome::Mismatch, "{id}");
    }
}

#[test]
fn an_error_of_a_case_between_no_ops_is_counted_apart() {
    let chosen = |id: &&String| id.starts_with("graph/wrapped/ai.onnx/Conv-11/");
    let wrapped = WrappedCases::all_ids().iter().find(chosen).unwrap().as_str();
    let plain = WrappedCases::plain_id(wrapped).unwrap();
    let between_no_ops = |entries: &[(&str, &str)]| {
        let entry = |(id, outcome): &(&str, &str)| format!("  - {{cases: \"{id}\", outcome: {outcome}}}\n");
        let entries: String = entries.iter().map(entry).collect();
        let text = format!("runtime: none\nversion: 1.2\nexact: true\nexpect:\n{entries}");
        let measurement = Measurement::read("a.yaml", &text, None).unwrap().unwrap();
        let findings = Findings::embedded().unwrap();
        let unexplained = findings.unexplained(&measurement).len();
        (unexplained, findings.errors_between_no_ops(&measurement))
    };
    assert_eq!(between_no_ops(&[(wrapped, "error")]), (0, vec![wrapped]));
    assert_eq!(between_no_ops(&[(wrapped, "mismatch")]), (1, Vec::new()));
    assert_eq!(between_no_ops(&[(wrapped, "error"), (plain, "error")]).1, Vec::<&str>::new());
}

#[test]
fn the_readme_names_findings_that_there_are() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let rows: Vec<&str> = readme.lines().filter(|line| line.starts_with("| onnxruntime |")).collect();
    assert!(!rows.is_empty());
    for row in rows {
        let id = row.rsplit('`').nth(1).unwrap();
        assert!(!Findings::embedded().unwrap().named(id).is_empty(), "{id}");
    }
}
