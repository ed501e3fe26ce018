//! `check --save-node` and `check --probe`: nodes as models of their own.

use std::fs;

use onnx_conformance::reference::model::text::parse_model;
use onnx_conformance::reference::proto::onnx::type_proto;
use onnx_conformance::reference::proto::{Message as _, ModelProto, ValueInfoProto, decode};

use crate::check::{validate, validate_as};
use crate::models::Folder;
use crate::program::{call, call_with_input, command, finish};

const DOUBLE: &str = "testdata/exporters/skl2onnx/logistic_double.onnx";

const TWO: &str = r#"<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 3]>
    g (float[N, 3] x) => (float[N, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
        [product] h = MatMul (x, w)
        y = Relu (h)
    }"#;

fn written(folder: &Folder, name: &str, text: &str) -> String {
    folder.write(name, parse_model(text).unwrap().encode_to_vec())
}

fn saved(folder: &Folder, name: &str) -> ModelProto {
    decode::model(fs::read(folder.path().join(name)).unwrap().into()).unwrap()
}

fn names(infos: &[ValueInfoProto]) -> Vec<&str> {
    infos.iter().map(ValueInfoProto::name).collect()
}

#[test]
fn names_of_saved_nodes_are_shortened_and_stay_apart() {
    let folder = Folder::new();
    let deep = format!("models/{}", "long/".repeat(20));
    fs::create_dir_all(folder.path().join(&deep)).unwrap();
    let (one, two) =
        (written(&folder, &format!("{deep}one.onnx"), TWO), written(&folder, &format!("{deep}two.onnx"), TWO));
    let out = folder.file("nodes");
    let told = call(&["check", &one, &two, "--save-node", &out, "--node", "product"]).expect(0, "");
    let files = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: Vec<String> = files.collect();
    assert!(files.len() == 2 && files.iter().all(|name| name.len() < 110), "{files:?} {told:?}");
    // Branches nested 30 deep.
    let mut body = "z0 = Neg (x)".to_owned();
    for level in 0..30 {
        let next = level + 1;
        body = format!(
            "z{next} = If (c) <then_branch = t{level} () => (float[3] z{level}) {{ {body} }},
                else_branch = e{level} () => (float[3] a{level}) {{ a{level} = Abs (x) }}>"
        );
    }
    let import = "<ir_version: 8, opset_import: [\"\" : 13]>";
    let text = format!("{import} g (bool c, float[3] x) => (float[3] z30) {{ {body} }}");
    let model = written(&folder, "deep.onnx", &text);
    call(&["check", &model, "--save-node", &out, "--node", "all"]).expect(0, ".onnx: ");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2 + 61);
}

/// Returns the number of dimensions in a declaration.
fn rank(info: &ValueInfoProto) -> usize {
    let Some(type_proto::Value::TensorType(tensor)) = &info.r#type.as_ref().unwrap().value else { panic!("{info:?}") };
    tensor.shape.as_ref().unwrap().dim.len()
}

