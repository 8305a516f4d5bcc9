"""Document 003: the grammar, the faults, and the page made of a short training."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from papers.flow import experiments, report
from papers.flow.faults import FAULTS, KNOWN, _spoiled
from papers.flow.grammar import PREY, WORDS, least_perplexity, sentences

from langscape.models import capture, open_model
from langscape.store.store import Store


def test_the_grammar_speaks_twenty_words_and_verbs_agree_with_their_subject() -> None:
    lines, _ = sentences(2000, seed=4)
    used = Counter(word for line in lines for word in line.split())
    assert set(used) == set(WORDS)
    assert len(WORDS) == 20
    for line in lines:
        words = line.split()
        assert words[-1] == "."
        subject = next(word for word in words if word.rstrip("s") in PREY)
        verbs = [word for word in words if word.rstrip("s") in ("bark", "sleep", "sing", "chase")]
        assert verbs[-1].endswith("s") != subject.endswith("s")


def test_the_surprise_of_sentences_is_that_of_their_shares() -> None:
    # over many sentences, the mean surprise of the first two words is the entropy of how often they come
    lines, surprises = sentences(20000, seed=1)
    firsts = Counter(line.split()[0] for line in lines)
    shares = np.array(list(firsts.values())) / len(lines)
    assert shares == pytest.approx([0.75, 0.25] if next(iter(firsts)) == "the" else [0.25, 0.75], abs=0.02)
    # the shortest sentences, "a dog barks ." and its like, have one derivation each: share = e^-surprise
    counted = Counter(lines)
    cost = dict(zip(lines, surprises, strict=True))
    for line, times in counted.most_common(10):
        assert times / len(lines) == pytest.approx(math.exp(-cost[line]), rel=0.2)
    assert least_perplexity(lines[:1], surprises[:1]) == pytest.approx(
        math.exp(surprises[0] / len(lines[0].split()))
    )


def test_faults_spoil_what_they_say_and_nothing_else() -> None:
    line = "the dogs near a cat bark ."
    assert _spoiled(line, "wrong pairs") == "the dogs near a cat barks ."
    assert _spoiled(line, "collided") == "the dogs near a dog bark ."
    for fault in FAULTS:
        if fault not in ("wrong pairs", "collided"):
            assert _spoiled(line, fault) == line
    assert KNOWN.words == WORDS


def test_the_tiny_model_remembers_the_number_of_a_subject_some_words_back() -> None:
    model = open_model("lstm-tiny")
    many = [model.words.index(verb) for verb in ("bark", "sleep", "sing", "chase")]
    one = [row - 1 for row in many]  # each beside its plural
    right = []
    for line in sentences(400, seed=77)[0]:
        words = line.split()
        verb = next(
            at for at, word in enumerate(words) if word.rstrip("s") in ("bark", "sleep", "sing", "chase")
        )
        if "near" in words[:verb] and "that" not in words[:verb]:
            chances = capture(model, " ".join(words[:verb]))["softmax"][-1]
            right.append((chances[many].sum() > chances[one].sum()) != words[verb].endswith("s"))
    assert len(right) > 60
    assert np.mean(right) > 0.9


@pytest.mark.slow
def test_stuck_gates_and_dead_units_are_found_and_the_page_is_written(tmp_path: Path) -> None:
    plan = experiments.Plan(seeds=(0,), steps=60)
    results = experiments.run(plan, store=Store(tmp_path / "store"), workers=1)
    for fault in ("gates on", "forgetful", "deaf", "dead units", "collided"):
        assert results.of(fault)[0].raised(fault)
        assert not results.of("healthy")[0].raised(fault)
        assert experiments.told_by_page(fault, results.pages[fault])
    held = report.write(results, tmp_path / "page")
    text = (tmp_path / "page/index.html").read_text(encoding="utf-8")
    for table in ("models", "alarms", "changes", "meanings", "colours", "claims", "checks", "pages"):
        assert f'id="{table}"' in text
        assert (tmp_path / "page" / f"{table}.csv").exists()
    assert text.count("<svg") == 2
    assert len(held) == len(FAULTS) + 3
