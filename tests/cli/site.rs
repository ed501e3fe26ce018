//! The site of a run's results next to the measurements. It is written once, for good results, truncated results, results of
//! another suite, and results of a runtime with hostile messages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use onnx_conformance::reference::spec::{OperatorVersion, Specs};
use onnx_conformance_report::site::read_data_script;
use serde_json::Value;

use crate::models::Folder;
use crate::program::{Called, call};

/// A message that would end its script element.
const HOSTILE: &str = "</script><script>alert(1)</script><!-- \u{2028}";

/// Address at which the site is published.
const BASE: &str = "https://example.org/onnx";

/// A case that shows a rule, the rule, and its location.
const OF_A_RULE: [&str; 3] = [
    "ai.onnx/Resize-19/round_prefer_floor/T1=float,T2=float",
    "C9: nearest_mode rounds halves down",
    "specs/ai.onnx/Resize/op.yaml:",
];

/// A case with an error bound of 4 ULP.
const WITH_BOUND: &str = "ai.onnx/Exp-13/known_values/T=float";

/// The site, its results, and the output of the call that wrote it.
pub(crate) struct Site {
    folder: PathBuf,
    good: PathBuf,
    pub(crate) called: Called,
}

pub(crate) static SITE: LazyLock<Site> = LazyLock::new(|| {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-site");
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).unwrap();
    let file = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let [good, other, torn, hostile] = ["good", "other", "torn", "hostile"].map(|name| file(&format!("{name}.jsonl")));
    let folder = Folder::with_identity("good");
    call(&["run", "--suite", &folder.argument(), "--results", &other]).expect(0, "1 cases");
    call(&["run", "ai.onnx/Abs-13/**", OF_A_RULE[0], WITH_BOUND, "--results", &good]).expect(0, "cases");
    call(&["run", "ai.onnx/Abs-13/**", "--results", &torn]).expect(0, "cases");
    let text = fs::read_to_string(&torn).unwrap();
    fs::write(&hostile, with_hostile_messages(&text)).unwrap();
    fs::write(&torn, text[..text.len() - 20].replacen("/extremes/", "/gone/", 1)).unwrap();
    let site = file("site");
    let files = [&good, &other, &torn, &torn, &hostile].map(String::as_str);
    let arguments = [&["report"][..], &files, &["--base-url", BASE, "-o", &site]].concat();
    let called = call(&arguments).expect(0, "index.html");
    Site { folder: home.join("site"), good: home.join("good.jsonl"), called }
});

