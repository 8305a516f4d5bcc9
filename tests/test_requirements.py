"""What `make` installs: locked by version and hash, for the page too, and listed in a bill of materials."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ["package.txt", "torch.txt", "torch-cpu.txt", "tests.txt", "tools.txt", "docs.txt", "peers.txt"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def locked(name: str) -> dict[str, tuple[Requirement, list[str]]]:
    """Requirement and hashes by package."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8").replace("\\\n", "")
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            asked = Requirement(line.partition("--hash")[0])
            found[canonicalize_name(asked.name)] = (asked, re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
    return found


def version(asked: Requirement) -> str:
    (pin,) = asked.specifier
    assert pin.operator == "=="
    return pin.version


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_one_version_and_the_hashes_of_its_files(name):
    lock = locked(name)
    assert lock
    for asked, hashes in lock.values():
        assert version(asked)
        assert hashes, asked


@pytest.mark.parametrize("name", LOCKS)
def test_the_locks_hold_the_versions_of_the_constraints(name):
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    chosen = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines}
    found = {package: version(asked).removesuffix("+cpu") for package, (asked, _) in locked(name).items()}
    assert {p: v for p, v in found.items() if p in chosen} == {p: chosen[p] for p in found if p in chosen}


def test_every_dependency_that_is_declared_is_locked_within_its_bounds():
    extras = PROJECT["project"]["optional-dependencies"]
    package, tests = locked("package.txt") | locked("torch.txt"), locked("tests.txt")
    run = [*PROJECT["project"]["dependencies"], *extras["models"], *extras["studio"]]
    run += PROJECT["build-system"]["requires"]
    tried = [*extras["notebook"], *extras["umap"], *extras["cluster"], *PROJECT["dependency-groups"]["test"]]
    for declared, lock in [(run, package), (tried, package | tests)]:
        for asked in map(Requirement, declared):
            assert asked.specifier.contains(version(lock[canonicalize_name(asked.name)][0])), asked


@pytest.mark.parametrize("name", ["numba", "llvmlite", "transformers", "duckdb"])
def test_what_breaks_with_its_next_version_has_an_upper_bound_just_above_the_one_tried(name):
    extras = PROJECT["project"]["optional-dependencies"]
    declared = map(Requirement, [*PROJECT["project"]["dependencies"], *extras["models"]])
    (asked,) = [one for one in declared if one.name == name]
    major, minor = version(locked("package.txt")[name][0]).split(".")[:2]
    assert not asked.specifier.contains(f"{major}.{int(minor) + 1}")


def test_torch_is_one_version_with_and_without_cuda():
    index, cpu = locked("torch.txt"), locked("torch-cpu.txt")
    assert list(cpu) == ["torch"]
    assert version(cpu["torch"][0]) == version(index["torch"][0]) + "+cpu"
    assert [one for one in index if one.startswith("nvidia-")]
    for name in ("package.txt", "tests.txt"):
        assert not [one for one in locked(name) if one.startswith(("torch", "nvidia-", "cuda-"))]


def test_what_is_installed_is_what_is_locked():
    here = {canonicalize_name(one.metadata["Name"]): one.version for one in distributions()}
    asked = [asked for asked, _ in (locked("package.txt") | locked("tests.txt")).values()]
    asked.append(locked("torch.txt")["torch"][0])  # with +cpu or without
    wanted = [one for one in asked if one.marker is None or one.marker.evaluate()]
    other = [
        f"{one} ({here.get(canonicalize_name(one.name))} is here)"
        for one in wanted
        if not one.specifier.contains(here.get(canonicalize_name(one.name), "0"))
    ]
    assert other == []


def test_a_package_with_a_version_for_each_python_is_refused():
    from scripts.lock import parse

    one = "pandas==2.3.3 ; python_full_version < '3.12' \\\n    --hash=sha256:00"
    assert list(parse(one)) == ["pandas"]
    with pytest.raises(SystemExit, match="constrain it"):
        parse(f"{one}\n{one.replace('<', '>=')}")


