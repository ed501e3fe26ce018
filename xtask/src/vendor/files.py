"""Takes the backend test data out of a wheel of the `onnx` package, as the files that they are.

Run by `cargo xtask vendor`: its arguments are the wheel and the folder to fill with
{node,simple,light,pytorch-operator,pytorch-converted}/CASE/ and ONNX's licence files. It prints one JSON object: each case
with its tolerances, and the licence's SPDX name.
"""

import json
import posixpath
import sys
import zipfile
from pathlib import Path

DATA = "onnx/backend/test/data/"
GROUPS = ("node", "simple", "pytorch-operator", "pytorch-converted")
RTOL, ATOL = 1e-3, 1e-7


def main() -> None:
    wheel, out = zipfile.ZipFile(sys.argv[1]), Path(sys.argv[2])
    names = [name for name in wheel.namelist() if not name.endswith("/")]
    cases = {}
    for name in names:
        parts = name.removeprefix(DATA).split("/")
        if not name.startswith(DATA) or parts[0] not in GROUPS:
            continue
        if len(parts) < 3 or parts[2].startswith("data.json"):
            raise ValueError(f"{name}: is no file of a test")
        write(out / "/".join(parts), wheel.read(name))
        cases[f"{parts[0]}/{parts[1]}"] = (RTOL, ATOL)
    for name in names:
        if name.startswith(DATA + "real/"):
            take_light(wheel, names, name, out, cases)
    licence = take_licences(wheel, names, out)
    entries = [{"case": case, "rtol": rtol, "atol": atol} for case, (rtol, atol) in sorted(cases.items())]
    json.dump({"cases": entries, "licence": licence}, sys.stdout)


def take_light(wheel, names, name, out, cases) -> None:
    """A real network as far as the package has it: with weights made by ConstantOfShape, and its outputs beside it."""
    data = json.loads(wheel.read(name))
    model = DATA + "light/" + posixpath.basename(data["url"])
    if model not in names:
        return
    case = name.split("/")[-2]
    stem = model.removesuffix(".onnx")
    write(out / "light" / case / "model.onnx", wheel.read(model))
    for output in names:
        if output.startswith(f"{stem}_output_"):
            write(out / "light" / case / "test_data_set_0" / output.removeprefix(f"{stem}_"), wheel.read(output))
    cases[f"light/{case}"] = (data.get("rtol", RTOL), data.get("atol", ATOL))


def take_licences(wheel, names, out) -> str:
    for name in names:
        if ".dist-info/" in name and posixpath.basename(name).removesuffix(".txt") in ("LICENSE", "NOTICE"):
            write(out / posixpath.basename(name).removesuffix(".txt"), wheel.read(name))
    text = (out / "LICENSE").read_text()
    if "Apache License" in text:
        return "Apache-2.0"
    if "MIT License" in text or "Permission is hereby granted, free of charge" in text:
        return "MIT"
    raise ValueError("the licence is none that is known")


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    main()