#[test]
fn a_node_is_a_model_with_what_is_known_of_it() {
    let folder = Folder::new();
    let (model, out) = (written(&folder, "two.onnx", TWO), folder.file("nodes"));
    call(&["check", &model, "--save-node", &out, "--node", "product"]).expect(0, "nodes/two.0-MatMul-13.onnx: ");
    let product = saved(&folder, "nodes/two.0-MatMul-13.onnx");
    let graph = product.graph.as_ref().unwrap();
    assert_eq!((names(&graph.input), names(&graph.output), graph.node.len()), (vec!["x"], vec!["h"], 1));
    assert_eq!((rank(&graph.input[0]), rank(&graph.output[0]), graph.initializer[0].name()), (2, 2, "w"));
    assert_eq!((product.ir_version(), product.opset_import.len()), (8, 2));
    call(&["check", &folder.file("nodes/two.0-MatMul-13.onnx")]).expect(0, "valid");

    // A second run changes nothing, and a foreign file is kept.
    call(&["check", &model, "--save-node", &out, "--node", "all"]).expect(0, "nodes/two.1-Relu-13.onnx: ");
    folder.write("nodes/two.1-Relu-13.onnx", "mine");
    call(&["check", &model, "--save-node", &out, "--node", "1"]).expect(4, "another file with this name exists");
    assert_eq!(fs::read(folder.path().join("nodes/two.1-Relu-13.onnx")).unwrap(), b"mine");
    // All nodes of a model are written, or none.
    fs::create_dir(folder.path().join("other")).unwrap();
    folder.write("other/two.1-Relu-13.onnx", "mine");
    let other = folder.file("other");
    call(&["check", &model, "--save-node", &other, "--node", "all"]).expect(4, "another file with this name exists");
    assert_eq!(fs::read_dir(other).unwrap().count(), 1);
    call(&["check", &model, "--save-node", &out, "--node", "none"]).expect(64, "no node has this name");
    call(&["check", &model, "--save-node", &out]).expect(0, "no node was written: none has a problem");
    call(&["check", &model, "--node", "1"]).expect(64, "--save-node");
}

#[test]
fn the_nodes_that_have_findings_or_do_not_run_stand_out() {
    let folder = Folder::new();
    let out = folder.file("nodes");
    call(&["check", DOUBLE, "--save-node", &out]).expect(1, "logistic_double.");
    let files: Vec<_> = fs::read_dir(&out).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    call(&["check", file.to_str().unwrap()]).expect(1, "allows tensor(float) for input 0");
    let json = call(&["check", DOUBLE, "--save-node", &out, "--format", "json"]).expect(1, "\"saved\"");
    validate(&serde_json::from_str(&json.out).unwrap());
    let model = "testdata/exporters/skl2onnx/knn_opset18.onnx";
    let told = call(&["check", "--runtime", "all", model, "--save-node", &out]).expect_verdict("");
    assert!(told.out.contains("wrote ") || told.out.contains("none has a problem"), "{}", told.out);
}

#[test]
fn what_a_subgraph_captures_is_an_input_and_large_weights_are_kept() {
    let folder = Folder::new();
    let branches = r#"<ir_version: 8, opset_import: ["" : 13]> g (bool c, float[2] x) => (float[2] y) {
        d = Neg (x)
        y = If (c) <then_branch = a () => (float[2] p) { p = Abs (d) }, else_branch = b () => (float[2] q) { q = Neg (d) }>
    }"#;
    let model = written(&folder, "if.onnx", branches);
    let out = folder.file("nodes");
    call(&["check", &model, "--save-node", &out, "--node", "all"]).expect(0, "if.1-else_branch.0-Neg-13.onnx: ");
    assert_eq!(names(&saved(&folder, "nodes/if.1-If-13.onnx").graph.unwrap().input), ["c", "d"]);
    call(&["check", &folder.file("nodes/if.1-If-13.onnx")]).expect(0, "valid");

    let mut large = parse_model(TWO).unwrap();
    let graph = large.graph.as_mut().unwrap();
    let values: Vec<u8> = (0..3 * 4096_u32).flat_map(|value| (value as f32).to_le_bytes()).collect();
    graph.initializer[0].dims = vec![3, 4096];
    graph.initializer[0].float_data.clear();
    graph.initializer[0].raw_data = Some(values.clone().into());
    graph.output[0].r#type.as_mut().unwrap().value = None;
    graph.output.truncate(1);
    for (name, is_raw) in [("raw", true), ("listed", false)] {
        let tensor = &mut large.graph.as_mut().unwrap().initializer[0];
        if !is_raw {
            tensor.raw_data = None;
            tensor.float_data = values.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
        }
        let tensor = tensor.clone();
        let model = folder.write(&format!("{name}.onnx"), large.encode_to_vec());
        let told = call(&["check", &model, "--save-node", &out, "--node", "product"]);
        assert!(told.out.contains(&format!("{name}.0-MatMul-13.onnx: ")), "{}", told.out);
        let kept = saved(&folder, &format!("nodes/{name}.0-MatMul-13.onnx")).graph.unwrap().initializer.remove(0);
        assert!(kept == tensor, "{name}: {:?} of {:?}", kept.dims, tensor.dims);
    }
}

