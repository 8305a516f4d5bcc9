"""How much memory may be taken: the least of what machine, container and process allow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from langscape.errors import FileError
from langscape.memory_limits import available_memory, check_expansion, check_memory, most_expanded, size

GB = 1_000_000_000


def system(root: Path, free: int, cgroup: str, files: dict[str, object]) -> Path:
    """A folder with `proc` and `sys` as Linux lays them out."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal: 99999999 kB\nMemAvailable: {free // 1024} kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, value in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return root


def test_the_machine_counts_where_nothing_else_limits(tmp_path):
    assert available_memory(system(tmp_path, 3 * 1024**3, "0::/\n", {})) == 3 * 1024**3


def test_the_tightest_of_the_groups_around_a_process_counts(tmp_path):
    files = {
        "memory.max": "max",
        "memory.current": 5 * GB,
        "a/memory.max": 2 * GB,
        "a/memory.current": GB,
        "a/memory.stat": f"anon 5\ninactive_file {GB // 4}\n",
        "a/b/memory.max": 4 * GB,
        "a/b/memory.current": GB,
    }
    assert available_memory(system(tmp_path, 64 * GB, "0::/a/b\n", files)) == GB + GB // 4


def test_groups_of_the_first_kind_count_too(tmp_path):
    files = {
        "memory/memory.limit_in_bytes": 9223372036854771712,
        "memory/memory.usage_in_bytes": GB,
        "memory/job/memory.limit_in_bytes": 3 * GB,
        "memory/job/memory.usage_in_bytes": 2 * GB,
        "memory/job/memory.stat": f"inactive_file 7\ntotal_inactive_file {GB // 2}\n",
    }
    cgroup = "5:devices:/\n4:memory:/job\n0::/\n"
    assert available_memory(system(tmp_path, 64 * GB, cgroup, files)) == GB + GB // 2


def test_a_group_named_by_its_path_outside_the_container_is_found_at_the_root(tmp_path):
    files = {"memory.max": GB, "memory.current": 0}
    assert available_memory(system(tmp_path, 64 * GB, "0::/docker/0123\n", files)) == GB


def test_a_group_over_its_limit_leaves_nothing(tmp_path):
    files = {"memory.max": GB, "memory.current": 2 * GB}
    assert available_memory(system(tmp_path, 64 * GB, "0::/\n", files)) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v holds on Linux")
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_what_this_process_may_take_is_known_and_true(limit):
    code = f"""
import resource
from langscape.memory_limits import available_memory
resource.setrlimit(resource.{limit}, (1 << 30, 1 << 30))
left = available_memory()
assert left < 1 << 30, left
bytearray(int(0.9 * left))
try:
    bytearray(int(1.1 * left))
except MemoryError:
    print("held")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.stdout.strip() == "held", done.stderr


def test_an_error_names_what_is_needed_and_what_is_there():
    check_memory(8e9, "it", "do less", available=10 * GB)
    with pytest.raises(FileError, match=r"^it need 9\.5 GB, but 10 GB are available; do less$"):
        check_memory(9.5e9, "it", "do less", available=10 * GB)


def test_small_files_may_unpack_to_some_megabytes_and_large_ones_to_a_hundred_times_their_size():
    assert most_expanded(10) == 64_000_000
    check_expansion(100 * GB, GB, "v.gz")
    with pytest.raises(FileError, match=r"v\.gz unpacks from 0\.0 kB to 65 MB"):
        check_expansion(65_000_000, 10, "v.gz")


def test_sizes_read_as_a_person_says_them():
    assert [size(n) for n in (1, 14_000_000, 1.5e9, 2e15)] == ["0.0 kB", "14 MB", "1.5 GB", "2.0 PB"]