/// Returns the results of another runtime, on which every case crashes with a hostile message.
fn with_hostile_messages(results: &str) -> String {
    let mut text = String::new();
    for line in results.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line.get("outcome").is_some() {
            line["outcome"] = "crash".into();
            line["message"] = HOSTILE.into();
        } else {
            line["runtime"]["name"] = "loud".into();
        }
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

/// Returns the data of a page from its script.
fn data(name: &str) -> Value {
    let text = fs::read_to_string(SITE.folder.join("data").join(format!("{name}.js"))).unwrap();
    read_data_script(&text).unwrap()
}

fn columns() -> Vec<Value> {
    data("front")["columns"].as_array().unwrap().clone()
}

#[test]
fn a_site_shows_results_beside_what_is_measured() {
    let columns = columns();
    let own = columns.iter().position(|column| column["file"].as_str().is_some()).unwrap();
    assert_eq!(columns[own]["runtime"], "builtin");
    assert!(columns.iter().any(|column| column["runtime"] == "onnxruntime"));
    let front = data("front");
    let abs = front["operators"].as_array().unwrap().iter().find(|operator| operator["n"] == "Abs").unwrap().clone();
    let newest = abs["v"].as_array().unwrap().last().unwrap().clone();
    let row = front["rows"][usize::try_from(newest["all"][0].as_u64().unwrap()).unwrap()].as_str().unwrap();
    assert!(row.split(' ').nth(own).unwrap().starts_with('r'), "{row}");
}

#[test]
fn an_operator_names_the_case_of_its_newest_silent_change() {
    assert_eq!(data("op/ai.onnx/Softmax")["silent"], serde_json::json!(["rest_from_1", 11, 13]));
    assert!(data("op/ai.onnx/Softmax")["samples"]["rest_from_1"]["feed"].is_string());
    assert!(data("op/ai.onnx/Abs")["silent"].is_null());
}

#[test]
fn a_site_counts_cases_by_the_share_of_their_bound() {
    let text = fs::read_to_string(&SITE.good).unwrap();
    assert!(text.contains("\"bound\":{\"type\":\"float\",\"ulps\":4,\"share\":\""), "{text}");
    let shares = data("op/ai.onnx/Exp")["shares"].clone();
    let key = concat!("builtin-", env!("CARGO_PKG_VERSION"));
    let rows = shares["13"][key].as_array().unwrap();
    assert_eq!((rows.len(), rows[0][0].as_str(), rows[0][1].as_u64()), (1, Some("float"), Some(4)), "{shares}");
    let counts: Vec<u64> = rows[0][2].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
    assert_eq!((counts.len(), counts[..6].iter().sum::<u64>(), &counts[6..]), (8, 1, &[0, 0][..]));
    assert!(shares["6"][key].as_array().unwrap().is_empty(), "{shares}");
    assert!(data("op/ai.onnx/Abs")["shares"]["13"][key].as_array().unwrap().is_empty());
    let plain = fs::read_to_string(SITE.folder.join("op/ai.onnx/Exp.html")).unwrap();
    assert!(
        plain.contains("<td>float</td><td>4 ULP</td>") && plain.contains("do not have the numbers of cases by error")
    );
    assert!(!fs::read_to_string(SITE.folder.join("op/ai.onnx/Abs.html")).unwrap().contains("Measured accuracy"));
}

#[test]
fn results_that_do_not_fit_are_warned_of_and_not_mixed_in() {
    for part in
        ["another suite", "last line is incomplete", "1 of", "not in the suite: ai.onnx/Abs-13/gone/", "more than once"]
    {
        assert!(SITE.called.err.contains(part), "no {part} in {}", SITE.called.err);
    }
    assert_eq!(data("front")["elsewhere"].as_array().unwrap().len(), 1);
    let version = env!("CARGO_PKG_VERSION");
    for key in ["", "~2", "~3"].map(|number| format!("builtin-{version}{number}")) {
        assert_eq!(columns().iter().filter(|column| column["key"] == key).count(), 1, "{key}");
    }
}

#[test]
fn a_site_without_the_program_for_browsers_has_a_note() {
    assert_eq!(data("front")["module"], 0);
    let note = "the pages cannot compute in a browser, since this installation has no onnx_conformance_browser.wasm";
    assert!(SITE.called.err.contains(note), "{}", SITE.called.err);
}

#[test]
fn a_program_for_browsers_that_cannot_be_used_is_refused() {
    let folder = Folder::new();
    let (none, text, report) = (folder.file("none.wasm"), folder.write("text.wasm", "text"), folder.file("report"));
    for (file, said) in
        [(&none, "none.wasm: "), (&text, "text.wasm: is not WebAssembly; name the onnx_conformance_browser")]
    {
        call(&["report", "--module", file, "-o", &report]).expect(4, said);
    }
    assert!(!Path::new(&report).exists());
}

#[test]
fn results_that_cannot_be_used_are_refused() {
    let folder = Folder::new();
    let report = folder.file("report");
    call(&["report", &folder.file("none"), "-o", &report]).expect(4, "none");
    let text = fs::read_to_string(&SITE.good).unwrap();
    let named = text.replacen("\"builtin\"", "\"a-<script>alert(1)</script>\"", 1);
    call(&["report", &folder.write("named.jsonl", named), "-o", &report]).expect(4, "named.jsonl");
    assert!(!folder.path().join("report").exists());
}

#[test]
fn no_message_ends_the_script_that_holds_it() {
    let abs = fs::read_to_string(SITE.folder.join("data/op/ai.onnx/Abs.js")).unwrap();
    assert!(!abs.contains("<script") && !abs.contains("</script") && !abs.contains('\u{2028}'));
    let details = data("op/ai.onnx/Abs")["details"].clone();
    let messages = details.as_object().unwrap().values().flat_map(|by_case| by_case.as_object().unwrap().values());
    assert!(messages.filter(|detail| detail["m"] == HOSTILE).count() > 5, "{details}");
}

#[test]
fn the_site_asks_nothing_of_the_network_and_no_file_is_large() {
    let mut sum = 0;
    for entry in walkdir::WalkDir::new(&SITE.folder) {
        let entry = entry.unwrap();
        if !entry.file_type().is_file() {
            continue;
        }
        let name = entry.path().display().to_string();
        let size = entry.metadata().unwrap().len();
        assert!(size < 2_000_000, "{name}");
        sum += size;
        // The picture is no text. The page for unknown addresses may be at any path, so its links are absolute.
        if name.ends_with("picture.png") || name.ends_with("404.html") {
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap();
        for loads in [
            "src=\"http",
            "<link rel=\"stylesheet\" href=\"http",
            "@import",
            "url(http",
            "fetch(",
            "XMLHttpRequest",
            "innerHTML",
        ] {
            assert!(!text.contains(loads), "{loads} in {name}");
        }
    }
    // The program of the browser, which this site does not have, has less than 6 MB.
    assert!(sum < 54_000_000, "{sum} bytes in all");
}

/// Returns the texts of the pages that read without JavaScript, by path in the site.
fn plain_pages() -> BTreeMap<String, String> {
    let path = |entry: walkdir::Result<walkdir::DirEntry>| entry.unwrap().into_path();
    let files = walkdir::WalkDir::new(&SITE.folder).into_iter().map(path);
    let pages = files.filter(|path| path.extension().is_some_and(|it| it == "html"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(&SITE.folder).unwrap().to_str().unwrap().replace('\\', "/"), text)
    };
    pages.map(read).collect()
}

/// Returns the addresses in the links of a page.
fn links(text: &str) -> Vec<&str> {
    text.split(" href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Returns the path in the site that a link from a page leads to, and its fragment; `None` for the icon.
fn target(page: &str, link: &str) -> Option<(String, String)> {
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    if path.starts_with("data:") {
        return None;
    }
    if let Some(rest) = path.strip_prefix(BASE) {
        let path = rest.trim_start_matches('/');
        return Some((if path.is_empty() { "index.html" } else { path }.to_owned(), fragment.to_owned()));
    }
    assert!(!path.contains("://"), "{page}: {link}");
    if path.is_empty() {
        return Some((page.to_owned(), fragment.to_owned()));
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        if part == ".." {
            assert!(parts.pop().is_some(), "{page}: {link} leads out of the site");
        } else {
            parts.push(part);
        }
    }
    Some((parts.join("/"), fragment.to_owned()))
}

#[test]
fn every_link_of_a_plain_page_leads_to_a_file() {
    let pages = plain_pages();
    let mut faults = Vec::new();
    for (page, text) in &pages {
        for link in links(text) {
            let Some((path, fragment)) = target(page, link) else { continue };
            let has_id = |text: &String| text.contains(&format!(" id=\"{fragment}\""));
            // Addresses of the other part of the site are fragments, too.
            let is_known = fragment.is_empty() || fragment.starts_with('/') || pages.get(&path).is_some_and(has_id);
            if !SITE.folder.join(&path).is_file() || !is_known {
                faults.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} links lead nowhere: {:?}", faults.len(), &faults[..faults.len().min(20)]);
}

#[test]
fn everything_has_a_plain_page_with_title_description_and_picture() {
    let pages = plain_pages();
    let mut paths: Vec<String> =
        ["op", "runtime", "finding", "rule", "release"].map(|folder| format!("{folder}/index.html")).to_vec();
    for version in Specs::embedded().all() {
        paths.push(format!("op/{}/{}.html", version.domain, version.name));
    }
    paths.extend(columns().iter().map(|column| format!("runtime/{}.html", column["key"].as_str().unwrap())));
    for row in data("findings").as_array().unwrap() {
        paths.push(format!("finding/{}/{}.html", row["runtime"].as_str().unwrap(), row["id"].as_str().unwrap()));
    }
    paths.extend(
        data("rules").as_array().unwrap().iter().map(|rule| format!("rule/{}.html", rule["id"].as_str().unwrap())),
    );
    paths.extend(
        data("releases").as_array().unwrap().iter().map(|onnx| format!("release/{}.html", onnx.as_str().unwrap())),
    );
    let (mut titles, map) = (BTreeSet::new(), fs::read_to_string(SITE.folder.join("sitemap.xml")).unwrap());
    for path in &paths.into_iter().collect::<BTreeSet<_>>() {
        let text = pages.get(path).unwrap_or_else(|| panic!("no {path}"));
        assert_eq!(text.matches("<h1>").count(), 1, "{path}");
        for part in
            ["<meta name=\"description\" content=\"", "property=\"og:title\"", "/picture.png\">", "rel=\"canonical\""]
        {
            assert!(text.contains(part), "no {part} in {path}");
        }
        assert!(!text.contains("<script"), "{path}");
        assert!(map.contains(&format!("<loc>{BASE}/{path}</loc>")), "{path}");
        titles.insert(text.split("<title>").nth(1).unwrap().split("</title>").next().unwrap());
    }
    assert!(titles.len() > 500, "{} titles", titles.len());
    assert!(SITE.folder.join("picture.png").is_file());
}

#[test]
fn a_base_url_that_is_no_address_is_refused() {
    let folder = Folder::new();
    call(&["report", "--base-url", "example.org", "-o", &folder.file("report")])
        .expect(64, "is not an address such as");
    assert!(!folder.path().join("report").exists());
}

#[test]
fn every_operator_has_its_page() {
    let front = data("front");
    let operators = front["operators"].as_array().unwrap();
    let versions: Vec<OperatorVersion> = Specs::embedded().all().collect();
    let names: BTreeSet<_> = versions.iter().map(|version| (&version.domain, &version.name)).collect();
    assert_eq!(operators.len(), names.len());
    let on_pages: usize = operators.iter().map(|operator| operator["v"].as_array().unwrap().len()).sum();
    assert_eq!(on_pages, versions.len());
    for operator in operators {
        let domain = &front["domains"][usize::try_from(operator["d"].as_u64().unwrap()).unwrap()]["name"];
        let name = format!("data/op/{}/{}.js", domain.as_str().unwrap(), operator["n"].as_str().unwrap());
        assert!(SITE.folder.join(&name).is_file(), "{name}");
    }
}

/// Returns the number of operators of ai.onnx at opset 21 that are right in float in a column, and that of measured ones.
fn right_in_float(column: &str) -> [usize; 2] {
    let front = data("front");
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let at = front["columns"].as_array().unwrap().iter().position(|known| known["key"] == column).unwrap();
    let domain = front["domains"].as_array().unwrap().iter().position(|domain| domain["name"] == "ai.onnx").unwrap();
    let (mut right, mut measured) = (0, 0);
    for operator in front["operators"].as_array().unwrap().iter().filter(|operator| number(&operator["d"]) == domain) {
        let versions = operator["v"].as_array().unwrap();
        let Some(version) = versions.iter().rev().find(|version| number(&version["since"]) <= 21) else { continue };
        if version["deprecated"] == true {
            continue;
        }
        let earlier = version["before"].as_array().into_iter().flatten().find(|rows| 21 <= number(&rows["until"]));
        let row = number(&earlier.unwrap_or(version)["float"][0]);
        let cell = front["rows"][row].as_str().unwrap().split(' ').nth(at).unwrap();
        right += usize::from(cell.starts_with('r'));
        measured += usize::from(!cell.starts_with(['?', 'n', 'o']));
    }
    [right, measured]
}

#[test]
fn the_front_page_counts_right_operators_as_measured_does() {
    let measured: Value =
        serde_json::from_str(&call(&["measured", "--format", "json"]).expect(0, "onnxruntime").out).unwrap();
    let overview = measured.as_array().unwrap().iter().rfind(|it| it["runtime"] == "onnxruntime").unwrap();
    let column = format!("onnxruntime-{}", overview["version"].as_str().unwrap());
    let counted = ["right", "operators"].map(|name| usize::try_from(overview[name].as_u64().unwrap()).unwrap());
    assert_eq!(right_in_float(&column), counted);
}

#[test]
fn every_finding_has_its_page() {
    let rows = data("findings");
    let rows = rows.as_array().unwrap();
    assert_eq!(data("front")["findings"].as_u64(), u64::try_from(rows.len()).ok());
    let name = |row: &Value| format!("finding/{}/{}", row["runtime"].as_str().unwrap(), row["id"].as_str().unwrap());
    for row in rows {
        let page = data(&name(row));
        assert_eq!(page["title"], row["title"], "{}", name(row));
        let is_open = page["proof"].as_str().unwrap().contains("the text leaves it open");
        assert_eq!(page["issue"].is_null(), is_open, "{page}");
    }
    let strings = rows.iter().find(|row| row["id"] == "gather-strings").unwrap();
    assert_eq!(strings["about"][0], "ai.onnx/Gather");
    let issue = data("finding/onnxruntime/gather-strings")["issue"].clone();
    let printed = call(&["finding", "--issue", "onnxruntime/gather-strings"]).expect(0, "# Gather of strings");
    assert_eq!(printed.out.trim_end(), issue.as_str().unwrap().trim_end());
}

#[test]
fn the_search_has_attributes_values_and_rules() {
    let front = data("front");
    let at = front["operators"].as_array().unwrap().iter().position(|operator| operator["n"] == "Resize").unwrap();
    let words = data("search")[at].clone();
    assert!(words["attributes"]["mode"].as_array().unwrap().contains(&"cubic".into()), "{words}");
    assert!(words["rules"].as_array().unwrap().iter().any(|rule| rule[0] == "C9"), "{words}");
    assert!(data("rules").as_array().unwrap().iter().any(|rule| rule["id"] == "node/type" && rule["level"] == "error"));
}

#[test]
fn every_pattern_of_graphs_has_its_file() {
    let graphs = data("graphs");
    let topics = graphs["topics"].as_array().unwrap();
    let mut cases = 0;
    for topic in topics {
        for pattern in topic["patterns"].as_array().unwrap() {
            let name = format!("graph/{}/{}", topic["n"].as_str().unwrap(), pattern["n"].as_str().unwrap());
            let forms = data(&name)["forms"].as_array().unwrap().clone();
            assert_eq!(forms[0]["n"], "good", "{name}");
            let of_forms: usize = forms.iter().map(|form| form["cases"].as_array().unwrap().len()).sum();
            assert_eq!(Some(u64::try_from(of_forms).unwrap()), pattern["cases"].as_u64(), "{name}");
            cases += of_forms;
        }
    }
    // Cases between no-ops belong to no pattern.
    let listed = call(&["list", "graph/**", "!graph/wrapped/**"]).expect(0, "graph/");
    assert_eq!(cases, listed.out.lines().filter(|line| line.starts_with("graph/")).count());
    let columns = columns();
    let measured = graphs["measured"].as_array().unwrap();
    let runtimes: BTreeSet<&str> = measured
        .iter()
        .map(|at| columns[usize::try_from(at.as_u64().unwrap()).unwrap()]["runtime"].as_str().unwrap())
        .collect();
    assert!(runtimes.contains("onnxruntime") && runtimes.contains("onnx-reference"), "{runtimes:?}");
}

#[test]
fn a_case_of_a_rule_says_it_everywhere() {
    let [id, says, place] = OF_A_RULE;
    let shown = call(&["show", id]).expect(0, &format!("shows {says}"));
    assert!(shown.out.contains(place), "{shown:?}");
    let text = fs::read_to_string(&SITE.good).unwrap();
    assert!(text.contains("\"rule\":{\"id\":\"C9\",\"says\":\"nearest_mode") && text.contains(place), "{text}");
    let rules = data("op/ai.onnx/Resize")["rules"].clone();
    let is_said = |rule: &Value| format!("{}: {}", rule["id"], rule["says"]).replace('"', "").starts_with(says);
    assert!(rules.as_array().unwrap().iter().any(is_said), "{rules}");
}
