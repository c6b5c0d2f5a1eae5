# SPDX-License-Identifier: Apache-2.0
"""The package's stubs, as mypy --strict sees them from a user's file."""
import os
import pathlib
import subprocess
import sys

import pytest

import kiln

pytest.importorskip("mypy")

USE = """
import kiln
import kiln.jax
import kiln.torch

context = kiln.Context(policy="never_compile", packs=["kernels.kpack"], cache={}, log=print)
program = kiln.Program("y = x * s", axes=(0, 1), scalars="s", context=context)
result = program([1.0], s=2.0, out=None, dtype="f16")
schedule: str = program.explain("f32[4]", 1.0).schedule
names: list[str] = program.gradient(wrt="x").outputs + program.parameters
launches: int | float = program.stats()["launches"]
wrapped: kiln.Program = kiln.jax.function(program, grad=["dx = dy * s"]).program
operator = kiln.torch.function("y = x", name="same").operator
packed: bytes = kiln.PackWriter().finish()
try:
    kiln.run("y = softmax(x)", 1.0)
except kiln.ArgumentError as error:
    place: tuple[str, int | None] = error.status, error.line
"""
WRONG = """
import kiln

kiln.Context(policy="sometimes")
kiln.Program("y = x", axis=0)
kiln.Program("y = x").parameter
"""


def errors_of(text, folder):
    (folder / "use.py").write_text(text)
    environment = {**os.environ, "MYPYPATH": str(pathlib.Path(kiln.__file__).parent.parent)}
    found = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary",
                            "use.py"], cwd=folder, env=environment, capture_output=True, text=True)
    return [line for line in found.stdout.splitlines() if line.startswith("use.py") and " error: " in line]


def test_stubs_know_what_users_write(tmp_path):
    assert errors_of(USE, tmp_path) == []
    assert [line.split(":")[1] for line in errors_of(WRONG, tmp_path)] == ["4", "5", "6"]
