"""New words on a finished map, at once: what is typed is placed while the user looks."""

from __future__ import annotations

import difflib
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from langscape.analyses._packed_vectors import packed_rows, packed_vectors, read_words
from langscape.analyses._placement import insertion_settings
from langscape.analyses.insert import insert as insert_analysis
from langscape.data import Map
from langscape.declarations import Finished, Parameter, declaration_of
from langscape.declarations.running import using
from langscape.declarations.validation import check_settings
from langscape.errors import DataError, SettingsError
from langscape.metrics.score import NOT_TO_BE_READ
from langscape.sources import Vectors, match_words

MOST = 2000
"""Words placed in one call."""

# compiled loops share one team of threads, and only one caller may use it
_ONE_AT_A_TIME = threading.Lock()


def insertion_parameters() -> tuple[Parameter, ...]:
    """The settings of an insertion, as `insert` declares them."""
    return declaration_of(insert_analysis).signature.settings


def insert_words(finished: Finished, words: Sequence[str], settings: Any) -> dict[str, Any]:
    """Where words land, what they are like, and which the vectors do not hold."""
    started = time.perf_counter()
    base = _base(finished.result, finished.title)
    how = _how(settings)
    rows = {label: row for row, label in reversed(list(enumerate(base.labels)))}
    known = [word for word in words if word in rows]
    others = [word for word in dict.fromkeys(words) if word not in rows]
    vectors, missing = _looked_up(finished, others)
    placed, trust = _placed(base, vectors, how) if len(vectors) else ([], "")
    spellings = _words_of(finished) if missing else ()
    return {
        "words": placed,
        "trust": trust,
        "known": [_known(base, rows[word]) for word in dict.fromkeys(known)],
        "missing": [{"word": word, "like": _alike(word, spellings)} for word in missing],
        "seconds": round(time.perf_counter() - started, 4),
    }


def make_ready() -> None:
    """Load what the first insertion would wait for."""
    from langscape.data import Items
    from langscape.engine import insert

    rng = np.random.default_rng(0)
    base = Map(rng.normal(size=(30, 2)), Items.numbered(30), vectors=rng.normal(size=(30, 4)))
    with _ONE_AT_A_TIME:
        insert(base, rng.normal(size=(1, 4)))


def insert_vector(finished: Finished, name: str, vector: Any, settings: Any) -> dict[str, Any]:
    """Where a vector of the user's own lands."""
    started = time.perf_counter()
    base = _base(finished.result, finished.title)
    how = _how(settings)
    placed, trust = _placed(base, _own(base, {name: vector}), how)
    return {
        "words": placed,
        "trust": trust,
        "known": [],
        "missing": [],
        "seconds": round(time.perf_counter() - started, 4),
    }


def grown(found: Map, finished: Finished, words: Sequence[str], own: Mapping[str, Any] | None = None) -> Map:
    """The map with those words and vectors on it, but for words that are there already or not known."""
    from langscape.engine import insert

    base = _base(found, finished.title)
    there = set(base.labels)
    vectors, missing = _looked_up(finished, [word for word in dict.fromkeys(words) if word not in there])
    notes = (f"not among the vectors: {', '.join(missing[:10])}",) if missing else ()
    if own:
        given = _own(base, own)
        names = [*vectors.words, *given.words]
        vectors = Vectors(names, np.vstack([vectors.matrix, given.matrix]) if len(vectors) else given.matrix)
    if not len(vectors):
        return base.but(notes=(*base.notes, *notes))
    with _ONE_AT_A_TIME:
        made_map = insert(base, vectors.matrix, vectors.words)
    return made_map.but(notes=(*made_map.notes, *notes))


def _how(settings: Any) -> dict[str, Any]:
    checked = check_settings(insertion_parameters(), settings, "insertion")
    how = insertion_settings(**checked)
    return {name: getattr(how, name) for name in checked}


def _base(found: Any, title: str) -> Map:
    if not isinstance(found, Map):
        raise SettingsError(f"{title} is no map of words; open one first")
    if found.vectors is None:
        raise DataError(f"{title} was made without keeping its vectors; insert into its landmarks' map")
    return found


def _own(base: Map, vectors: Mapping[str, Any]) -> Vectors:
    """Vectors that were typed, checked against those of the map."""
    assert base.vectors is not None
    dim = base.vectors.shape[1]
    for name, vector in vectors.items():
        if not isinstance(vector, list) or not all(type(one) in (int, float) for one in vector):
            raise SettingsError(f"{name!r} is not a list of numbers; give {dim}, as the map's vectors have")
        if len(vector) != dim:
            raise SettingsError(f"{name!r} has {len(vector)} numbers; the map's vectors have {dim}")
    with np.errstate(over="ignore"):
        matrix = np.array(list(vectors.values()), np.float32)
    if not matrix.any(axis=1).all():
        raise DataError("a vector of zeros is similar to nothing; give another")
    return Vectors(list(vectors), matrix)


