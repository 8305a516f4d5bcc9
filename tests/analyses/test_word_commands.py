"""The commands a new user types, in a process of their own."""

import csv
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from langscape import read_map
from langscape.sources import samples, write_vectors


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    write_vectors(folder / "words.npz", samples.words())
    listed = samples.groups()
    with (folder / "list.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("word", "group"), *zip(listed.words[::3], listed.groups[::3], strict=True)]
        )
    (folder / "plain.txt").write_text("tea\noslo\n")
    return folder


def langscape(folder, *words, check=True, **env):
    command = [sys.executable, "-m", "langscape.cli", *map(str, words)]
    home = {"LANGSCAPE_HOME": str(folder / "home"), **({"NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"]})}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, **home, **env}, timeout=300
    )
    assert "Traceback" not in done.stderr, done.stderr
    if check:
        assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module", autouse=True)
def _kernels():
    import langscape.kernels  # noqa: F401  sets NUMBA_CACHE_DIR, so that the commands compile nothing again


@pytest.mark.slow
def test_from_vectors_to_a_map_with_new_words_and_its_figures(folder):
    done = langscape(
        folder,
        "words",
        "words.npz",
        "--words",
        "list.csv",
        "--neighbours",
        "local",
        "-o",
        "m.parquet",
        "-o",
        "m.csv",
    )
    assert done.stdout.split() == ["m.parquet", "m.csv"]
    assert "local" in done.stderr
    m = read_map(folder / "m.parquet")
    assert [*m.items.columns, *m.per_point] == [
        "group",
        "score",
        "local",
        "global",
        "ndcg",
        "trustworthiness",
        "continuity",
    ]
    with (folder / "m.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == list(m.labels)
    assert float(rows[0]["x"]) == m.xy[0, 0]

    done = langscape(
        folder, "insert", "m.parquet", "music", "music", "nonsuchword", m.labels[0], "--vectors", "words.npz",
        "-o", "n.parquet",
    )  # fmt: skip
    assert f"{m.labels[0]} is already on the map" in done.stderr
    assert f"{m.labels[0]}: near" not in done.stderr
    assert "nonsuchword" in done.stderr
    assert done.stderr.count("music: near") == 1
    assert "music is named more than once" in done.stderr
    n = read_map(folder / "n.parquet")
    assert len(n) == len(m) + 1
    assert np.array_equal(n.xy[:-1], m.xy)

    done = langscape(folder, "insert", "n.parquet", "music", "--vectors", "words.npz", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "music is already on the map, so there is nothing to insert" in done.stderr

    done = langscape(folder, "measure", "m.parquet", "--k", "10")
    assert f"{100 * m.quality['local']:.2f}" in done.stdout
    for k in (0, len(m)):
        done = langscape(folder, "measure", "m.parquet", "--k", k, check=False)
        assert (done.returncode, f"k = {k} neighbours were asked for" in done.stderr) == (1, True)


@pytest.mark.slow
def test_asked_again_the_same_map_comes_from_the_store(folder):
    first = langscape(folder, "words", "words.npz", "--limit", "300", "-o", "a.parquet")
    again = langscape(folder, "words", "words.npz", "--limit", "300", "-o", "b.parquet")
    assert first.stderr == again.stderr
    assert np.array_equal(read_map(folder / "a.parquet").xy, read_map(folder / "b.parquet").xy)


@pytest.mark.slow
def test_an_earlier_map_can_be_the_start(folder):
    langscape(folder, "words", "words.npz", "--limit", "200", "-o", "old.parquet")
    done = langscape(
        folder, "words", "words.npz", "--limit", "220", "--initial-map", "old.parquet", "-o", "new.parquet"
    )
    assert "220 items" in done.stderr
    assert read_map(folder / "new.parquet").settings["initial"] == "map"


@pytest.mark.slow
def test_landmarks_carry_all_other_words(folder):
    for sample in ("frequency", "random", "kmeans"):
        langscape(
            folder,
            "words",
            "words.npz",
            "--landmarks",
            "600",
            "--sample",
            sample,
            "--workers",
            "0",
            "--theta",
            "0.05",
            "-o",
            "big.parquet",
        )
        big = read_map(folder / "big.parquet")
        assert big.settings["insertion"]["theta"] == 0.05
        assert len(big) == 5000
        assert big.quality["rows"] == 1000
        assert any("of the 600 landmarks" in note for note in big.notes)
        assert big.items.columns["inserted"].sum() == 4400
        assert sorted(big.labels) == sorted(samples.words().words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["words", "nowhere.txt", "-o", "m.parquet"], "nowhere.txt"),
        (["words", "words.npz", "-o", "m.docx"], ".docx"),
        # what cannot be written or drawn is told before the vectors are looked at
        (["words", "nowhere.txt", "-o", "words.npz/m.png"], "cannot write words.npz/m.png"),
        (
            ["words", "nowhere.txt", "--words", "list.csv", "--color", "grop"],
            "color 'grop' is not known; use group, local, global, ndcg, trustworthiness",
        ),
        (["words", "nowhere.txt", "--color", "group"], "color 'group' is not known; use local, global"),
        (
            ["words", "nowhere.txt", "--words", "plain.txt", "--neighbours", "local", "--color", "group"],
            "use score, local",
        ),
        (["words", "nowhere.txt", "--sample", "foo"], "'foo' is not one of 'frequency', 'random', 'kmeans'"),
        (["words", "words.npz", "--words", "nolist.csv"], "nolist.csv"),
        (["words", "words.npz", "--limit", "20", "--perplexity", "90"], "perplexity 90"),
        (["words", "words.npz", "--limit", "50", "--init", "sideways"], "'sideways' is not one of 'pca'"),
        (["words", "words.npz", "--landmarks", "9000"], "9,000 landmarks"),
        (["insert", "nomap.parquet", "tea", "--vectors", "words.npz"], "nomap.parquet"),
        (["insert", "words.npz", "--vectors", "words.npz"], "name the words"),
        (
            ["insert", "words.npz", "tea", "--vectors", "words.npz", "--neighbours", "some"],
            "--neighbours is 'some'",
        ),
        (["measure", "words.npz"], "words.npz"),
    ],
)
def test_a_mistake_is_one_clear_message(folder, words, said):
    done = langscape(folder, *words, check=False)
    assert done.returncode != 0
    assert said in done.stderr