#[test]
fn a_runtime_is_probed_where_nothing_was_measured() {
    let folder = Folder::new();
    let model = written(&folder, "two.onnx", TWO);
    let told = call(&["check", "--probe", "--runtime", "builtin", &model]).expect(0, "builtin ");
    assert!(told.out.contains(": runs (tried)") && told.out.contains("2 nodes run"), "{}", told.out);
    let json =
        call(&["check", "--probe", "--runtime", "builtin", &model, "--format", "json"]).expect(0, "\"probed\": true");
    validate(&serde_json::from_str(&json.out).unwrap());
    call(&["check", "--probe", &model]).expect(64, "--runtime");
    call(&["check", "--probe", "--runtime", "all", &model]).expect(64, "`all` is not a name");
    let missing = call(&["check", "--probe", "--runtime", "no-such-runtime", &model]).expect(4, "cannot start");
    assert!(missing.out.is_empty(), "{}", missing.out);
}

#[test]
fn a_model_with_errors_is_probed_anyway() {
    let folder = Folder::new();
    let model = written(&folder, "wrong.onnx", &TWO.replace("float[N, 2] y", "float[N, 5] y"));
    let told = call(&["check", "--probe", "--runtime", "builtin", &model]).expect(1, "is declared with [N, 5]");
    assert!(told.out.contains(" loads and runs it, although it breaks rules of ONNX\n"), "{}", told.out);
    let out = folder.file("nodes");
    let json = ["check", "--probe", "--runtime", "builtin", &model, "--format", "json", "--save-node", &out];
    let told = call(&json).expect(1, "although it breaks rules of ONNX");
    let json: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    validate(&json);
    assert!(
        json["models"][0]["runtimes"][0]["tried"]["result"] == "runs"
            && json["models"][0]["saved"][0]["file"].is_string()
    );
    call(&["check", "--runtime", "onnxruntime", &model]).expect(1, "--probe runs this one anyway");
}

/// Creates a shell runtime that answers every model with the output of this command.
#[cfg(unix)]
fn shell(folder: &Folder, command: &str) -> String {
    let script = format!(
        r#"read -r line
echo '{{"runtime":{{"name":"shell","version":"1"}}}}'
while read -r line; do
  case "$line" in *'"run"'*) ;; *) exit ;; esac
  seq=${{line#*\"seq\":}}; seq=${{seq%%,*}}
  {command}
done
"#
    );
    format!("sh {}", folder.write("adapter.sh", script))
}

#[cfg(unix)]
#[test]
fn what_a_probed_runtime_does_is_the_verdict() {
    let folder = Folder::new();
    let model = written(&folder, "two.onnx", TWO);
    let declines = r#"echo "{\"seq\":$seq,\"error\":{\"phase\":\"load\",\"message\":\"not today\"}}""#;
    let runtime = shell(&folder, declines);
    let told = call(&["check", "--probe", "--runtime", &runtime, &model])
        .expect(1, "shell 1: will not load (tried): not today");
    assert!(told.out.contains("`trace MODEL --runtime NAME`"), "{}", told.out);
    let runtime = shell(&folder, "kill -9 $$");
    call(&["check", "--probe", "--runtime", &runtime, &model]).expect(1, "shell 1: wrong somewhere (tried): ");
    let runtime = shell(&folder, ONE_FLOAT);
    call(&["check", "--probe", "--runtime", &runtime, &model])
        .expect(1, "shell 1: wrong somewhere (tried): output 'y': ");
    let no_rank = TWO.replace("float[N, 3] x", "float[] x");
    let model = written(&folder, "no_rank.onnx", &no_rank);
    let told = call(&["check", "--probe", "--runtime", &runtime, &model, "--format", "json"]).expect_verdict("");
    let json: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    validate(&json);
    let why = json["models"][0]["runtimes"][0]["not_tried"].as_str().unwrap();
    assert!(why.contains("no declared rank"), "{why}");
    let runtime = shell(&folder, "exit 3");
    fs::write(folder.path().join("adapter.sh"), "exit 3").unwrap();
    call(&["check", "--probe", "--runtime", &runtime, &model]).expect(4, "cannot start");
}

