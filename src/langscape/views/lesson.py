"""A page for a class: at every step the reader predicts, looks at a picture, and is told the true answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from langscape.data import View
from langscape.errors import SettingsError
from langscape.io.atomic_write import atomic_write
from langscape.views.page import page_html


@dataclass(frozen=True)
class Step:
    """One step of a lesson.

    text      what the reader is told first; blank lines part paragraphs
    question  what is to be predicted
    answer    the true answer: one of `options`, or a number
    view      the picture; that of the step before where there is none
    explain   what is said beside the true answer
    options   what may be chosen; none where a number is asked for
    unit      what stands behind a number
    within    how far a number may be off and still count as predicted
    look      what to do in the picture before the answer is shown
    shown     whether the picture is there while the reader predicts; its scores and notes never are
    """

    text: str
    question: str
    answer: str | float
    explain: str
    view: View | None = None
    options: Sequence[str] = ()
    unit: str = ""
    within: float = 0.0
    look: str = "Look at the picture."
    shown: bool = False


def write_lesson(title: str, intro: str, steps: Sequence[Step], path: str | Path) -> Path:
    """Write a lesson as one page that needs no network; the keyboard is enough to go through it."""
    if not steps or steps[0].view is None:
        raise SettingsError("a lesson needs at least one step, and its first step a view")
    views: list[View] = []
    told = []
    for number, one in enumerate(steps):
        if one.options and one.answer not in one.options:
            raise SettingsError(f"step {number + 1}: the answer {one.answer!r} is none of its options")
        if not one.options and isinstance(one.answer, str):
            raise SettingsError(f"step {number + 1}: {one.answer!r} is no number; give options")
        if one.view is not None and all(one.view is not view for view in views):
            views.append(one.view)
        shown = next((at for at, view in enumerate(views) if view is one.view), len(views) - 1)
        told.append(
            {
                "text": one.text, "question": one.question, "options": list(one.options),
                "answer": one.answer, "unit": one.unit, "within": one.within,
                "look": one.look, "explain": one.explain, "view": shown, "shown": one.shown,
            }
        )  # fmt: skip
    page = page_html(views, {"title": title, "intro": intro, "steps": told})
    with atomic_write(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return Path(path)
