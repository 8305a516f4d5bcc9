"""What the two experiments of Müller 2023 share: their runs, tables, pictures and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._captures import text_capture
from langscape.analyses._kl_runs import HIDDEN, kl_runs
from langscape.data import Capture, Progress, Shown, View
from langscape.declarations import Setting, picture
from langscape.declarations.running import each
from langscape.errors import SettingsError, not_there
from langscape.io.codec import noun
from langscape.store.results import Table

CHUNK = 10
"""Runs of one task; a multiple of how many schedules there are is not needed, since runs are numbered."""

FORMATS = (".csv", ".parquet", ".html", ".png", ".svg", ".pdf")

Names = Annotated[
    list[str] | None,
    Setting("Names", "What the texts are called in tables and pictures; by their files.", names="files"),
]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Shown):
    """What came out: every run, and what it comes to.

    runs     a row per run: text, layer, head (-1 for hidden states), disturbed, run, kl
    summary  a row per layer and method (and, in robustness, per head): mean, sd and what `kind` adds
    """

    kind: Literal["compare", "robustness"]
    title: str
    runs: Table
    summary: Table
    notes: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """What the texts are called, in the order in which they were given."""
        return list(dict.fromkeys(self.runs["text"].tolist()))

    def named(self, names: Sequence[str] | None) -> Experiment:
        """The same with other names of its texts."""
        if names is None:
            return self
        if len(set(names)) != len(self.texts):
            raise SettingsError(
                f"{len(self.texts)} texts have the names {', '.join(names)}; give each a name of its own"
            )
        called = dict(zip(self.texts, names, strict=True))
        column = np.array([called[one] for one in self.runs["text"].tolist()], object)
        return replace(self, runs=Table({**self.runs.columns, "text": column}, self.runs.facts))

    def views(self, *, title: str | None = None) -> list[View]:
        """Box plots over the layers; of several texts, all together first and then each."""
        texts, title = self.texts, title or self.title
        pictures = [self._view(self.runs, title, "all texts" if len(texts) > 1 else texts[0])]
        if len(texts) > 1:
            pictures += [self._view(_where(self.runs, text=text), f"{text}: {title}", text) for text in texts]
        return pictures

    def save(self, path: str | Path, *, title: str | None = None, names: Sequence[str] | None = None) -> Path:
        """Write the summary (.csv), all runs (.parquet), a page (.html) or a figure (.png, .svg, .pdf)."""
        from langscape.views import write
        from langscape.views.table import write_columns

        found, path = self.named(names), Path(path)
        suffix = path.suffix.lower()
        if suffix == ".csv":
            return write_columns(found.summary.columns, path)
        if suffix == ".parquet":
            from langscape.io.atomic_write import atomic_write
            from langscape.store.results import write as write_result

            with atomic_write(path) as aside:
                write_result(found.runs, aside)
            return path
        shown = found.views(title=title)
        return write(shown if suffix == ".html" else shown[0], path)

    def save_all(
        self, folder: str | Path, *, title: str | None = None, names: Sequence[str] | None = None
    ) -> list[Path]:
        """Write page, summary and all runs into a folder."""
        files = ("index.html", "summary.csv", "runs.parquet")
        return [self.save(Path(folder) / name, title=title, names=names) for name in files]

    def lines(self, columns: Sequence[str]) -> list[str]:
        """The summary as lines of text, single heads left out."""
        table = self.summary
        out = ["  ".join(f"{name:>{max(8, len(name))}}" for name in columns)]
        for at in range(len(table)):
            if table["method"][at] != "head":
                cells = [f"{_cell(table[name][at]):>{max(8, len(name))}}" for name in columns]
                out.append("  ".join(cells))
        return out

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


@picture("boxes", name="boxes")
def boxes_picture(found: Experiment, context: Any, *, names: Names = None) -> View:
    """The KLs of both methods as box plots, layer by layer, all texts together."""
    return found.named(names).views(title=context.title)[0]


def save(found: Experiment, path: Path, *, title: str | None = None, names: Names = None) -> Path:
    """One file of the experiment."""
    return found.save(path, title=title, names=names)


def run_all(
    model: Any,
    texts: Sequence[str],
    runs: int,
    settings: Mapping[str, Any],
    *,
    share: float = 0.0,
    title: str,
    workers: int | None,
    cluster: str | None,
    progress: Progress | None,
) -> Table:
    """Every run as one table; with `share`, each text also with that share of its tokens replaced."""
    calls: list[dict[str, Any]] = []
    of: list[tuple[str, bool]] = []
    for at, text in enumerate(texts):
        name = "text" if len(texts) == 1 else f"text {at + 1}"
        reading = {name: settings[name] for name in ("cut", "first_tokens", "generate")}
        seen = text_capture(model, text, **reading)
        known = {**settings, "model": model, "text": text, "heads": _heads(seen, settings["heads"])}
        layers = _layers(seen, settings["layers"])
        for first in range(0, runs, CHUNK):
            part = {**known, "first": first, "count": min(CHUNK, runs - first)}
            calls += [{**part, "layers": [layer]} for layer in layers]
            of += [(name, False)] * len(layers)
            if share:
                calls.append({**part, "layers": layers, "share": share})
                of.append((name, True))
    found = each(kl_runs, calls, title=title, workers=workers, cluster=cluster, progress=progress)
    parts: list[dict[str, np.ndarray]] = []
    for (name, disturbed), table in zip(of, found, strict=True):
        size = len(table)
        columns = {"text": np.full(size, name, object), "layer": table["layer"], "head": table["head"]}
        if share:
            columns["disturbed"] = np.full(size, disturbed)
        parts.append({**columns, "run": table["run"], "kl": table["kl"]})
    return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _layers(seen: Capture, wanted: Sequence[int] | None) -> list[int]:
    known = seen.layers_of(seen.name_of("hidden"))
    absent = [layer for layer in wanted or () if layer not in known]
    if absent:
        raise not_there("hidden layer", absent[0], known)
    return list(known) if wanted is None else sorted({int(layer) for layer in wanted})


def _heads(seen: Capture, wanted: Sequence[int] | None) -> list[int] | None:
    known = seen.heads_of(seen.name_of("attention"))
    absent = [head for head in wanted or () if head not in known]
    if absent:
        raise not_there("head", absent[0], known)
    return None if wanted is None else sorted({int(head) for head in wanted})


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value != value:
        return "–"
    return f"{value}" if isinstance(value, Integral) else f"{value:z.4f}"


def _where(table: Table, **values: Any) -> Table:
    keep = np.ones(len(table), bool)
    for name, value in values.items():
        keep &= table[name] == value
    return Table({name: column[keep] for name, column in table.columns.items()}, table.facts)


def _by_layer(runs: Table) -> dict[tuple[str, str], np.ndarray]:
    """KLs by layer and method, the heads of a layer together."""
    groups: dict[tuple[str, str], np.ndarray] = {}
    for layer in np.unique(runs["layer"]):
        of_layer = _where(runs, layer=layer)
        for method, chosen in (
            ("hidden states", of_layer["head"] == HIDDEN),
            ("heads", of_layer["head"] != HIDDEN),
        ):
            if chosen.any():
                groups[str(layer), method] = of_layer["kl"][chosen]
    return groups


def _by_disturbance(runs: Table) -> dict[tuple[str, str], np.ndarray]:
    """KLs over the undisturbed mean of the same head, by layer, method and disturbance."""
    groups: dict[tuple[str, str], list[np.ndarray]] = {}
    names = {HIDDEN: "hidden states"}
    for layer in np.unique(runs["layer"]):
        heads = np.unique(runs["head"][runs["layer"] == layer])
        for head in heads:
            method = names.get(int(head), "heads")
            plain, changed = _pair(_where(runs, layer=layer, head=head))
            for name, kls in ((method, plain), (f"{method}, disturbed", changed)):
                groups.setdefault((str(layer), name), []).append(kls / np.nanmean(plain))
    return {key: np.concatenate(parts) for key, parts in groups.items()}


def compare_summary(runs: Table) -> Table:
    """A row per layer and method: the KLs of all runs, and their spread within one head."""
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


def robustness_summary(runs: Table) -> Table:
    """A row per layer, method and head: deviations with and without replaced tokens, and their ratio."""
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