#[cfg(unix)]
#[test]
fn a_runtime_is_started_in_the_named_version_only() {
    let folder = Folder::new();
    shell(&folder, r#"echo "{\"seq\":$seq,\"error\":{\"phase\":\"load\",\"message\":\"not today\"}}""#);
    fs::create_dir_all(folder.path().join("shell")).unwrap();
    folder.write("shell/adapter.yaml", format!("command: [sh, '{}']\n", folder.file("adapter.sh")));
    let smoke = |runtime: &str| {
        let mut command = command(&["run", "--smoke", "--runtime", runtime]);
        command.env("ONNX_CONFORMANCE_ADAPTERS", folder.path());
        finish(command)
    };
    for runtime in ["shell@2", "shell==2"] {
        smoke(runtime)
            .expect(64, "--runtime: the installed version of shell is 1, not 2; install that one, or omit @2");
    }
    let plain = smoke("shell");
    assert!(plain.code != 64 && plain.out.contains("shell 1"), "{plain:?}");
    assert_eq!(smoke("shell@1").code, plain.code);
}

#[cfg(unix)]
#[test]
fn a_trace_of_a_model_finds_the_first_node_that_differs() {
    let folder = Folder::new();
    let model = written(&folder, "two.onnx", TWO);
    call(&["trace", &model, "--runtime", "builtin"]).expect(0, "the same: 1 output within the bounds");
    let values = call(&["trace", &model]).expect(0, "h = MatMul(x, w)");
    assert!(values.out.contains("two.onnx, generated input 0"), "{}", values.out);

    let runtime = shell(&folder, ONE_FLOAT);
    let out = folder.file("out/case");
    let told = call(&["trace", &model, "--runtime", &runtime, "-o", &out])
        .expect(1, "first difference: node 'product' (MatMul-13): output 'h': ");
    assert!(told.out.contains("the fault is the node's"), "{}", told.out);
    let case = folder.path().join("out/case");
    let issue = fs::read_to_string(case.join("issue.md")).unwrap();
    assert!(issue.starts_with("# shell 1: node 'product' (MatMul-13)\n"), "{issue}");
    let node = saved(&folder, "out/case/model.onnx").graph.unwrap();
    assert_eq!((node.node.len(), names(&node.input), names(&node.output)), (1, vec!["x"], vec!["h"]));
    // The written case is one that the built-in executor passes, and that shows the difference again.
    call(&["run", "--suite", &out]).expect(0, "1 pass");
    let again =
        ["trace", &format!("{out}/model.onnx"), "--runtime", &runtime, "--inputs", &format!("{out}/test_data_set_0")];
    call(&again).expect(1, "the fault is the node's");
    call(&["trace", &model, "--runtime", &runtime, "-o", &out]).expect(64, "is not empty; choose another folder");

    let refuses = r#"echo "{\"seq\":$seq,\"error\":{\"phase\":\"load\",\"message\":\"not today\"}}""#;
    let runtime = shell(&folder, refuses);
    call(&["trace", &model, "--runtime", &runtime]).expect(1, "no node is to blame: ");
}

#[cfg(unix)]
#[test]
fn the_json_of_a_trace_says_which_node_differs() {
    let folder = Folder::new();
    let model = written(&folder, "two.onnx", TWO);
    let json = |runtime: &str, code: i32, more: &[&str]| {
        let arguments = [&["trace", "--format", "json", "--runtime", runtime], more].concat();
        let called = call(&arguments).expect(code, "\"status\"");
        let value: serde_json::Value = serde_json::from_str(&called.out).unwrap();
        validate_as("trace", &value);
        assert!(called.out.starts_with("{\n  \"format\": 1,"), "{}", called.out);
        value
    };
    let same = json("builtin", 0, &[&model]);
    assert_eq!((&same["status"], &same["nodes"], &same["difference"]), (&"same".into(), &2.into(), &().into()));
    assert_eq!((&same["inputs"], &same["reference"]), (&"3 sets of inputs".into(), &"the built-in executor".into()));

    let zeros = shell(&folder, ONE_FLOAT);
    let out = folder.file("case");
    let found = json(&zeros, 1, &[&model, "-o", &out]);
    let difference = &found["difference"];
    assert_eq!(
        (&found["status"], &found["runtime"], &found["written"]),
        (&"found".into(), &"shell 1".into(), &out.into())
    );
    assert_eq!(
        (&difference["fault"], &difference["nodes"][0]["operator"]),
        (&"node".into(), &"ai.onnx/MatMul-13".into())
    );
    let (read, actual) = (&difference["inputs"][0], &difference["actual"][0]);
    assert_eq!((&read["name"], &read["shape"][1], &read["type"]), (&"x".into(), &3.into(), &"tensor(float)".into()));
    assert_eq!((&actual["name"], &actual["text"]), (&"h".into(), &"tensor(float)[1] [0.0]".into()));

    let refuses = r#"echo "{\"seq\":$seq,\"error\":{\"phase\":\"load\",\"message\":\"not today\"}}""#;
    let every = json(&shell(&folder, refuses), 1, &[&model]);
    assert_eq!((&every["status"], &every["whole"]), (&"every-model".into(), &"not today".into()));
    let unreadable = json("builtin", 4, &[&folder.write("text.onnx", "text")]);
    assert!(unreadable["status"] == "unreadable" && unreadable["summary"].as_str().unwrap().contains("is not a model"));
    let piped = ["trace", "-", "--runtime", "builtin", "--format", "json"];
    let piped = call_with_input(&piped, fs::read(&model).unwrap()).expect(0, "");
    let piped: serde_json::Value = serde_json::from_str(&piped.out).unwrap();
    assert_eq!((&piped["status"], &piped["file"]), (&"same".into(), &"<stdin>".into()));
}

#[test]
fn a_model_is_compared_with_itself_at_another_opset() {
    let folder = Folder::new();
    let model = written(&folder, "two.onnx", TWO);
    let trace = |against: &str| call(&["trace", &model, "--runtime", "builtin", "--against", against]);
    trace("@9").expect(0, "against builtin ").expect(0, " at opset 9, 2 nodes");
    trace("@ai.onnx.ml=1").expect(0, " at opset 1 of ai.onnx.ml");
    trace("@13").expect(64, "--against @13: the model already has opset 13; name another");
    trace("@none").expect(64, "--against @none: write a number, or DOMAIN=NUMBER as in ai.onnx.ml=3");
    trace("@999").expect(64, "--against @999: ai.onnx has the opsets 1 to ");
    trace("@com.microsoft=1").expect(64, "--against @com.microsoft=1: ");
    trace("@ai.onnx.preview=1").expect(64, "the model does not import ai.onnx.preview");
    let erf = written(&folder, "erf.onnx", &TWO.replace("Relu", "Erf"));
    call(&["trace", &erf, "--runtime", "builtin", "--against", "@8"])
        .expect(4, "erf.onnx: it cannot be converted to opset 8: ")
        .expect(4, "`convert` lists what another opset needs");
}

#[test]
fn what_cannot_be_traced_has_a_reason() {
    let folder = Folder::new();
    let model = written(&folder, "two.onnx", TWO);
    let case = "ai.onnx/Relu-14/known_values/T=float";
    call(&["trace", case, "--runtime", "builtin"]).expect(64, "need a model file");
    call(&["trace", &model, "-o", &folder.file("out")]).expect(64, "-o, --against and --format need --runtime");
    call(&["trace", &model, "--body"]).expect(64, "--body, --suite and --specs are about cases");
    call(&["trace", &folder.file("none.onnx"), "--runtime", "builtin"]).expect(4, "none.onnx");
    call(&["trace", &folder.write("text.onnx", "text"), "--runtime", "builtin"]).expect(4, "text.onnx is not a model");
    call(&["trace", &model, "--runtime", "no-such-runtime"]).expect(4, "cannot start no-such-runtime");
    call(&["trace", &model, "--runtime", "builtin", "--inputs", &folder.argument()])
        .expect(4, "no input_0.pb, .npy or .npz file in the folder");
    let foreign =
        r#"<ir_version: 8, opset_import: ["" : 13, "local" : 1]> g (float[3] x) => (float[3] y) { y = local.F (x) }"#;
    let foreign = written(&folder, "foreign.onnx", foreign);
    call(&["trace", &foreign, "--runtime", "builtin"])
        .expect(4, "does not load the model, so there are no values to compare with");
    let endless = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[3] y) <bool yes = {1}> {
        y = Loop <body = b (int64 i, bool c, float[3] a) => (bool d, float[3] e) { d = Identity (c) e = Neg (a) }> (, yes, x)
    }"#;
    let endless = written(&folder, "endless.onnx", endless);
    call(&["trace", &endless, "--runtime", "builtin", "--timeout", "1"]).expect(4, "the time limit of 1 s is exceeded");
}