def _placed(base: Map, new: Vectors, how: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Each new word, and the scores of all of them against chance."""
    from langscape.engine import insert
    from langscape.views.trust import inserted_summary

    with _ONE_AT_A_TIME:
        result = insert(base, new.matrix, new.words, keep_vectors=False, **how)
    assert base.vectors is not None
    unit = _unit(base.vectors)
    out = []
    for at in range(len(base), len(result)):
        odd = bool(result.items.columns["dissimilar"][at])
        verdict, local = str(result.items.columns["verdict"][at]), float(result.per_point["local"][at])
        out.append(
            {
                "word": result.labels[at],
                "xy": [float(one) for one in result.xy[at]],
                "dissimilar": odd,
                "nearest": _nearest(base, unit, new.matrix[at - len(base)]),
                "local": _finite(local),
                "verdict": verdict,
                "reason": reason(verdict, local, result.quality.get("k"), odd),
                "global": _finite(result.per_point["global"][at]),
            }
        )
    return out, inserted_summary(result)


def reason(verdict: str, local: float, k: float | None, odd: bool) -> str:
    """Why the place of a word has its verdict, in words.

    >>> reason("good", 0.6, 10, False)
    '6 of its 10 nearest lie near it here, far better than chance'
    >>> reason("not to be read", 0.1, 10, False)
    'not to be read: 1 of its 10 nearest lie near it here, not clearly better than chance'
    """
    kept = f"{round(local * k)} of its {int(k)} nearest lie near it here" if k and np.isfinite(local) else ""
    if odd:
        return f"{NOT_TO_BE_READ}: it is unlike everything on the map" + (f", though {kept}" if kept else "")
    if verdict == NOT_TO_BE_READ:
        return f"{NOT_TO_BE_READ}: {kept}, not clearly better than chance"
    beside = {"good": ", far better than chance", "partly": ", better than chance"}.get(verdict, "")
    return kept + beside


def _known(base: Map, row: int) -> dict[str, Any]:
    assert base.vectors is not None
    nearest = _nearest(base, _unit(base.vectors), base.vectors[row], leave_out=row)
    return {
        "word": base.labels[row],
        "row": row,
        "xy": [float(one) for one in base.xy[row]],
        "nearest": nearest,
    }


def _nearest(base: Map, unit: np.ndarray, vector: np.ndarray, leave_out: int = -1) -> list[dict[str, Any]]:
    similar = unit @ (vector / max(float(np.linalg.norm(vector)), 1e-12))
    if leave_out >= 0:
        similar[leave_out] = -np.inf
    order = np.argsort(-similar, kind="stable")[: min(8, len(base) - (leave_out >= 0))]
    return [{"word": base.labels[i], "row": int(i), "similarity": round(float(similar[i]), 4)} for i in order]


def _unit(X: np.ndarray) -> np.ndarray:
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _looked_up(finished: Finished, words: Sequence[str]) -> tuple[Vectors, list[str]]:
    """The vectors of those words, read row by row from the packed file, and the words it lacks."""
    from safetensors import safe_open

    if not words:
        return Vectors([], np.empty((0, 1), np.float32)), []
    path, index = _index(finished)
    found = match_words(words, index)
    if not found.rows:
        return Vectors([], np.empty((0, 1), np.float32)), list(found.missing)
    with safe_open(path, framework="numpy") as file:
        rows = file.get_slice("vectors")
        matrix = np.concatenate([np.asarray(rows[row : row + 1]) for row in found.rows])
    names = [words[place] for place in found.kept]
    good = np.flatnonzero(matrix.any(axis=1))  # a row of zeros has no direction
    bad = [name for at, name in enumerate(names) if at not in set(good.tolist())]
    return Vectors([names[i] for i in good], matrix[good]), [*found.missing, *bad]


def _index(finished: Finished) -> tuple[Path, Mapping[str, int]]:
    """The packed vectors that the map was made from; packed now, where nobody has needed them yet."""
    if "vectors" not in finished.recipe.inputs:
        raise SettingsError(f"{finished.title} is no map of words; open one first")
    with using(finished.store):
        path = packed_vectors(finished.recipe.inputs["vectors"])  # type: ignore[arg-type]
    return path, _rows_of(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=3)
def _rows_of(path: Path, stamp: int) -> Mapping[str, int]:
    words = read_words(path)
    assert len(words) == packed_rows(path)
    return {word: row for row, word in enumerate(words)}


def _words_of(finished: Finished) -> Sequence[str]:
    return list(_index(finished)[1])[:50_000]


def _alike(word: str, spellings: Sequence[str]) -> list[str]:
    """Words spelled alike, for somebody who mistyped; of long lists the most frequent are looked at."""
    near = [one for one in spellings if abs(len(one) - len(word)) <= 2 and one[:1] == word[:1].lower()]
    return difflib.get_close_matches(word.lower(), near[:5000], n=3, cutoff=0.7)
