"""The plain twins of what is spelled out in vectors: the same numbers, taken where vectors do not compile."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import langscape.kernels
from langscape.kernels import dispatch, simd

HERE = Path(__file__).parent
SOURCES = Path(langscape.kernels.__file__).parent
ROOT = langscape.kernels.cache_folder
SWITCH = "LANGSCAPE_PLAIN_KERNELS"
TWINS = "_few_plain _halves_plain _spread_plain _gather_plain _row_plain"

needs_vectors = pytest.mark.skipif(dispatch.PLAIN, reason=f"no vectors here: {dispatch.PLAIN_BECAUSE}")

# what a release of llvmlite, or a processor, that does not know some of this does
BROKEN = {
    "raises": (
        "def refused(*given, **named):\n    raise NotImplementedError('no vectors in this release')\n"
        "ir.IRBuilder.shuffle_vector = refused\n",
        "vectors do not compile here (NotImplementedError: no vectors in this release)",
    ),
    "crashes": (
        "known = ir.Module.declare_intrinsic\n"
        "def unheard(module, name, *given):\n"
        "    return known(module, name.replace('fmul', 'unheard'), *given)\n"
        "ir.Module.declare_intrinsic = unheard\n",
        "vectors do not compile here (the compiler ended with SIG",
    ),
    "computes otherwise": (
        "ir.IRBuilder.fmul = lambda build, a, b, **named: a\n",
        "vectors do not compile here (the sums of a test are 528 and -528, not 11440)",
    ),
}


def python(*words: object, **environment: str) -> subprocess.CompletedProcess:
    """Run Python as a user would, on the compiled code of these tests."""
    paths = [environment.pop("first", ""), *sys.path]
    settings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "NUMBA_CACHE_DIR": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env={**settings, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(name="plain", scope="module")
def _plain(tmp_path_factory) -> dict[str, np.ndarray]:
    """What the plain set computes, the switch being on."""
    file = tmp_path_factory.mktemp("plain") / "results.npz"
    done = python(HERE / "both_sets.py", file, **{SWITCH: "1"})
    assert done.stdout.splitlines() == [f"{SWITCH} is set", TWINS]
    return dict(np.load(file))


@needs_vectors
@pytest.mark.slow
def test_both_sets_compute_the_same_within_rounding(plain, tmp_path):
    done = python(HERE / "both_sets.py", tmp_path / "vectors.npz", **{SWITCH: "0"})
    assert done.stdout.splitlines() == ["", TWINS.replace("plain", "vectors")]
    vectors = np.load(tmp_path / "vectors.npz")
    assert set(vectors) == set(plain)
    for name in plain:
        # the potential of a grid varies little over a small map, and its slope is what float32 leaves of that
        bound = 2e-3 if name.startswith("grid 0.001") else 2e-5
        assert np.abs(vectors[name] - plain[name]).max() <= bound * np.abs(plain[name]).max(), name


@pytest.mark.slow
@pytest.mark.parametrize("how", BROKEN)
def test_where_vectors_do_not_compile_the_plain_set_is_taken_and_kept_apart(plain, tmp_path, how):
    breaks, reason = BROKEN[how]
    (tmp_path / "sitecustomize.py").write_text("from llvmlite import ir\n\n" + breaks)
    cache = tmp_path / "cache"
    cache.mkdir()
    # nothing is known of vectors in this folder; the plain set is that of the other tests, so as not to wait
    (cache / "plain").symlink_to(ROOT / "plain")
    for _ in "tried", "known":
        done = python(
            HERE / "both_sets.py",
            tmp_path / "results.npz",
            first=str(tmp_path),
            NUMBA_CACHE_DIR=str(cache),
            **{SWITCH: ""},
        )
        assert done.stdout.startswith(reason)
        assert done.stdout.splitlines()[1] == TWINS
        results = np.load(tmp_path / "results.npz")
        assert all(np.array_equal(results[name], plain[name]) for name in plain)
    # beside the plain set, which is kept apart, only what was found out and what both sets share is there
    assert not [
        path.name for path in cache.rglob("*.nb?") if re.match("(exact|grid|pairwise|sparse_att)", path.name)
    ]
    (answer,) = cache.glob("vectors-*.txt")
    assert answer.read_text().startswith("vectors do not work: ")


@needs_vectors
@pytest.mark.slow
def test_a_trial_that_says_nothing_lasting_is_made_again(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif 'probe()' in sys.orig_argv[-1]:\n    os.kill(os.getpid(), 9)\n"
    )
    code = "from langscape.kernels import dispatch; print(dispatch.PLAIN_BECAUSE)"
    cache = tmp_path / "cache"
    settings = {"NUMBA_CACHE_DIR": str(cache), SWITCH: "0"}
    (tmp_path / "ask.py").write_text(code)
    assert "could not be tried" in python(tmp_path / "ask.py", first=str(tmp_path), **settings).stdout
    assert not list(cache.glob("vectors-*.txt"))
    (tmp_path / "sitecustomize.py").unlink()
    assert python(tmp_path / "ask.py", **settings).stdout.strip() == ""
    assert len(list(cache.glob("vectors-*.txt"))) == 1


@pytest.mark.parametrize("given", ["cache", "cache/plain"])
@pytest.mark.parametrize("switch", ["1", "0"])
def test_a_process_keeps_its_own_set_apart_whatever_its_parent_chose(tmp_path, given, switch):
    root = tmp_path / "cache"
    root.mkdir()
    for answer in ROOT.glob("vectors-*.txt"):
        (root / answer.name).write_text(answer.read_text())
    code = (
        "from langscape.kernels import dispatch; import numba, os; "
        "print(dispatch.PLAIN); print(numba.config.CACHE_DIR); print(os.environ['NUMBA_CACHE_DIR'])"
    )
    done = python("-c", code, NUMBA_CACHE_DIR=str(tmp_path / given), **{SWITCH: switch})
    plain, *folders = done.stdout.split()
    assert plain == str(switch == "1" or dispatch.PLAIN)
    assert folders == [str(root / "plain" if plain == "True" else root)] * 2


def test_the_probe_uses_every_operation_that_kernels_use():
    probe = (SOURCES / "simd.py").read_text()
    kernels = "".join(path.read_text() for path in SOURCES.glob("*.py") if path.name != "simd.py")
    used = set(re.findall(r"\bbuild\.(\w+)\(", kernels))
    assert {"shuffle_vector", "fdiv"} & used  # the pattern still finds them
    whole_numbers = {"add", "sub", "mul", "and_", "zext"}
    assert used - whole_numbers <= set(re.findall(r"\bbuild\.(\w+)\(", probe))
    lanes = {name for name in vars(simd.Lanes) if not name.startswith("_")}
    inside = probe.partition("def _with_every_operation")[2]
    assert lanes <= set(re.findall(r"\blanes\.(\w+)\(", inside))


def test_importing_the_package_tries_nothing():
    code = (
        "import langscape, sys; print([name for name in sys.modules if name.startswith('langscape.kernels')])"
    )
    assert python("-c", code).stdout.strip() == "[]"


@pytest.mark.slow
def test_warm_says_when_it_compiles_the_plain_set():
    done = python("-c", "from langscape.cli import main; main()", "warm", **{SWITCH: "1"})
    assert (
        done.stderr.strip()
        == f"kernels are compiled: the plain ones, which are slower, since {SWITCH} is set"
    )
    compiled = {path.name.partition(".")[0] for path in (ROOT / "plain").rglob("*.nbi")}
    assert {"pairwise_forces", "grid", "sparse_attraction", "exact"} <= compiled
