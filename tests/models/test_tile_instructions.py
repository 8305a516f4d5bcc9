"""Half precision does not end a process in a machine that announces AMX without having it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from langscape.models import tile_instructions
from langscape.models.tile_instructions import LIMIT, announced, avoid_tiles


@pytest.mark.parametrize(
    ("flags", "given", "loaded", "then"),
    [
        ("fpu hypervisor amx_tile amx_bf16", None, False, "AVX512_CORE_FP16"),
        ("fpu amx_tile amx_bf16", None, False, None),  # no virtual machine
        ("fpu hypervisor avx2", None, False, None),
        ("fpu hypervisor amx_tile", "ALL", False, "ALL"),  # the user knows better
        ("fpu hypervisor amx_tile", None, True, None),  # torch may have been asked already
    ],
)
def test_tiles_are_left_alone_only_where_a_virtual_machine_announces_them(
    flags: str,
    given: str | None,
    loaded: bool,
    then: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processors = tmp_path / "cpuinfo"
    processors.write_text(f"processor\t: 0\nflags\t\t: {flags}\nprocessor\t: 1\nflags\t\t: other\n")
    said = announced(processors)
    assert said == set(flags.split())
    monkeypatch.setattr(tile_instructions, "announced", lambda: said)
    monkeypatch.delenv(LIMIT, raising=False)
    if given is not None:
        monkeypatch.setenv(LIMIT, given)
    if loaded:
        monkeypatch.setitem(sys.modules, "torch", object())  # type: ignore[arg-type]
    else:
        monkeypatch.delitem(sys.modules, "torch", raising=False)
    avoid_tiles.__wrapped__()
    assert os.environ.get(LIMIT) == then


def test_a_system_that_does_not_tell_announces_nothing(tmp_path: Path) -> None:
    assert announced(tmp_path / "none") == frozenset()
