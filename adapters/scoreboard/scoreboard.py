"""Writes results of upstream's tests in the format of ONNX's backend scoreboard.

    python scoreboard.py RESULTS.jsonl -o DIR

It needs the `onnx` package of the release whose tests the results are about.
"""

import argparse
import csv
import json
import sys
import warnings
from datetime import datetime, timezone
from pathlib import Path

import onnx
from onnx import defs
from onnx.backend.test.loader import load_model_tests

# Kinds of upstream's tests: the class of upstream's runner, and the folder of the cases here.
KINDS = {
    "node": ("OnnxBackendNodeModelTest", "node"),
    "real": ("OnnxBackendRealModelTest", "light"),
    "simple": ("OnnxBackendSimpleModelTest", "simple"),
    "pytorch-converted": ("OnnxBackendPyTorchConvertedModelTest", "pytorch-converted"),
    "pytorch-operator": ("OnnxBackendPyTorchOperatorModelTest", "pytorch-operator"),
}

# Keys of a report.
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# Outcomes that are no failures. All others but `pass` are.
NOT_RUN = {"unsupported", "not-declared", "not-applicable"}


def read(path):
    """The first line of a results file, and the outcomes by case."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if not lines or "runtime" not in lines[0]:
        sys.exit(f"{path} is not a results file of onnx-conformance")
    return lines[0], {line["id"]: line["outcome"] for line in lines[1:]}


def check_release(outcomes):
    """Fails if there are no results of the release of the installed `onnx`."""
    releases = {case.split("/")[0] for case in outcomes if case.startswith("onnx-")}
    if f"onnx-{onnx.__version__}" in releases:
        return
    known = ", ".join(sorted(release[len("onnx-") :] for release in releases)) or "none"
    sys.exit(
        f"there are no results of the tests of ONNX {onnx.__version__}, which is installed (releases with results: {known}); "
        f"run `onnx-conformance run --runtime NAME --release {onnx.__version__} --results FILE`, or install another onnx"
    )


def tests():
    """The tests of upstream's runner: the name on the scoreboard, the id of the case, and the operators of the model."""
    for kind, (test_class, folder) in KINDS.items():
        with warnings.catch_warnings():
            # Upstream computes values of its tests with overflow.
            warnings.simplefilter("ignore", RuntimeWarning)
            found = load_model_tests(kind=kind)
        for test in found:
            yield f"{test_class}::{test.name}_cpu", f"onnx-{onnx.__version__}/{folder}/{test.name}", operators(test)


def operators(test):
    """The domain and the name of each operator in the graph of a test; those of subgraphs do not count."""
    model = test.model
    if model is None:
        path = Path(test.model_dir) / "model.onnx" if test.model_dir else Path(onnx.__file__).parent.parent / test.url
        model = onnx.load(path, load_external_data=False)
    return {(node.domain, node.op_type) for node in model.graph.node}


def status(outcome):
    if outcome is None or outcome in NOT_RUN:
        return SKIPPED
    return PASSED if outcome == "pass" else FAILED


def operator_table(measured):
    """The number of tests of each operator by status, for a list of tests with their status and operators."""
    table = {}
    for found, used in measured:
        for domain, name in used:
            row = {"domain": domain, "op_type": name, "total_tests": 0, "passed_tests": 0, "failed_tests": 0, "skipped_tests": 0}
            row = table.setdefault((domain, name), row)
            row["total_tests"] += 1
            row[f"{found}_tests"] += 1
    return [table[key] for key in sorted(table)]


def updated(trend, summary):
    """The trend with one more summary, which replaces an equal one at the end, as on the scoreboard."""

    def without_date(entry):
        return {key: value for key, value in entry.items() if key != "date"}

    is_same = len(trend) >= 2 and without_date(trend[-1]) == without_date(summary)
    return [*(trend[:-1] if is_same else trend), summary]


def node_rows(passed):
    """The rows of nodes.csv: an operator passes if a test that uses it does. Upstream's summary counts operators of all domains."""
    schemas = sorted((schema for schema in defs.get_all_schemas() if schema.domain in ("", "ai.onnx")), key=lambda schema: schema.name)
    yield ["Op", "None"]
    for schema in schemas:
        is_experimental = schema.support_level == defs.OpSchema.SupportType.EXPERIMENTAL
        name = f"{schema.name} (Experimental)" if is_experimental else schema.name
        yield [name, "Passed!" if schema.name in passed else "Failed!"]
    yield ["Summary", f"{len(passed)}/{len(schemas)} node tests passed"]


def write_json(path, value):
    path.write_text(json.dumps(value, sort_keys=True, indent=4), encoding="utf-8")


def write_csv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def day_of(header, path):
    """The day of a run, or the time of the file if the run was not dated."""
    if "date" in header:
        return datetime.fromisoformat(header["date"]).replace(tzinfo=timezone.utc)
    return datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)


def main():
    parser = argparse.ArgumentParser(description="Writes results of upstream's tests in the format of ONNX's backend scoreboard.")
    parser.add_argument("results", type=Path, help="results file of `onnx-conformance run`")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write; a trend.json in it continues")
    arguments = parser.parse_args()
    header, outcomes = read(arguments.results)
    check_release(outcomes)
    day = day_of(header, arguments.results)
    date = day.strftime("%m/%d/%Y %H:%M:%S")
    measured = [(name, status(outcomes.get(case)), used, case in outcomes) for name, case, used in tests()]
    report = {key: sorted(name for name, found, _, _ in measured if found == key) for key in (PASSED, FAILED, SKIPPED)}
    table = operator_table([(found, used) for _, found, used, _ in measured])
    versions = [{"name": header["runtime"]["name"], "version": header["runtime"]["version"]}, {"name": "onnx", "version": onnx.__version__}]
    summary = {"date": date, "versions": versions, "total_ops": len(table), **{key: len(names) for key, names in report.items()}}
    arguments.output.mkdir(parents=True, exist_ok=True)
    trend = arguments.output / "trend.json"
    earlier = json.loads(trend.read_text(encoding="utf-8")) if trend.exists() else []
    write_json(arguments.output / "report.json", {"date": date, **report})
    write_json(trend, updated(earlier, summary))
    write_json(arguments.output / "ops.json", table)
    write_csv(arguments.output / "nodes.csv", node_rows({row["op_type"] for row in table if row["passed_tests"]}))
    write_csv(arguments.output / "metadata.csv", [["Latest Update", day.isoformat(sep=" ")]])
    missing = sum(not is_there for *_, is_there in measured)
    counts = ", ".join(f"{len(names)} {key}" for key, names in report.items())
    print(f"{len(measured)} tests of ONNX {onnx.__version__}: {counts}" + (f" ({missing} without a result)" if missing else ""))


if __name__ == "__main__":
    main()
