"""`look`: from what you already hold to its picture, in one call.

`KINDS` is the table of all that it takes, one entry each; the first entry that takes an object shows it, and
the table in docs/objects.md is made from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from langscape.data import Capture, Items, Map
from langscape.data.arrays import as_floats, is_array
from langscape.data.tensors import capture_of, capture_of_activations, has_activations
from langscape.errors import DataError, LangscapeError, SettingsError, not_there
from langscape.sources import frames
from langscape.sources.vectors import Vectors

Found = tuple[str, Callable[[], Any]]
"""What an object was taken for and what is done with it, in words; and the doing."""


@dataclass(frozen=True)
class Kind:
    """A kind of object that `look` takes.

    name     what it is called in the documentation
    example  at most three lines from the import to the picture; the documentation shows it, tests run it
    takes    (object, other arguments, settings) → whether it is of this kind
    show     (object, other arguments, settings by name) → what it was taken for, and the doing
    """

    name: str
    example: str
    takes: Callable[[Any, tuple[Any, ...], Mapping[str, Any]], bool]
    show: Callable[..., Found]


def look(x: Any, *args: Any, **settings: Any) -> Any:
    """Look at what you hold: says in one line what it is taken for, and gives the picture of it.

    Models with a text, tensors, tables, vectors, lists of texts, files, and all that langscape made. The
    settings are those of what is then made, such as `restarts`, `perplexity` or `layers`.

    >>> import numpy as np
    >>> found = look({"tea": [0.0, 1], "coffee": [0, 2], "oslo": [9, 0], "rome": [8, 0]}, steps=50)
    A dict of 4 words with vectors of 2 numbers: a map of them.
    >>> found.labels
    ('tea', 'coffee', 'oslo', 'rome')
    """
    sentence, make = _taken(x, args, settings)
    print(sentence)
    return make()


def _taken(x: Any, args: tuple[Any, ...], settings: dict[str, Any]) -> Found:
    for kind in KINDS:
        if kind.takes(x, args, settings):
            try:
                inspect.signature(kind.show).bind(x, *args, **settings)
            except TypeError as error:
                raise SettingsError(f"{kind.name}: {error}; it is given as {kind.example!r}") from None
            return kind.show(x, *args, **settings)
    name = f"{type(x).__module__}.{type(x).__name__}".removeprefix("builtins.")
    raise SettingsError(
        f"langscape.look does not know objects of type {name}; {_way_out(x)}. It takes "
        "models with a text, tensors, tables, vectors, texts and files: docs/objects.md lists them all"
    )


_EAGER = (
    'load the model with attn_implementation="eager" and call it with output_attentions=True, or say '
    "langscape.look(model, text, tokenizer=tokenizer)"
)


def _way_out(x: Any) -> str:
    """What to give instead of an object of no kind."""
    if x is None or (isinstance(x, list | tuple) and len(x) and all(one is None for one in x)):
        return f"a model that kept no attention gives this as outputs.attentions: {_EAGER}"
    if hasattr(x, "convert_ids_to_tokens"):
        return "a tokenizer goes with its model: langscape.look(model, text, tokenizer=tokenizer)"
    if _shapes(x):
        return "give its tokens by name: langscape.look(outputs.attentions, tokens=tokens)"
    if isinstance(x, list | tuple) and not x:
        return "it is empty: give texts, or vectors with labels"
    if isinstance(x, list | tuple | set | frozenset):
        kinds = " and ".join(sorted({type(one).__name__ for one in x}))
        return f"it holds {kinds}: give a list of texts, or langscape.look(array, labels=names)"
    if hasattr(x, "collect"):
        return "collect it first: langscape.look(frame.collect())"
    if inspect.isgenerator(x) or hasattr(x, "__next__"):
        return "make a list of it first: langscape.look(list(x))"
    return "give its vectors: langscape.look(array, labels=names)"


def _known(function: Callable[..., Any], settings: Mapping[str, Any], *taken: str) -> None:
    """Refuse a setting that what is made does not have; those `taken` off before are named too."""
    names = [*taken]
    names += [name for name, one in inspect.signature(function).parameters.items() if one.kind == 3]
    for name in settings:
        if name not in names:
            raise SettingsError(f"there is no setting {name!r} here; there are {', '.join(names)}")


def _model(model: Any, text: Any = None, /, *, tokenizer: Any = None, **settings: Any) -> Found:
    import langscape
    from langscape.models import open_model

    opened: Any = open_model(model, tokenizer=tokenizer)
    what = f"{type(model).__name__ if not isinstance(model, str | Path) else 'The model'} {opened.name!r}"
    notes = " ".join(f"{note[:1].upper()}{note[1:]}." for note in opened.notes)
    if _is_texts(text):
        return _by_model(f"{what}, and {len(text)} texts", opened, text, settings, notes)
    over = "a sample text" if text is None else "the text"
    if opened.kind in ("lstm", "gru"):
        _known(langscape.flow, settings)
        return _told(f"{what}, an LSTM: its vectors over {over}", notes), lambda: langscape.flow(
            opened, text, **settings
        )
    _known(langscape.atlas, settings)
    size = f"{opened.layers} layers × {opened.heads} heads"
    doing = f"{what}, {_a(opened.kind)} of {size}: an atlas of its heads over {over}"
    return _told(doing, notes), lambda: langscape.atlas(opened, text, **settings)


def _texts(
    texts: Sequence[str], /, *, model: Any = "default", tokenizer: Any = None, **settings: Any
) -> Found:
    from langscape.models import open_model

    opened = open_model(model, tokenizer=tokenizer)
    return _by_model(f"{len(texts)} texts", opened, texts, settings)


def _by_model(
    what: str, model: Any, texts: Sequence[str], settings: dict[str, Any], notes: str = ""
) -> Found:
    import langscape

    _known(langscape.texts, settings)
    if len(texts) < 4:
        raise DataError(
            f"{len(texts)} texts make no map; give at least 4, or langscape.look(model, text) for the heads "
            "over one"
        )
    settings = {"perplexity": _perplexity(len(texts), 20.0), **settings}
    doing = f"{what}: a map of them by the last layer of {model.name}"
    return _told(doing, notes), lambda: langscape.texts(model, list(texts), **settings)


def _text(text: str, /, *, model: Any = "default", **settings: Any) -> Found:
    return _model(model, text, **settings)


def _file(path: str | Path, /, *, limit: int = 10_000, **settings: Any) -> Found:
    import langscape

    path = Path(path)
    if path.suffix.lower() == ".parquet":
        try:
            found = langscape.read_map(path)
        except LangscapeError:
            pass  # a table of vectors is Parquet too
        else:
            return f"The map file {path.name} of {len(found):,} items: as it is.", lambda: found
    read = langscape.read_vectors(path, limit=limit)
    what = (
        f"The file {path.name}, {'the first ' if len(read) == limit else ''}{len(read):,} words with vectors"
    )
    return _mapped(what, frames.Labelled(read.items(), read.matrix, ""), settings)


def _outputs(
    outputs: Any, /, tokens: Any = None, *, batch: Any = None, rows: Any = "refuse", **more: Any
) -> Found:
    x = {"attention": _filled(outputs, "attentions"), "hidden": _filled(outputs, "hidden_states")}
    if x["attention"] is not None:
        x["hidden"] = None
    elif x["hidden"] is None:
        sides = [name for name in ("encoder_attentions", "decoder_attentions") if _filled(outputs, name)]
        way = f"give outputs.{sides[0]}" if sides else _EAGER
        raise DataError(f"this {type(outputs).__name__} holds neither attentions nor hidden states; {way}")
    seen = capture_of(**x, tokens=tokens, batch=batch, rows=rows)
    return _seen(f"{type(outputs).__name__}", seen, more)


def _attention(
    x: Any, /, tokens: Any = None, *, batch: Any = None, rows: Any = "refuse", **more: Any
) -> Found:
    return _seen("Attention", capture_of(attention=x, tokens=tokens, batch=batch, rows=rows), more)


def _hidden(x: Any, /, tokens: Any = None, *, batch: Any = None, **more: Any) -> Found:
    return _seen("Hidden states", capture_of(hidden=x, tokens=tokens, batch=batch), more)


def _query_key(
    q: Any, k: Any, /, *, tokens: Any = None, batch: Any = None, causal: bool = False, **more: Any
) -> Found:
    seen = capture_of(q=q, k=k, tokens=tokens, batch=batch, causal=causal)
    return _seen("Queries and keys, of which softmax(q·k/√dim) is the attention", seen, more)


def _activations(
    x: Any, /, tokens: Any = None, *, batch: Any = None, rows: Any = "refuse", **more: Any
) -> Found:
    seen = capture_of_activations(x, tokens=tokens, batch=batch, rows=rows)
    return _seen("Activations by the names of TransformerLens", seen, more)


def _capture(seen: Capture, /, **settings: Any) -> Found:
    return _seen("A capture", seen, settings)


def _seen(what: str, seen: Capture, settings: dict[str, Any]) -> Found:
    """The atlas of all heads, the picture of one head, or the map of hidden states that a capture holds."""
    from langscape.analyses._token_maps import map_hidden
    from langscape.analyses.atlas import make_atlas
    from langscape.analyses.head import make_head
    from langscape.views import attention

    notes = " ".join(f"{note[:1].upper()}{note[1:]}." for note in seen.notes)
    over = f"over {len(seen.tokens)} tokens"
    if any(name.endswith("attention") for name in seen.arrays):
        seen = _chosen(seen, settings)
        heads = seen.attention()
        first = heads.layers[0], heads.heads[0]
        one = heads.weights.shape[:2] == (1, 1)
        what += f" of one head {over}" if one else f", {len(heads.layers)} × {len(heads.heads)} heads {over}"
        if len(seen.tokens) < 4:
            doing = f"{what}: the weights of layer {first[0]}, head {first[1]}, since a map needs 4 tokens"
            return _told(doing, notes), lambda: attention(seen, *first)
        if one:
            _known(make_head, settings, "layer", "head")
            return _told(f"{what}: its map and its matrix", notes), lambda: make_head(
                seen, *first, **settings
            )
        _known(make_atlas, settings, "layers", "layer", "head")
        return _told(f"{what}: an atlas of them", notes), lambda: make_atlas(seen, **settings)
    if not any(name.endswith("hidden") for name in seen.arrays):
        raise DataError(f"the capture holds {', '.join(seen.arrays)}; look needs attention or hidden states")
    settings.setdefault("perplexity", _perplexity(len(seen.tokens), 20.0))
    layer = settings.pop("layer", None)
    _known(map_hidden, settings, "layer")
    layers = seen.layers_of(seen.name_of("hidden"))
    which = f"layer {layers[-1] if layer is None else layer} of {len(layers)}"
    return _told(f"{what} {over}: a map of the tokens by {which}", notes), lambda: map_hidden(
        seen, layer, **settings
    )


def _chosen(seen: Capture, settings: dict[str, Any]) -> Capture:
    """The capture with only the heads of `layers`, or of `layer` and `head`, which leave the settings."""
    heads = seen.attention(settings.get("side"))
    given = {name: settings.pop(name, None) for name in ("layers", "layer", "head")}
    wanted = {"layers": given["layers"]} if given["layers"] is not None else {}
    wanted |= {f"{name}s": [given[name]] for name in ("layer", "head") if given[name] is not None}
    if not wanted:
        return seen
    names = [name for name in seen.arrays if name in (heads.name, f"{heads.name}_keys", f"{heads.name}_sink")]
    arrays, numbers = {name: seen[name] for name in names}, {}
    for noun, there, axis in (("layer", heads.layers, 0), ("head", heads.heads, 1)):
        chosen = list(wanted.get(f"{noun}s", there))
        if not chosen:
            raise SettingsError(f"{noun}s is empty; give at least one of {there[0]} to {there[-1]}")
        for number in chosen:
            if number not in there:
                raise not_there(noun, number, there, "what was given")
        at = [there.index(number) for number in chosen]
        arrays = {name: np.take(array, at, axis) for name, array in arrays.items()}
        numbers[f"{noun}s"] = dict.fromkeys(names, chosen)
    return seen.only(*names).but(arrays=arrays, metadata={**seen.metadata, **numbers})


def _table(x: Any, /, *, vectors: Any = None, label: str | None = None, **settings: Any) -> Found:
    found = frames.from_table(x, vectors, label)
    return _mapped(f"A table of {len(found.items):,} rows, by {found.where}", found, settings)


def _matrix(x: Any, /, labels: Any = None, **settings: Any) -> Found:
    found = frames.from_matrix(x, labels)
    square = labels is None and found.matrix.shape[0] == found.matrix.shape[1]
    hint = "To see it as attention, give tokens=." if square else ""
    return _mapped(f"{len(found.items):,} vectors", found, settings, hint)


def _listed(x: Sequence[Any], /, labels: Any = None, **settings: Any) -> Found:
    found = frames.from_list(x, labels)
    return _mapped(f"A list of {len(found.items):,} vectors", found, settings)


def _column(x: Any, /, labels: Any = None, **settings: Any) -> Found:
    values = list(x)
    if _is_texts(values):
        return _texts(values, **settings)
    if not frames.is_list_of_vectors(values):
        raise DataError("the column holds neither texts nor vectors; look at the table: langscape.look(df)")
    return _listed(values, frames.index_of(x) if labels is None else labels, **settings)


def _saved(x: Any, /, *args: Any, **settings: Any) -> Found:
    return _taken(x.value, args, settings)


def _mapping(x: Mapping[Any, Any], /, **settings: Any) -> Found:
    found = frames.from_mapping(x)
    return _mapped(f"A dict of {len(found.items):,} words with vectors", found, settings)


def _keyed(x: Any, /, *, limit: int | None = None, **settings: Any) -> Found:
    found = frames.from_keyed_vectors(x, limit)
    return _mapped(f"KeyedVectors of {len(found.items):,} words with vectors", found, settings)


def _annotated(x: Any, /, *, vectors: str | None = None, **settings: Any) -> Found:
    found = frames.from_annotated(x, vectors)
    return _mapped(f"AnnData of {len(found.items):,} rows, by {found.where}", found, settings)


def _vectors(x: Vectors, /, **settings: Any) -> Found:
    found = frames.Labelled(x.items(), x.matrix, "")
    return _mapped(f"Vectors of {len(x):,} words", found, settings)


def _mapped(what: str, found: frames.Labelled, settings: dict[str, Any], hint: str = "") -> Found:
    _known(map_vectors, settings)
    if len(found.items) < 4:
        raise DataError(f"{len(found.items)} vectors make no map; give at least 4")
    doing = f"{what} of {found.matrix.shape[1]} numbers: a map of them"
    return _told(doing, hint), lambda: map_vectors(found.matrix, found.items, **settings)


def map_vectors(
    matrix: Any,
    items: Items,
    *,
    perplexity: float | None = None,
    metric: Any = "euclidean",
    dims: int = 2,
    steps: int = 1000,
    restarts: int = 1,
    seed: int = 0,
    progress: Any = None,
) -> Map:
    """The map of vectors (items, dim); perplexity is 30, or what so few items allow, if left out."""
    from langscape.affinity import points
    from langscape.analyses.words import schedule_of
    from langscape.engine import embed

    near = _perplexity(len(items), 30.0) if perplexity is None else perplexity
    P = points(matrix, near, metric, items=items, seed=seed)
    return embed(P, dims, "pca", schedule_of(steps), restarts, seed=seed, progress=progress)


def _itself(x: Any, /) -> Found:
    return f"A {type(x).__name__}, which langscape made: as it is.", lambda: x


def _perplexity(count: int, usual: float) -> float:
    return float(max(1.0, min(usual, (count - 1) / 3)))


def _told(doing: str, *more: str) -> str:
    return " ".join([f"{doing}.", *(one for one in more if one)])


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _filled(outputs: Any, name: str) -> Any:
    """A field that holds something; transformers leaves an empty tuple or None where nothing was kept."""
    x = getattr(outputs, name, None)
    return x if x is not None and len(x) and x[0] is not None else None


def _of(package: str, *names: str) -> Callable[..., bool]:
    """Whether an object is of a class of that package and one of these names, or made from one."""

    def takes(x: Any, args: Any, settings: Any) -> bool:
        return any(
            one.__name__ in names and one.__module__.split(".")[0].lstrip("_") == package
            for one in type(x).__mro__
        )

    return takes


def _is_texts(x: Any) -> bool:
    return isinstance(x, list | tuple) and len(x) > 0 and all(isinstance(one, str) for one in x)


def _is_folder(x: Any) -> bool:
    return isinstance(x, str | Path) and _is_there(Path(x) / "config.json")


def _is_file(x: Any) -> bool:
    return isinstance(x, Path) or (isinstance(x, str) and _is_there(Path(x)))


def _is_there(path: Path) -> bool:
    """Whether there is such a file; a text may be too long for a name, or hold what no name can."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _is_name(x: Any, args: Any) -> bool:
    from langscape.models.catalog import CATALOG

    return isinstance(x, str) and (x in CATALOG or bool(args))


