//! Reading of expectation files: entries, headers, and their errors.

use super::*;

#[test]
fn plain_lines_are_read_as_yaml() {
    let lines = [
        "- {cases: ai.onnx/Abs-13/a/T=int8, outcome: error}",
        "- {cases: \"ai.onnx/Abs-13/**/T=int8\", outcome: mismatch, ulp: 2}",
        "- {cases: \"ai.onnx/Abs-13/x/A=1,B=2\", outcome: wrong-shape}",
        "- {cases: ai.onnx/Abs-13/b@opset=last, outcome: out-of-memory}",
    ];
    assert!(lines.iter().all(|line| Entry::from_plain_line(line).is_some()));
    let text = lines.join("\n") + "\n";
    let whole = Expectations::parse("", &format!("runtime: any\nexpect:\n{text}")).unwrap();
    assert_eq!(Expectations::parse_lines(&text).unwrap().expect, whole.expect);
    for line in [
        "- {cases: ai.onnx/Abs-13/a, outcome: error, varies: true}",
        "- {cases: \"a\\u002fb\", outcome: error}",
        "- {cases: 'a/b', outcome: error}",
        "- {cases: a/b, outcome: none}",
        "- {cases: a/b, outcome: mismatch, ulp: many}",
        "- {cases: a: b/c, outcome: error}",
    ] {
        assert_eq!(Entry::from_plain_line(line), None, "{line}");
    }
    let varying = Expectations::parse_lines("- {cases: a/b, outcome: error, varies: true}\n").unwrap();
    assert!(varying.expect[0].varies);
    assert!(Expectations::parse_lines("- {cases: a/b, outcome: pass}\n").is_err());
    assert!(Expectations::parse_lines("").unwrap().expect.is_empty());
}

#[test]
fn an_entry_reads_back() {
    let when = "{platform: linux, version: \">=1.20, <2\"}";
    let versioned = "runtime: a\nversion: 1.2.3\nstrict: true\nexpect: []\n";
    let text = Expectations::parse("a.yaml", versioned).unwrap().to_yaml();
    assert_eq!(Expectations::parse("a.yaml", &text).unwrap().version.as_deref(), Some("1.2.3"));
    let head = text.lines().next().unwrap();
    assert!(
        head.starts_with("# ") && !head.contains("docs/"),
        "the file of a package names a file of the checkout: {head}"
    );
    for (runtime, version) in [("a b\nc: d", "1"), ("..", "1"), ("a", "../b")] {
        let file = Expectations { version: Some(version.to_owned()), ..Expectations::empty(runtime) };
        let error = Expectations::parse("a.yaml", &file.to_yaml()).unwrap_err().to_string();
        assert!(error.contains("cannot be part of a file name: begin it with a letter or a digit"), "{error}");
    }
    for entry in [
        format!("{{cases: \"ai.onnx/Sum-*/**\", outcome: wrong-shape, spans_operators: true, when: {when}}}"),
        "{unsupported: \"tensor(bfloat16)*\", reason: \"it's \\\"so\\\": yes\", url: \"https://x.y\"}".to_owned(),
        "{unsupported: operator ai.onnx/Abs}".to_owned(),
        "{cases: ai.onnx/Sqrt-13/signed_zeros/T=float, outcome: mismatch, ulp: 1}".to_owned(),
    ] {
        let text = format!("runtime: a\nexpect:\n  - {entry}\n");
        let file = Expectations::parse("a.yaml", &text).unwrap();
        assert_eq!(file.expect[0].to_yaml(), entry);
        assert_eq!(Expectations::parse("a.yaml", &file.to_yaml()).unwrap().expect, file.expect);
    }
}

#[test]
fn a_scope_is_read_and_written() {
    let read = |head: &str| Expectations::parse("a.yaml", &format!("runtime: a\n{head}"));
    let file = read("exact: true\nscope: [ai.onnx/Abs-13, '!**/T=string']\n").unwrap();
    assert!(file.to_yaml().contains("exact: true\nscope: [ai.onnx/Abs-13, \"!**/T=string\"]\n"), "{}", file.to_yaml());
    assert_eq!(Expectations::parse("a.yaml", &file.to_yaml()).unwrap().scope, file.scope);
    for (head, rule) in [
        ("exact: true\nscope: ['a[b']\n", "is not a pattern"),
        ("exact: true\nscope: ['a/**@constants']\n", "write 'a/**'"),
    ] {
        let error = read(head).unwrap_err().to_string();
        assert!(error.contains(rule), "{head}: {error}");
    }
}

