"""The two experiments of document 000 as sweeps: KL of both methods layer by layer, and how robust it is.

`compare` sets hidden-state t-SNE beside the t-SNE of every head; `robustness` replaces tokens and asks how
much more the KL then varies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from langscape.data import Progress, View
from langscape.errors import DataError, SettingsError, not_there
from langscape.models.titles import model_title
from langscape.run.captures import capture_recipe
from langscape.run.recipe import Recipe
from langscape.run.results import Table
from langscape.run.runs import HIDDEN
from langscape.run.store import Store
from langscape.run.sweep import Sweep

CHUNK = 10
"""Runs of one task; a multiple of how many schedules there are is not needed, since runs are numbered."""

Text = str | Path | None
Kind = Literal["compare", "robustness"]


@dataclass(frozen=True, eq=False)
class Experiment:
    """What came out: every run, and what it comes to.

    runs     a row per run: text, layer, head (-1 for hidden states), disturbed, run, kl
    summary  a row per layer and method (and, in robustness, per head): mean, sd and what `kind` adds
    """

    kind: Kind
    title: str
    runs: Table
    summary: Table
    notes: tuple[str, ...] = ()

    def views(self) -> list[View]:
        """Box plots over the layers; of several texts, all together first and then each."""
        texts = list(dict.fromkeys(self.runs["text"].tolist()))
        pictures = [self._view(self.runs, self.title, "all texts" if len(texts) > 1 else texts[0])]
        if len(texts) > 1:
            pictures += [
                self._view(_where(self.runs, text=text), f"{text}: {self.title}", text) for text in texts
            ]
        return pictures

    def _view(self, runs: Table, title: str, text: str) -> View:
        from langscape.views import boxes

        count = len(np.unique(runs["run"]))
        compared = self.kind == "compare"
        return boxes(
            _by_layer(runs) if compared else _by_disturbance(runs),
            title=title,
            x="layer (hidden layer 0 is the embedding; the last has no heads)",
            y="KL, nats" if compared else "KL as a share of its own undisturbed mean",
            subtitle=f"{text} · {count:,} runs of each",
            notes=self.notes,
        )


def comparison(
    model: str = "default",
    texts: Mapping[str, Text] | Text = None,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    runs: int = 100,
    store: Store | None = None,
    cut: bool = False,
    **settings: Any,
) -> Sweep:
    """The sweep behind `compare`; `settings` are special, perplexity, steps and schedule."""
    store = store or Store()
    tasks: dict[str, Recipe] = {}
    for name, text in named_texts(texts).items():
        seen = capture_recipe(model, text, cut=cut)
        shape = _shape(store, seen)
        for layer in _layers(shape, layers):
            for first, count in _chunks(runs):
                chosen = {
                    **settings,
                    "layers": [layer],
                    "heads": _heads(heads),
                    "first": first,
                    "count": count,
                }
                tasks[f"{name}|{layer}|{first}"] = Recipe("heads.runs", chosen, {"capture": seen})
    return Sweep(tasks, store=store, title=f"compare {model}")


def compare(
    model: str = "default",
    texts: Mapping[str, Text] | Text = None,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Experiment:
    """KL of hidden-state t-SNE and of attention-head t-SNE, layer by layer, over many runs.

    texts is a text, a file (a Path), several by name, or None for a sample text. settings are layers,
    heads, runs (100), special ("keep", the document's), perplexity (20, of the hidden states), steps,
    schedule ("ours" or "document"), cut and store. What was computed before is not computed again.
    """
    sweep = comparison(model, texts, **settings)
    finish(sweep, workers, cluster, progress)
    return compared(sweep, model)


def compared(sweep: Sweep, model: str) -> Experiment:
    """The experiment of a finished `comparison`."""
    rows = _gathered(sweep, disturbed=False)
    summary = _compare_summary(rows)
    title = f"KL of hidden states and heads, {model_title(model)}"
    return Experiment("compare", title, rows, summary)


def disturbance(
    model: str = "default",
    text: Text = None,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    repeats: int = 1000,
    share: float = 0.05,
    store: Store | None = None,
    cut: bool = False,
    **settings: Any,
) -> Sweep:
    """The sweep behind `robustness`: undisturbed runs of one capture, each disturbed run of its own."""
    if not 0 < share <= 1:
        raise SettingsError(f"share {share:g} is not possible; it is above 0 and at most 1, 0.05 for 5 %")
    store = store or Store()
    seen = capture_recipe(model, text, cut=cut)
    shape = _shape(store, seen)
    name = next(iter(named_texts(text)))
    chosen = {**settings, "layers": _layers(shape, layers), "heads": _heads(heads)}
    inputs = {"text": text} if isinstance(text, Path) else {}
    said = {"model": model, "cut": cut, "share": share}
    said |= {} if isinstance(text, Path) else {"text": text}
    tasks: dict[str, Recipe] = {}
    for first, count in _chunks(repeats):
        for layer in chosen["layers"]:
            plain = {**chosen, "layers": [layer], "first": first, "count": count}
            tasks[f"{name}|{layer}|{first}"] = Recipe("heads.runs", plain, {"capture": seen})
        tasks[f"{name}|disturbed|{first}"] = Recipe(
            "heads.disturbed", {**chosen, **said, "first": first, "count": count}, inputs
        )
    return Sweep(tasks, store=store, title=f"robustness of {model}")


def robustness(
    model: str = "default",
    text: Text = None,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Experiment:
    """How KL varies when tokens are replaced, for hidden states and heads, layer by layer.

    settings are those of `compare`, with repeats (1000) in place of runs, and share (0.05) of the tokens. The
    ratio of the disturbed to the undisturbed standard deviation says how much of the variation is due to the
    text rather than to where a run began.
    """
    sweep = disturbance(model, text, **settings)
    finish(sweep, workers, cluster, progress)
    return disturbed(sweep, model, settings.get("share", 0.05))


def disturbed(sweep: Sweep, model: str, share: float) -> Experiment:
    """The experiment of a finished `disturbance`."""
    rows = _gathered(sweep)
    title = f"KL with {100 * share:g} % of the tokens replaced, {model_title(model)}"
    return Experiment("robustness", title, rows, _robustness_summary(rows))


def finish(sweep: Sweep, workers: int | None, cluster: str | None, progress: Progress | None) -> None:
    """Run what is missing; a task that failed is an error that names it."""
    report = sweep.run(workers=workers, cluster=cluster, progress=progress)
    if report.failed:
        key, why = next(iter(report.failed.items()))
        raise DataError(f"{len(report.failed)} of {report.total} tasks failed, the first is {key}: {why}")


def named_texts(texts: Mapping[str, Text] | Text) -> dict[str, Text]:
    """Texts by the name they are shown under: a file's name, or "text"."""
    if isinstance(texts, Mapping):
        if not texts:
            raise SettingsError("no text is given; name at least one")
        return {str(name).replace("|", " "): text for name, text in texts.items()}
    if isinstance(texts, Path):
        return {texts.name.replace("|", " "): texts}
    return {"sample text" if texts is None else "text": texts}


def _chunks(runs: int) -> list[tuple[int, int]]:
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise SettingsError(f"{runs!r} runs are too few for a distribution; ask for 2 or more")
    return [(first, min(CHUNK, runs - first)) for first in range(0, runs, CHUNK)]


def _shape(store: Store, seen: Recipe) -> dict[str, Any]:
    """Which layers and heads a capture holds; it is made where it is not there yet."""
    made = store.run(seen).facts["made"]
    side = "" if "attention" in made["layers"] else "encoder_"
    return {"hidden": made["layers"][f"{side}hidden"], "heads": made["heads"][f"{side}attention"]}


def _layers(shape: Mapping[str, Any], wanted: Sequence[int] | None) -> list[int]:
    held = shape["hidden"]
    absent = [layer for layer in wanted or () if layer not in held]
    if absent:
        raise not_there("hidden layer", absent[0], held)
    return list(held) if wanted is None else sorted({int(layer) for layer in wanted})


def _heads(heads: Sequence[int] | None) -> list[int] | None:
    return None if heads is None else sorted({int(head) for head in heads})


def _gathered(sweep: Sweep, disturbed: bool | None = None) -> Table:
    """Every run of the sweep as one table."""
    parts: list[dict[str, np.ndarray]] = []
    for key, table in sweep.results():
        name, what, _ = key.split("|")
        size = len(table)
        told = {
            "text": np.full(size, name, object),
            "layer": table["layer"],
            "head": table["head"],
            "disturbed": np.full(size, what == "disturbed"),
            "run": table["run"],
            "kl": table["kl"],
        }
        parts.append({k: v for k, v in told.items() if disturbed is None or k != "disturbed"})
    return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _where(table: Table, **values: Any) -> Table:
    keep = np.ones(len(table), bool)
    for name, value in values.items():
        keep &= table[name] == value
    return Table({name: column[keep] for name, column in table.columns.items()}, table.facts)


def _by_layer(runs: Table) -> dict[tuple[str, str], np.ndarray]:
    """KLs by layer and method, the heads of a layer together."""
    made: dict[tuple[str, str], np.ndarray] = {}
    for layer in np.unique(runs["layer"]):
        of_layer = _where(runs, layer=layer)
        for method, chosen in (
            ("hidden states", of_layer["head"] == HIDDEN),
            ("heads", of_layer["head"] != HIDDEN),
        ):
            if chosen.any():
                made[str(layer), method] = of_layer["kl"][chosen]
    return made


def _by_disturbance(runs: Table) -> dict[tuple[str, str], np.ndarray]:
    """KLs over the undisturbed mean of the same head, by layer, method and disturbance."""
    made: dict[tuple[str, str], list[np.ndarray]] = {}
    names = {HIDDEN: "hidden states"}
    for layer in np.unique(runs["layer"]):
        heads = np.unique(runs["head"][runs["layer"] == layer])
        for head in heads:
            method = names.get(int(head), "heads")
            plain, changed = _pair(_where(runs, layer=layer, head=head))
            for name, kls in ((method, plain), (f"{method}, disturbed", changed)):
                made.setdefault((str(layer), name), []).append(kls / np.nanmean(plain))
    return {key: np.concatenate(parts) for key, parts in made.items()}


def _compare_summary(runs: Table) -> Table:
    rows: list[dict[str, Any]] = []
    for layer in np.unique(runs["layer"]):
        of_layer = _where(runs, layer=layer)
        for method, chosen in (("hidden", of_layer["head"] == HIDDEN), ("heads", of_layer["head"] != HIDDEN)):
            if not chosen.any():
                continue
            kls = of_layer["kl"][chosen]
            each = [
                of_layer["kl"][(of_layer["head"] == head) & (of_layer["text"] == text)]
                for head in np.unique(of_layer["head"][chosen])
                for text in np.unique(of_layer["text"])
            ]
            q1, median, q3 = np.nanpercentile(kls, [25, 50, 75])
            rows.append(
                {
                    "layer": int(layer), "method": method, "runs": len(kls), "mean": np.nanmean(kls),
                    "sd": _sd(kls), "sd_of_one": _pooled(each), "min": np.nanmin(kls), "q1": q1,
                    "median": median, "q3": q3, "max": np.nanmax(kls),
                }
            )  # fmt: skip
    return _table(rows)


def _robustness_summary(runs: Table) -> Table:
    rows: list[dict[str, Any]] = []
    for layer in np.unique(runs["layer"]):
        of_layer = _where(runs, layer=layer)
        heads = [int(head) for head in np.unique(of_layer["head"])]
        found = {head: _pair(_where(of_layer, head=head)) for head in heads}
        rows.append(_ratio_row(int(layer), "hidden", "", [found[HIDDEN]]))
        alone = [head for head in heads if head != HIDDEN]
        if alone:
            rows.append(_ratio_row(int(layer), "heads", "all", [found[head] for head in alone]))
        rows += [_ratio_row(int(layer), "head", str(head), [found[head]]) for head in alone]
    return _table(rows)


def _pair(runs: Table) -> tuple[np.ndarray, np.ndarray]:
    """KLs of the undisturbed and the disturbed runs."""
    return runs["kl"][~runs["disturbed"]], runs["kl"][runs["disturbed"]]


def _ratio_row(
    layer: int, method: str, head: str, pairs: Sequence[tuple[np.ndarray, np.ndarray]]
) -> dict[str, Any]:
    plain, changed = ([pair[i] for pair in pairs] for i in (0, 1))
    sd, sd_changed = _pooled(plain), _pooled(changed)
    ratios = [_sd(after) / _sd(before) if _sd(before) > 0 else np.nan for before, after in pairs]
    return {
        "layer": layer, "method": method, "head": head, "repeats": len(plain[0]),
        "mean": float(np.nanmean(np.concatenate(plain))), "sd": sd,
        "mean_disturbed": float(np.nanmean(np.concatenate(changed))), "sd_disturbed": sd_changed,
        "ratio": sd_changed / sd if sd > 0 else np.nan, "median_ratio": float(np.median(ratios)),
    }  # fmt: skip


def _sd(kls: np.ndarray) -> float:
    kls = kls[np.isfinite(kls)]
    return float(kls.std(ddof=1)) if len(kls) > 1 else float("nan")


def _pooled(parts: Sequence[np.ndarray]) -> float:
    """The deviation within one head: the root of the mean variance over heads, so that they may differ."""
    return float(np.sqrt(np.mean([_sd(part) ** 2 for part in parts])))


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns: dict[str, np.ndarray] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        columns[name] = np.array(values, object if isinstance(values[0], str) else None)
    return Table(columns)