def _shapes(x: Any) -> list[tuple[int, ...]]:
    """The shapes of an array's layers, or of a tuple's arrays; none of other objects."""
    if is_array(x):
        return [tuple(x.shape)]
    listed = isinstance(x, list | tuple) and len(x) > 0 and all(is_array(one) for one in x)
    return [tuple(one.shape) for one in x] if listed else []


def _only_tokens(args: tuple[Any, ...]) -> bool:
    """Whether nothing was given beside the tensors, or their tokens, as BertViz takes them."""
    return not args or (len(args) == 1 and _is_texts(args[0]))


def _is_attention(x: Any, args: Any, settings: Mapping[str, Any]) -> bool:
    """Square at its end, with rows that sum to 1; of four axes, or with tokens, square is enough."""
    shapes = _shapes(x)
    if not (_only_tokens(args) and shapes) or "labels" in settings:
        return False
    one = shapes[0]
    if len(one) == 4 and (not is_array(x) or one[1] > 1):
        return True  # whatever it is, it is no hidden states
    if any(len(shape) < 2 or shape[-1] != shape[-2] for shape in shapes):
        return False
    if len(one) >= 4 or (len(one) == 2 and "tokens" in settings):
        return True
    first = as_floats(x if is_array(x) else x[0])
    return bool((first >= 0).all() and np.allclose(first.sum(axis=-1), 1, atol=0.02))