/// Command of an adapter that always writes a single float, whatever was requested.
#[cfg(unix)]
const ONE_FLOAT: &str = r#"output=${line##*\"path\":\"}; output=${output%%\"*}
  printf '\010\001\020\001\042\004\000\000\000\000' > "$output"; echo "{\"seq\":$seq,\"ok\":true}""#;

/// A program in somebody else's folder runs only if its path is named.
#[cfg(unix)]
#[test]
fn an_adapter_of_the_current_folder_is_probed_by_its_path_alone() {
    let folder = Folder::new();
    written(&folder, "two.onnx", TWO);
    fs::create_dir_all(folder.path().join("adapters/onnxruntime")).unwrap();
    let started = folder.path().join("started");
    let file = format!("command: [sh, -c, 'touch {}']\n", started.display());
    folder.write("adapters/onnxruntime/adapter.yaml", file);
    let call = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.current_dir(folder.path()).env_remove("ONNX_CONFORMANCE_ADAPTERS");
        finish(command)
    };
    let probe = |runtime: &str| call(&["check", "two.onnx", "--probe", "--runtime", runtime]);
    probe("onnxruntime").expect(64, "use its path, `./adapters/onnxruntime`, if you trust it");
    probe("onnxruntime:cuda").expect(64, "use its path, `./adapters/onnxruntime:cuda`, if you trust it");
    call(&["check", "two.onnx", "--runtime", "onnxruntime"]).expect_verdict("");
    call(&["trace", "ai.onnx/Relu-14/known_values/T=float"]).expect(0, "");
    assert!(!started.exists());
    let says = "onnxruntime as defined in ";
    probe("./adapters/onnxruntime").expect(4, says);
    assert!(started.exists());
    fs::remove_file(&started).unwrap();
    // `run --smoke` uses an installed adapter, or else one of the current folder, and prints which.
    call(&["run", "--smoke", "--runtime", "onnxruntime"])
        .expect(4, &format!("{says}adapters/onnxruntime/adapter.yaml"));
    assert!(started.exists());
    fs::remove_file(&started).unwrap();
    let installed = folder.path().join("installed/onnxruntime");
    fs::create_dir_all(&installed).unwrap();
    folder.write("installed/onnxruntime/adapter.yaml", "command: ['false']\n");
    let mut command = command(&["run", "--smoke", "--runtime", "onnxruntime"]);
    command.current_dir(folder.path()).env("ONNX_CONFORMANCE_ADAPTERS", installed.parent().unwrap());
    finish(command).expect(4, &format!("{says}{}/adapter.yaml", installed.display()));
    assert!(!started.exists());
}