def test_a_file_that_cannot_be_written_does_not_cost_the_others(folder):
    how = ("--words", "plain.txt", "--words", "list.csv", "--steps", "50", "--perplexity", "5")
    done = langscape(
        folder, "words", "words.npz", *how, "--point", "nosuch", "-o", "p.svg", "-o", "p.csv", check=False
    )
    assert done.returncode != 0
    assert "point 'nosuch' is not on the map" in done.stderr
    assert not (folder / "p.svg").exists()
    assert (folder / "p.csv").read_text().startswith("label,x,y")


def test_control_c_is_one_line_and_one_code(monkeypatch, capsys):
    from langscape import cli
    from langscape.errors import Cancelled

    for raised, said in (
        (KeyboardInterrupt(), "stopped; what was finished"),
        (Cancelled("stopped after 3 steps"), "stopped after 3 steps"),
    ):

        def stop(*_, raised=raised, **__):
            raise raised

        monkeypatch.setattr(sys, "argv", ["langscape", "words", "nowhere.txt"])
        monkeypatch.setattr("langscape.store.Store.run", stop)
        with pytest.raises(SystemExit) as end:
            cli.main()
        lines = capsys.readouterr().err.splitlines()
        assert (end.value.code, len(lines), lines[0][: len(said)]) == (130, 1, said)


@pytest.mark.slow
def test_control_c_keeps_the_map_as_it_stood(folder):
    command = [sys.executable, "-m", "langscape.cli", "words", "words.npz", "--limit", "600"]
    ours, theirs = os.openpty()  # on a terminal the bar tells when the descent is on its way
    process = subprocess.Popen(
        [*command, "--steps", "20000", "-o", "part.parquet"],
        cwd=folder,
        stderr=theirs,
        env={**os.environ, "LANGSCAPE_HOME": str(folder / "home"), "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    try:
        said = read_until(ours, b"kl")
        process.send_signal(signal.SIGINT)
        said += read_until(ours, None)
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        os.close(ours)
    assert "as it stood" in " ".join(said.decode().split())
    assert read_map(folder / "part.parquet").xy.shape == (600, 2)
    assert read_map(folder / "part.parquet").vectors is not None


def test_a_stopped_map_does_not_take_the_place_of_a_finished_one(tmp_path):
    from langscape.cli.commands import _keep_partial
    from langscape.data import Items, Map
    from langscape.errors import Cancelled

    there = tmp_path / "map.parquet"
    there.write_text("finished")
    stood = Map(np.zeros((2, 2)), Items.numbered(2))
    with pytest.raises(Cancelled, match="as it stood"):
        _keep_partial(Cancelled("stopped", partial=stood), [there, tmp_path / "other.csv"], "a map")
    assert there.read_text() == "finished"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "map.parquet", "map.stopped.parquet", "other.csv",
    ]  # fmt: skip


def read_until(terminal, words):
    """What the terminal shows until the words are seen, or until it is closed."""
    said = b""
    while words is None or words not in said.lower():
        try:
            new = os.read(terminal, 4096)
        except OSError:  # closed at the other end
            new = b""
        if not new:
            break
        said += new
    return said


def test_the_demo_inserts_words_that_its_map_does_not_have():
    from langscape.cli.demo import INSERTED

    assert not set(INSERTED) & set(samples.groups().words)
    assert set(INSERTED) <= set(samples.words().words)


def test_notes_that_a_map_had_before_are_not_said_again(capsys):
    from langscape.cli.outputs import summary
    from langscape.data import Items, Map

    summary(Map(np.zeros((2, 2)), Items.numbered(2), notes=("new", "old")), known=("old",))
    said = capsys.readouterr().err
    assert "new" in said
    assert "old" not in said


def test_cells_without_a_value_are_empty_in_a_csv(tmp_path):
    from langscape.views.table import write_columns

    columns = {
        "label": np.array(["a", "b"], object),
        "score": np.array([10.0, np.nan]),
        "inserted": np.array([False, True]),
    }
    write_columns(columns, tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text().split() == ["label,score,inserted", "a,10,False", "b,,True"]
