//! Listing, showing, comparing, help and error messages.

use std::fs;

use crate::models::Folder;
use crate::program::{call, command, finish};
use crate::snapshot::check;
use onnx_conformance_harness::promises::FrozenList;
use onnx_conformance_reference::spec::Specs;

#[test]
fn a_filter_that_matches_nothing_selects_nothing() {
    for command in ["run", "list", "coverage"] {
        call(&[command, "ai.onnx/Nonsense-1/**"]).expect(3, "no case matches");
    }
}

#[test]
fn a_wrong_command_line_is_bad_usage() {
    for arguments in [
        &["nonsense"][..],
        &["run", "--nonsense"],
        &["run", "--timeout", "soon"],
        &["show"],
        &["diff"],
        &["diff", "Sum", "8"],
        &["diff", "Sum"],
        &["run", "--suite", "a", "--specs", "b"],
        &["list", "--release", "99.0.0"],
        &["list", "--release", "1", "--suite", "a"],
        &["run", "--update-expectations", "ai.onnx/**"],
        &["list", "a[b"],
    ] {
        call(arguments).expect(64, "error: ");
    }
    call::<&str>(&[]).expect(64, "Usage: onnx-conformance");
    call(&["--help"]).expect(0, "Usage: onnx-conformance");
    call(&["--version"]).expect(0, env!("CARGO_PKG_VERSION"));
}

/// Returns the subcommands listed by `--help`.
fn subcommands() -> Vec<String> {
    let all = call(&["--help"]).expect(0, "Commands:\n").out;
    let (_, list) = all.split_once("Commands:\n").unwrap();
    let names = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    // Indented lines continue the line above.
    let names = names.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_subcommand_says_what_it_is_for() {
    let help = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env_remove("COLUMNS");
        finish(command).expect(0, "Usage: onnx-conformance").out.replace("onnx-conformance.exe", "onnx-conformance")
    };
    check("help", &help(&["--help"]));
    let names = subcommands();
    assert_eq!(names, COMMANDS);
    let old = OLD_NAMES.map(|(name, ..)| name.to_owned());
    for name in names.into_iter().chain(old) {
        check(&format!("help-{name}"), &help(&[&name, "--help"]));
    }
    for kind in ["cases", "findings", "measured", "outcomes", "rules"] {
        check(&format!("help-list-{kind}"), &help(&["list", kind, "--help"]));
    }
}

/// The commands.
const COMMANDS: [&str; 14] = [
    "check",
    "compare",
    "completions",
    "convert",
    "coverage",
    "diff",
    "export",
    "list",
    "merge",
    "report",
    "run",
    "show",
    "submit-check",
    "trace",
];

/// Names of commands of an earlier version, with the arguments of a call and the name that the note gives.
const OLD_NAMES: [(&str, &str, &str); 5] = [
    ("explain", "mismatch", "`explain` is now `show`"),
    ("finding", "gather-strings", "`finding` is now `show`"),
    ("measured", "onnxruntime", "`measured` is now `list measured`"),
    ("op", "Selu@6", "`op` is now `show`"),
    ("spec", "Selu@6", "`spec` is now `show --definition`"),
];

#[test]
fn old_names_of_commands_work_with_a_note() {
    for (name, argument, note) in OLD_NAMES {
        let called = call(&[name, argument]).expect(0, "");
        assert_eq!(called.err.lines().next(), Some(&*format!("{note}; the old name goes with the next version")));
        let new: Vec<&str> = note.split('`').nth(3).unwrap().split(' ').chain([argument]).collect();
        let now = call(&new).expect(0, "");
        assert!(now.out.starts_with(called.out.trim_end()) && now.err.is_empty(), "{new:?}: {now:?}");
    }
    call(&["explain"]).expect(0, "`explain` is now `list rules`");
    call(&["finding"]).expect(0, "`finding` is now `list findings`");
    let json = call(&["measured", "openvino", "--format", "json"]).expect(0, "openvino");
    assert_eq!(json.err, "");
}