def commands(*targets: str) -> list[str]:
    """What make would run, were nothing done yet."""
    command = ["make", "--no-print-directory", "--always-make", "--dry-run", *targets]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_make_installs_nothing_without_its_hash():
    lines = [one for one in commands(".make/tests", "lock", "sbom") if "pip install" in one]
    assert len(lines) >= 4
    for line in lines:
        if line.endswith("--editable ."):  # langscape itself, built by what is installed already
            assert {"--no-deps", "--no-build-isolation"} < set(line.split())
        else:
            assert {"--no-deps", "--require-hashes", "--only-binary"} < set(line.split()), line


@pytest.mark.parametrize(("right", "code"), [(True, 0), (False, 1)])
def test_a_wheel_is_installed_with_the_hash_that_is_locked_and_with_no_other(tmp_path, right, code):
    wheel = tmp_path / "borrowed-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("borrowed.py", "")
        archive.writestr(
            "borrowed-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: borrowed\nVersion: 1.0\n"
        )
        archive.writestr(
            "borrowed-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("borrowed-1.0.dist-info/RECORD", "")
    said = subprocess.run(
        [sys.executable, "-m", "pip", "hash", wheel], capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    digest = said if right else said[:-4] + ("0000" if said[-4:] != "0000" else "1111")
    (tmp_path / "lock.txt").write_text(f"borrowed==1.0 {digest}\n")
    line = next(one for one in commands(".make/tests") if "requirements/tests.txt" in one)
    options = line[line.index("pip install") :].split()[2:-1]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "lock.txt", "--target", "target"],
        cwd=tmp_path,
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("DO NOT MATCH THE HASHES" in done.stderr) is not right
    assert (tmp_path / "target" / "borrowed.py").exists() is right


def test_every_package_of_the_page_has_its_hash_and_no_address():
    text = (ROOT / "web" / "package-lock.json").read_text(encoding="utf-8")
    packages = {name: one for name, one in json.loads(text)["packages"].items() if name}
    assert packages
    for name, one in packages.items():
        assert one.get("integrity", "").startswith("sha512-"), name
        assert "resolved" not in one, name
        assert not one.get("link"), name


@pytest.fixture(scope="module")
def bills(tmp_path_factory) -> dict[str, dict]:
    """What `make sbom` writes about this environment."""
    if not (ROOT / ".make" / "tools" / "bin" / "cyclonedx-py").exists():
        pytest.skip("needs CycloneDX's tool: run `make sbom` once")
    dist = tmp_path_factory.mktemp("dist")
    command = ["make", "-o", ".make/package", "sbom", f"BIN={sys.prefix}/bin", f"DIST={dist}"]
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MAKEFLAGS")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(dist.iterdir())}


@pytest.mark.slow
def test_the_bill_of_materials_lists_all_that_is_installed(bills):
    listed = bills["langscape-python.cdx.json"]["components"]
    here = {
        (canonicalize_name(one.metadata["Name"]), one.version)
        for one in distributions(path=[path for path in sys.path if path.startswith(sys.prefix)])
    }
    found = {(canonicalize_name(one["name"]), one["version"]) for one in listed}
    assert found == {one for one in here if one[0] != "langscape"}
    assert bills["langscape-python.cdx.json"]["metadata"]["component"]["name"] == "langscape"


@pytest.mark.slow
def test_the_bill_of_the_page_lists_all_that_is_locked_with_its_hash(bills):
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = {(name.rpartition("node_modules/")[2], one["version"]) for name, one in lock.items() if name}
    listed = bills["langscape-page.cdx.json"]["components"]
    assert {(one["name"], one["version"]) for one in listed} == wanted
    assert all(one["hashes"] for one in listed)


@pytest.mark.slow
def test_the_bills_name_no_place_on_this_machine(bills):
    for name, bill in bills.items():
        text = json.dumps(bill)
        for place in {"file:", str(ROOT), sys.prefix, sys.base_prefix + "/lib", str(Path.home())}:
            assert place not in text, f"{name} names {place}"
