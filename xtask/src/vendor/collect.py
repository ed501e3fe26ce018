"""Writes the backend test cases that the installed `onnx` package holds into a folder, as files.

Run by `cargo xtask vendor`: its arguments are the folder to fill with {node,simple,light,pytorch-operator,
pytorch-converted}/CASE/ and ONNX's licence files, and the name of the package on the index. It prints one JSON object: each
case with its tolerances, and the licence's SPDX name.
"""

import json
import shutil
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.case import model as model_cases
from onnx.backend.test.case import node as node_cases

DATA = Path(loader.DATA_DIR)
SHIPPED_GROUPS = ("simple", "pytorch-operator", "pytorch-converted")


def main() -> None:
    out, package = Path(sys.argv[1]), sys.argv[2]
    cases = []
    for group in SHIPPED_GROUPS:
        for case in loader.load_model_tests(kind=group):
            copy_shipped_case(Path(case.model_dir), out / group / case.name)
            cases.append(entry(group, case))
    for case in loader.load_model_tests(kind="real"):
        copy_light_case(case, out / "light" / case.name)
        cases.append(entry("light", case))
    for case in node_cases.collect_testcases():
        write_case(case, out / "node" / case.name)
        cases.append(entry("node", case))
    for case in model_cases.collect_testcases():
        folder = out / "simple" / case.name
        if case.kind == "simple" and not folder.exists():
            write_case(case, folder)
            cases.append(entry("simple", case))
    copy_licences(out, package)
    json.dump({"cases": cases, "licence": metadata.metadata(package)["License-Expression"]}, sys.stdout)


def entry(group: str, case) -> dict:
    return {"case": f"{group}/{case.name}", "rtol": case.rtol, "atol": case.atol}


def copy_licences(out: Path, package: str) -> None:
    files = metadata.files(package) or []
    for name in ("LICENSE", "NOTICE"):
        (found,) = [f for f in files if f.parts[-2:] == ("licenses", name)]
        shutil.copyfile(found.locate(), out / name)


def copy_shipped_case(source: Path, target: Path) -> None:
    """Copies the model and its data sets; what else lies there (data.json) is in releases.yaml."""
    names = ["model.onnx"]
    for data_set in sorted(source.glob("test_data_set_*")):
        names += [str(f.relative_to(source)) for f in sorted(data_set.glob("*.pb"))]
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)


def copy_light_case(case, target: Path) -> None:
    """Copies a model without weights; upstream ships its outputs beside it, and no inputs."""
    model = DATA / "light" / Path(case.url).name
    outputs = sorted(model.parent.glob(f"{model.stem}_output_*.pb"))
    if len(outputs) != len(onnx.load(model).graph.output):
        raise ValueError(f"{case.name}: {model.name} does not have a file for each output")
    data_set = target / "test_data_set_0"
    data_set.mkdir(parents=True)
    shutil.copyfile(model, target / "model.onnx")
    for output in outputs:
        shutil.copyfile(output, data_set / output.name.removeprefix(f"{model.stem}_"))


def write_case(case, target: Path) -> None:
    """Writes what upstream's own `backend-test-tools generate-data` writes for the case."""
    target.mkdir(parents=True)
    (target / "model.onnx").write_bytes(case.model.SerializeToString())
    graph = case.model.graph
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data_set = target / f"test_data_set_{number}"
        data_set.mkdir()
        for kind, values, infos in (
            ("input", inputs, graph.input),
            ("output", outputs, graph.output),
        ):
            if len(values) != len(infos):
                raise ValueError(
                    f"{case.name}: {len(values)} {kind} values for {len(infos)} {kind}s of the graph"
                )
            for index, (value, info) in enumerate(zip(values, infos)):
                message = to_message(value, info)
                (data_set / f"{kind}_{index}.pb").write_bytes(message.SerializeToString())


def to_message(value, info):
    kind = info.type.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if kind != "tensor_type":
        raise ValueError(f"{info.name}: no way to store a value of {kind}")
    if isinstance(value, TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), info.name)


if __name__ == "__main__":
    main()