#[test]
fn old_names_of_parts_of_commands_work_with_a_note() {
    let folder = Folder::new();
    let (file, pages, frozen) = (folder.file("f.yaml"), folder.file("pages"), FrozenList::versions().next().unwrap());
    let scope = "ai.onnx/Abs-13/known_values/**";
    let calls: [(&str, &[&str], &str, &str); 5] = [
        ("smoke", &["--runtime", "builtin"], "run --smoke", " ok, "),
        ("init", &["--scope", scope, "-o", &file], "run --init", "0 entries"),
        ("changes", &[frozen, frozen], "diff suite@FROM suite@TO", "no case differs"),
        ("man", &["-o", &pages], "completions --man DIR", "wrote the manual pages"),
        ("man", &[], "completions --man DIR", ".TH onnx-conformance 1"),
    ];
    for (name, arguments, new, text) in calls {
        let called = call(&[&[name], arguments].concat()).expect(0, text);
        let note = format!("`{name}` is now `{new}`; the old name goes with the next version");
        assert_eq!(called.err.lines().next(), Some(&*note), "{name}");
    }
    assert!(fs::read_to_string(&file).unwrap().contains(&format!("scope: [\"{scope}\"]")));
    assert!(folder.path().join("pages/onnx-conformance-run.1").exists());
    let json = call(&["changes", frozen, frozen, "--format", "json"]).expect(0, "\"format\": 1");
    assert_eq!(json.err, "");
    let help = call(&["init", "--help"]).expect(0, "Usage: onnx-conformance run");
    assert!(help.out.contains("--from-denylist"), "{help:?}");
}

#[test]
fn options_of_another_kind_of_run_are_refused_with_the_way_out() {
    let refused: [(&[&str], &str); 8] = [
        (
            &["--smoke", "Abs"],
            "a filter has no effect with --smoke, which runs its own small models; omit the filters, or --smoke",
        ),
        (&["--smoke", "--init"], "check the adapter first, then write the file in a second call"),
        (&["--smoke", "--show", "3"], "omit --show, or --smoke"),
        (&["--init", "--shard", "1/2"], "merge the files, then give the result to --init --from-results"),
        (&["--init", "--update-expectations"], "to update a file that exists, omit --init"),
        (&["--init", "--release", "1.7"], "select the tests of a release with a filter"),
        (&["--init", "--from-results", "r", "--results", "s"], "omit --results, or --from-results"),
        (&["--init", "ai.onnx/Abs-13/**@constants"], "an expectation file is about cases, not their variants"),
    ];
    for (arguments, text) in refused {
        let called = call(&[&["run"], arguments].concat()).expect(64, text);
        assert_eq!(called.err.lines().count(), 1, "{called:?}");
    }
    for option in ["--exact", "--runs=2", "--from-results=r", "--from-denylist=names:n"] {
        call(&["run", option]).expect(64, "--init");
    }
}

#[test]
fn the_options_of_long_commands_have_headings() {
    for (name, headings) in [
        ("check", &["Target", "Runtime", "Written models", "Output", "Limits"][..]),
        ("convert", &["Target", "Edits", "Half precision", "Proof", "Output", "Limits"]),
        ("coverage", &["Cases", "Question", "Output"]),
    ] {
        let help = call(&[name, "--help"]).expect(0, "\nOptions:\n").out;
        for heading in headings {
            assert_eq!(help.matches(&format!("\n{heading}:\n")).count(), 1, "{heading} in\n{help}");
        }
        // Only the options of every command have no heading: --color and --help.
        let (_, rest) = help.split_once("\nOptions:\n").unwrap();
        let (plain, _) = rest.split_once(&format!("\n{}:\n", headings[0])).unwrap();
        let options: Vec<&str> = plain.lines().filter(|line| line.trim_start().starts_with('-')).collect();
        assert_eq!(options.len(), 2, "{options:?}");
    }
}

#[test]
fn the_options_of_a_run_are_grouped() {
    let help = call(&["run", "--help"]).expect(0, "").out;
    let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("no '{text}' in\n{help}"));
    let headings = [
        "\nArguments:\n",
        "\nOptions:\n",
        "\nCases:\n",
        "\nRuntime:\n",
        "\nVerdict:\n",
        "\nOutput:\n",
        "\nFirst run:\n",
    ]
    .map(place);
    assert!(headings.is_sorted(), "{headings:?}");
    let [.., cases, runtime, verdict, output, first] = headings;
    for (option, from, to) in [
        ("--release <", cases, runtime),
        ("--shard <", cases, runtime),
        ("--resume <", cases, runtime),
        ("--jobs <", runtime, verdict),
        ("--rewrites\n", runtime, verdict),
        ("--strict\n", verdict, output),
        ("--text <", verdict, output),
        ("--results <", output, first),
        ("--by <", output, first),
        ("--smoke\n", first, help.len()),
        ("--from-denylist <", first, help.len()),
    ] {
        assert!((from..to).contains(&place(option)), "{option}");
    }
    // Without a heading are the options of every command, --color and --help.
    let ungrouped = &help[headings[1]..cases];
    assert_eq!(ungrouped.matches("--").count(), 2, "{ungrouped}");
}