def _is_hidden(x: Any, args: Any, settings: Mapping[str, Any]) -> bool:
    shapes = _shapes(x)
    if not (_only_tokens(args) and shapes) or "labels" in settings:
        return False
    return len(shapes[0]) >= 3 or "tokens" in settings or (len(shapes[0]) == 2 and not is_array(x))


def _is_query_key(x: Any, args: Any, settings: Mapping[str, Any]) -> bool:
    return (
        len(args) == 1
        and bool(_shapes(x))
        and len(_shapes(args[0])) == len(_shapes(x))
        and not _is_texts(args[0])
    )


def _is_outputs(x: Any, args: Any, settings: Any) -> bool:
    return _of("transformers", "ModelOutput")(x, args, settings)


def _is_made(x: Any, args: Any, settings: Any) -> bool:
    return type(x).__module__.split(".")[0] == "langscape"


KINDS: tuple[Kind, ...] = (
    Kind("an opened model", 'model = langscape.open_model("default")\nlangscape.look(model, text)',
         _of("langscape", "Model"), _model),
    Kind("a transformers model", "langscape.look(network, text, tokenizer=tokenizer)",
         _of("transformers", "PreTrainedModel"), _model),
    Kind("a transformers pipeline", "langscape.look(pipe, text)", _of("transformers", "Pipeline"), _model),
    Kind("a PEFT model, merged or not", "langscape.look(peft_model, text, tokenizer=tokenizer)",
         _of("peft", "PeftModel"), _model),
    Kind("a SentenceTransformer", "langscape.look(encoder, texts)",
         _of("sentence_transformers", "SentenceTransformer"), _model),
    Kind("a compiled model", "langscape.look(torch.compile(network), text, tokenizer=tokenizer)",
         _of("torch", "OptimizedModule", "DataParallel", "DistributedDataParallel"), _model),
    Kind("the folder of a model", "langscape.look(folder, text)", lambda x, *_: _is_folder(x), _model),
    Kind("the output of a model", "langscape.look(outputs, tokens=tokens)", _is_outputs, _outputs),
    Kind("a capture", "langscape.look(langscape.capture(network, text, tokenizer=tokenizer))",
         lambda x, *_: isinstance(x, Capture), _capture),
    Kind("`Vectors`", "langscape.look(langscape.read_vectors(file))",
         lambda x, *_: isinstance(x, Vectors), _vectors),
    Kind("what langscape made", "langscape.look(made)", _is_made, _itself),
    Kind("a TransformerLens cache", "langscape.look(cache, tokens=tokens)",
         lambda x, *_: has_activations(x), _activations),
    Kind("a proxy that nnsight saved", "langscape.look(saved, tokens=tokens)",
         lambda x, *_: not is_array(x) and is_array(getattr(x, "value", None)), _saved),
    Kind("queries and keys", "langscape.look(q, k, tokens=tokens)", _is_query_key, _query_key),
    Kind("attentions, a tensor for each layer", "langscape.look(outputs.attentions, tokens=tokens)",
         lambda x, *more: not is_array(x) and _is_attention(x, *more), _attention),
    Kind("one head’s matrix", "langscape.look(matrix, tokens=tokens)",
         lambda x, *more: is_array(x) and len(x.shape) == 2 and _is_attention(x, *more), _attention),
    Kind("an array of attention, (layer, head, query, key)", "langscape.look(weights, tokens=tokens)",
         _is_attention, _attention),
    Kind("hidden states", "langscape.look(outputs.hidden_states, tokens=tokens)", _is_hidden, _hidden),
    Kind("gensim’s `KeyedVectors`", "langscape.look(word2vec.wv)",
         lambda x, *_: frames.is_keyed_vectors(x), _keyed),
    Kind("an AnnData", 'langscape.look(adata, vectors="X_pca")',
         lambda x, *_: frames.is_annotated(x), _annotated),
    Kind("a pandas data frame", 'langscape.look(df, vectors="embedding", label="title")',
         _of("pandas", "DataFrame"), _table),
    Kind("a polars data frame", 'langscape.look(frame, vectors="embedding", label="title")',
         _of("polars", "DataFrame"), _table),
    Kind("a DuckDB relation", 'langscape.look(duckdb.sql("from talks"), label="title")',
         _of("duckdb", "DuckDBPyRelation"), _table),
    Kind("an Arrow table, and any other that speaks Arrow", 'langscape.look(table, label="title")',
         lambda x, *_: frames.is_table(x), _table),
    Kind("a column of texts or of vectors", 'langscape.look(df["embedding"], labels=df["title"])',
         lambda x, *_: frames.is_column(x), _column),
    Kind("an array of vectors: NumPy, torch, jax", "langscape.look(array, labels=words)",
         lambda x, *_: is_array(x), _matrix),
    Kind("a sparse matrix of vectors", "langscape.look(sparse, labels=words)",
         lambda x, *_: frames.is_sparse(x), _matrix),
    Kind("a list of vectors", "langscape.look(array.tolist(), labels=words)",
         lambda x, *_: frames.is_list_of_vectors(x), _listed),
    Kind("a dict of words with vectors", "langscape.look(dict(zip(words, array)))",
         lambda x, *_: isinstance(x, Mapping), _mapping),
    Kind("a list of texts", "langscape.look(texts)", lambda x, *_: _is_texts(x), _texts),
    Kind("a file of vectors, or a map file", "langscape.look(pathlib.Path(file))",
         lambda x, args, _: not args and _is_file(x), _file),
    Kind("the name of a model", 'langscape.look("default", text)',
         lambda x, args, _: _is_name(x, args), _model),
    Kind("a text", "langscape.look(text)", lambda x, *_: isinstance(x, str), _text),
)  # fmt: skip
"""Every kind of object, in the order in which they are tried."""


def kinds_table() -> str:
    """The table of kinds as Markdown."""
    rows = [f"| {kind.name} | `{'; '.join(kind.example.splitlines())}` |" for kind in KINDS]
    return "\n".join(["| what you hold | what you write |", "|---|---|", *rows])
