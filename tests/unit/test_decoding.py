"""JSON that several threads decode for the first time."""

from __future__ import annotations

import subprocess
import sys

from keygroups.decoding import convert, decode

KINDS = """
import sys, threading
import msgspec
from keygroups.decoding import convert, decode
sys.setswitchinterval(1e-6)
text = msgspec.json.encode({f"f{k}": {"a": 1, "b": "x"} for k in range(12)})
values = {f"f{k}": {"a": 1, "b": "x"} for k in range(12)}
for i in range(200):
    kind = msgspec.defstruct(
        f"Outer{i}", [(f"f{k}", msgspec.defstruct(f"Inner{i}_{k}", [("a", int), ("b", str)])) for k in range(12)]
    )
    begin = threading.Barrier(4)
    def first(work, given):
        begin.wait()
        assert work(given, kind).f3.b == "x"
    pairs = [(decode, text), (convert, values)] * 2
    threads = [threading.Thread(target=first, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("done")
"""
"""New kinds, each decoded by four threads at once. With the functions of msgspec itself this process dies within the
first few kinds of a segmentation fault."""


def test_threads_may_decode_a_kind_for_the_first_time_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", KINDS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_values_become_their_kind() -> None:
    assert decode(b"[1, 2]", list[int]) == [1, 2]
    assert convert((1, 2), list[int]) == [1, 2]