#[test]
fn the_first_word_says_what_is_listed() {
    let sum = "ai.onnx/Sum-13";
    assert_eq!(call(&["list", "cases", sum]).expect(0, sum).out, call(&["list", sum]).expect(0, sum).out);
    assert_eq!(call(&["list", "cases", "findings"]).code, 64);
    let misplaced = "'findings' is what to list, not a filter; write it first: `list findings ...`";
    call(&["list", "--format", "json", "findings"]).expect(64, misplaced);
    call(&["list", "nonsense"]).expect(3, "no case matches");
    call(&["list", "outcomes"]).expect(0, "\nmismatch ");
    assert_eq!(call(&["list", "rules", "node/type"]).expect(0, "node/type ").out.lines().count(), 1);
    let of_nodes = call(&["list", "rules", "node", "Sum"]).expect(0, "\nnode/type ").out;
    assert!(of_nodes.starts_with("Sum/formula ") && !of_nodes.contains("\ngraph/"), "{of_nodes}");
    let rules = call(&["list", "rules", "Sum", "ai.onnx.ml/Scaler"]).expect(0, "Sum/C2 ").out;
    assert!(rules.starts_with("Sum/formula ") && rules.contains("\nai.onnx.ml/Scaler/formula "), "{rules}");
    for line in rules.lines() {
        call(&["show", line.split(' ').next().unwrap()]).expect(0, "");
    }
    let check = call(&["list", "rules", "check"]).expect(0, "\nnode/type ").out;
    assert!(!check.contains("Sum/"), "{check}");
    call(&["list", "rules", "Sun"]).expect(64, "there is no operator 'Sun'; did you mean ");
}

#[test]
fn ids_are_sorted_and_stable() {
    let node = format!("onnx-{}/node", Specs::embedded().newest_release());
    let called = call(&["list", &format!("{node}/test_su[bm]*")]).expect(0, &format!("{node}/test_sum_example\n"));
    let ids: Vec<&str> = called.out.lines().collect();
    assert!(ids.is_sorted(), "{ids:?}");
    let called = call(&["list", "ai.onnx/Sum-13"]);
    for id in ["ai.onnx/Sum-13/broadcast/T=bfloat16", "ai.onnx/Sum-13/refuse/shapes_do_not_broadcast"] {
        assert!(called.out.lines().any(|line| line == id), "no {id} in\n{}", called.out);
    }
    assert_eq!(call(&["list", "ai.onnx/Sum-13"]).out, called.out);
}

#[test]
fn a_release_is_chosen_by_its_name_and_not_without() {
    let sum = "**/test_sum_example";
    let list = |arguments: &[&str]| call(&[&["list"], arguments].concat()).expect(0, "").out;
    assert_eq!(list(&["--release", "1.7", sum]), "onnx-1.7.0/node/test_sum_example\n");
    assert_eq!(list(&["--release", "1.8", sum]).lines().count(), 2);
    assert_eq!(list(&["--release", "1.8.1", "--release", "1.2.2", sum]).lines().count(), 2);
    assert_eq!(list(&["--release", "1.2.2", "onnx-*/node"]).lines().count(), 295);
    let all = list(&["!ai.onnx*/**"]);
    let newest = format!("onnx-{}/node/test_abs\n", Specs::embedded().newest_release());
    assert!(all.contains(&newest) && !all.contains("onnx-1.7.0/"), "{}", all.len());
    call(&["list", "--release", "99.0.0"])
        .expect(64, "there are no tests of ONNX release 99.0.0; known releases: 1.2.2, 1.2.3,");
    call(&["list", "--release", "1.7", "ai.onnx/Abs-13"]).expect(3, "no case matches");
    call(&["run", "--release", "1.7", "onnx-1.7.0/node/test_sum_example"]).expect(0, "1 cases, 1 pass");
}