#[test]
fn rewritten_patterns_are_written_and_replaced() {
    let names = |topic: &str, patterns: &[&str]| {
        (topic.to_owned(), patterns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    };
    let long: Vec<String> = (0..20).map(|number| format!("pattern_number_{number}")).collect();
    let first = PatternNames::from([names("casts", &["pair"]), ("clips".to_owned(), long)]);
    let file = "# about a\nruntime: a\nexact: true\naccepts: {ir: [3, 9], opsets: {ai.onnx: [1, 20]}}\nexpect:\n  - {cases: x, outcome: error}\n";
    let text = with_rewrites(file, &first);
    assert!(text.contains("}}\nrewrites:\n  casts: [pair]\n  clips: [pattern_number_0, "), "{text}");
    assert!(text.lines().all(|line| line.len() <= MAX_WIDTH), "{text}");
    let read = Expectations::parse("a.yaml", &text).unwrap();
    assert_eq!((read.rewrites.as_ref(), read.expect.len()), (Some(&first), 1));
    assert_eq!(Expectations::parse("a.yaml", &read.to_yaml()).unwrap().rewrites.as_ref(), Some(&first));
    let none = with_rewrites(&text, &PatternNames::new());
    assert_eq!(none, file.replace("expect:", "rewrites: {}\nexpect:"));
    assert_eq!(with_rewrites(&none, &first), text);
    assert_eq!(Expectations::parse("a.yaml", &none).unwrap().rewrites, Some(PatternNames::new()));
    assert_eq!(Expectations::parse("a.yaml", file).unwrap().rewrites, None, "an older measurement");
}

#[test]
fn accepted_versions_are_written_and_replaced() {
    let file = "# about a\nruntime: a\nexact: true\nexpect:\n  - {cases: x, outcome: error}\n";
    let accepted = |newest| Accepted {
        ir: Opsets::Between(3, 9),
        opsets: [("ai.onnx".to_owned(), Opsets::Between(1, newest))].into_iter().collect(),
    };
    let first = with_accepted(file, &accepted(20));
    let line = "accepts: {ir: [3, 9], opsets: {ai.onnx: [1, 20]}}\n";
    assert_eq!(first, file.replace("expect:", &format!("{line}expect:")));
    assert_eq!(Expectations::parse("a.yaml", &first).unwrap().accepts, Some(accepted(20)));
    let second = with_accepted(&first, &accepted(21));
    assert_eq!(second, first.replace("[1, 20]", "[1, 21]"));
    let read = Expectations::parse("a.yaml", &second).unwrap();
    assert_eq!(Expectations::parse("a.yaml", &read.to_yaml()).unwrap().accepts, Some(accepted(21)));
}

#[test]
fn a_measurement_names_its_processor() {
    let provenance = |features: &str| Provenance {
        version: "1".to_owned(),
        date: None,
        platform: "linux-x86_64".to_owned(),
        cpu: Some(serde_json::from_str(features).unwrap()),
        suite: "abc".to_owned(),
    };
    let first = with_provenance("runtime: a\nexact: true\nexpect: []\n", &provenance(r#"["fma", "avx2"]"#));
    assert!(first.contains("platform: linux-x86_64\ncpu: [avx2, fma]\nsuite: abc\n"), "{first}");
    let read = Expectations::parse("a.yaml", &first).unwrap();
    assert_eq!(Expectations::parse("a.yaml", &read.to_yaml()).unwrap().cpu, provenance(r#"["avx2", "fma"]"#).cpu);
    let second = with_provenance(&first, &provenance("[]"));
    assert_eq!(second, first.replace("[avx2, fma]", "[]"));
    let error = Expectations::parse("a.yaml", &first.replace("fma", "fmx")).unwrap_err().to_string();
    assert!(error.contains("no processor feature 'fmx'"), "{error}");
}

#[test]
fn an_entry_is_found_by_its_line() {
    let text = "# about a\nruntime: a\nexpect:\n  # first\n  - {cases: x, outcome: error}\n  - cases: y\n    \
                outcome: error\n  - {unsupported: z}\n";
    let file = Expectations::parse("a.yaml", text).unwrap();
    assert_eq!(file.place(0), "a.yaml:5: cases: x");
    assert_eq!(file.place(2), "a.yaml:8: unsupported: z");
}

#[test]
fn a_contradictory_entry_is_refused() {
    for (entry, rule) in [
        ("{}", "selects no cases"),
        ("{cases: a, unsupported: b}", "has both `cases` and `unsupported`"),
        ("{cases: a}", "no outcome"),
        ("{cases: a, outcome: pass}", "expects a pass"),
        ("{cases: a, outcome: not-declared}", "not a failure"),
        ("{unsupported: a, outcome: error}", "omit the outcome"),
        ("{cases: 'a[b', outcome: error}", "is not a pattern"),
        ("{cases: a, outcome: error, ulp: 1}", "another outcome; omit `ulp`"),
        ("{unsupported: a, ulp: 1}", "another outcome; omit `ulp`"),
        ("{cases: a, outcome: mismatch, ulp: 0}", "write at least 1"),
        ("{cases: a, outcome: mismatch, ulp: -1}", "expect[0].ulp"),
        ("{cases: a, outcome: error, when: {version: '1.2'}}", "is not a version condition"),
        ("{cases: a, outcome: error, when: {os: linux}}", "unknown"),
        ("{cases: a, outcome: error, when: {}}", "empty `when`"),
        ("{cases: a, outcome: error, when: {cpu: []}}", "`cpu` names no feature"),
        ("{cases: a, outcome: error, when: {cpu: [avx9]}}", "no processor feature 'avx9' (known features: avx2,"),
        (
            "{cases: a, outcome: error, when: {cpu: {without: [vnni]}}}",
            "no processor feature 'vnni' (known features: avx2,",
        ),
    ] {
        let error = Expectations::parse("a.yaml", &format!("runtime: a\nexpect:\n  - {entry}\n")).unwrap_err();
        assert!(error.to_string().contains(rule), "{entry}: {error}");
    }
}