#[test]
fn a_case_is_shown_with_its_inputs() {
    let id = &format!("onnx-{}/node/test_sum_example", Specs::embedded().newest_release());
    let called = call(&["show", id]).expect(0, &format!("case {id}"));
    for text in
        ["Sum (data_0, data_1, data_2)", "inputs\n  data_0 = tensor(float)[3] [3.0, 0.0, 2.0]", "expected\n  result = "]
    {
        assert!(called.out.contains(text), "no '{text}' in\n{}", called.out);
    }
    call(&["show", "nonsense"]).expect(64, "there is no case, rule, outcome, finding or operator 'nonsense'");
    call(&["trace", "nonsense"]).expect(64, "there is no case 'nonsense'");
}

#[test]
fn versions_are_compared() {
    let newest = Specs::embedded().newest_opset("").unwrap();
    let shown = call(&["diff", "Softmax", "11", "13"]).expect(0, "").out;
    check("diff", &shown.replacen(&format!("13 to {newest}"), "13 to NEWEST", 1));
    call(&["diff", "Nonsense", "8", "13"]).expect(64, "error: there is no operator 'Nonsense'");
    let next = (newest + 1).to_string();
    call(&["diff", "Sum", "8", &next])
        .expect(64, &format!("opset {next} of ai.onnx is unknown; the newest known is {newest}"));
}

#[test]
fn versions_to_compare_are_written_in_several_ways() {
    let diff = |arguments: &[&str]| call(&[&["diff"], arguments].concat());
    let plain = diff(&["Softmax", "11", "13"]).expect(0, "").out;
    for arguments in [&["Softmax@11", "Softmax@13"][..], &["Softmax@11", "13"], &["ai.onnx/Softmax-11", "Softmax-13"]] {
        let called = diff(arguments).expect(0, "");
        assert_eq!((called.out.as_str(), called.err.as_str()), (plain.as_str(), ""), "{arguments:?}");
    }
    for arguments in [&["Softmax", "13", "11"][..], &["Softmax@13", "Softmax@11"]] {
        let called = diff(arguments).expect(0, "11 is the older opset, so these are the changes from 11 to 13\n");
        assert_eq!(called.out, plain, "{arguments:?}");
    }
    assert_eq!(diff(&["softmax", "11", "13"]).expect(0, "'softmax' is read as Softmax").out, plain);
    let opsets = diff(&["--opset", "13", "12", "--grep", "Softmax"]).expect(0, "12 is the older opset").out;
    assert_eq!(diff(&["--opset", "12", "13", "--grep", "Softmax"]).expect(0, "").out, opsets);
}

#[test]
fn versions_that_cannot_be_compared_are_bad_usage() {
    let refused: [(&[&str], &str); 9] = [
        (
            &["Softmax"],
            "give two opsets, as in `diff Softmax FROM TO` or `diff Softmax@FROM Softmax@TO`; Softmax has the versions 1, ",
        ),
        (&["Softmax", "13"], "give two opsets"),
        (&["Softmax@13"], "give two opsets"),
        (&["Softmax@11", "12", "13"], "give two opsets"),
        (&["Softmax@11", "Hardmax@13"], "Softmax and Hardmax are two operators"),
        (&["Softmax@11", "Softmax"], "'Softmax' has no opset; write for example Softmax@13"),
        (&["Softmax", "eleven", "13"], "'eleven' is not an opset"),
        (&["Softmax", "0", "13"], "it was added in opset 1"),
        (&["--opset", "1", "2", "--domain", "none"], "--domain: domain 'none' is unknown"),
    ];
    for (arguments, message) in refused {
        call(&[&["diff"], arguments].concat()).expect(64, message);
    }
}

#[test]
fn a_mistake_in_a_spec_is_shown_with_its_place() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path().join("ai.onnx/Sum")).unwrap();
    folder.write(
        "ai.onnx/Sum/op.yaml",
        "op: Sum\nsummary: The sum.\ncases:\n  - {name: all, inputs: {x: {shape: [2]}}}\n",
    );
    let called = call(&["list", "--specs", &folder.argument(), "ai.onnx/Sum-*"]).expect(4, "op.yaml:4");
    for text in ["the case 'all' applies to no version of Sum", "╰── here", "Sum-13 has no input 'x'"] {
        assert!(called.err.contains(text), "no '{text}' in\n{}", called.err);
    }
    assert!(!called.err.contains('\u{1b}'), "{}", called.err);
}
