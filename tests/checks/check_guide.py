#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every code block of a page of docs/guide/ or docs/functions/, in the page's order, as a reader would.

A block after a line that is a file's name alone (`main.c`:) is written to that file. Blocks of sh are run by bash in the
folder of these files; a block of text right after one is what it prints, in which a line `...` stands for any lines.
Blocks of python share one namespace; those with >>> are doctests. Blocks of kiln are programs, and must parse. Each
program that is called also has its kernel generated, for sm_90. A block of another kind is a fault: nothing on the page
is left out, but for blocks of sh under a line `<!-- needs a network -->`, which install what is there already; those are
tried by tools/try_guide.sh. Without a GPU a stand-in for NVRTC serves `kiln precompile`. Exits with 77 where NumPy or the Python package
is missing.
"""
import argparse
import doctest
import os
import pathlib
import re
import shutil
import subprocess
import sys

BLOCK = re.compile(r"(?:^`([\w./-]+)`:\n+)?(?:^(<!-- needs a network -->)\n)?^```(\w*)\n(.*?)^```$",
                   re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Fault(Exception):
    """What is wrong with a block."""


def generate_kernels(kiln):
    """Lets every call of a program generate its kernel as well, for the same arguments."""
    call = kiln.Program.__call__

    def call_and_explain(program, *args, **kwargs):
        options = {name: kwargs[name] for name in kwargs if name not in ("out", "stream")}
        result = call(program, *args, **kwargs)
        shaped = any(hasattr(value, "shape") for value in [*args, *options.values()])
        if shaped and "put(" not in program.text:  # else there is no shape to generate for
            program.explain(*args, arch=90, **options)
        return result

    kiln.Program.__call__ = call_and_explain


def run_python(text, line, page, namespace):
    if ">>>" not in text:
        exec(compile("\n" * line + text, page.name, "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(text, namespace, page.name, str(page), line)
    test.globs = namespace  # get_doctest copies it, and what a block defines is for the later ones as well
    report = []
    if doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False).failed:
        raise Fault("".join(report))


def run_shell(text, folder):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Fault(f"exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


def compare(wanted, got):
    lines = ["(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in wanted.splitlines()]
    if not re.fullmatch("".join(lines), got):
        raise Fault(f"the page shows\n{wanted}\nand this was printed:\n{got}")


def run_block(kind, text, line, state):
    """The output of a block of sh, else None."""
    if kind == "python":
        run_python(text, line, state["page"], state["namespace"])
    elif kind == "kiln":
        state["kiln"].Program(text)
    elif kind == "text" and state["output"] is not None:
        compare(text, state["output"])
    elif kind == "sh":
        return run_shell(text, state["folder"])
    else:
        raise Fault(f"a block of '{kind}' that is no file and shows no output")
    return None


def run_page(state):
    """How many blocks there are, and the faults."""
    page, faults, count = state["page"], [], 0
    source = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(source):
        name, network, kind, text = match.groups()
        line = source.count("\n", 0, match.start(4))
        if network and kind == "sh":
            continue
        count += 1
        try:
            if name:
                (state["folder"] / name).write_text(text, encoding="utf-8")
                state["output"] = None
            else:
                state["output"] = run_block(kind, text, line, state)
        except Exception as error:  # whatever a block raises is a fault of the page
            faults.append(f"{page}:{line + 1}: {type(error).__name__}: {error}")
            state["output"] = None
    return count, faults


def install(build, prefix, folder):
    """A home with Kiln in it, where `build` leads to the build folder, as in a checkout."""
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    (folder / "build").symlink_to(build)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path, help="the page, docs/guide/NAME.md or docs/functions/NAME.md")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="a folder that is emptied first")
    parser.add_argument("--build", type=pathlib.Path, help="Kiln's build folder, which is installed into the page's home")
    parser.add_argument("--nvrtc", help="a stand-in for NVRTC, used where there is no GPU")
    arguments = parser.parse_args()
    page = arguments.page.resolve()
    try:
        import numpy  # noqa: F401
        import kiln
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    work = arguments.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    folder = work / "folder"
    folder.mkdir(parents=True)
    home = work / "home"
    path = f"{home / '.local' / 'bin'}:{os.environ.get('PATH', os.defpath)}"  # where pages have `kiln`
    os.environ.update(HOME=str(home), KILN_CACHE_DIR=str(work / "cache"), PATH=path)
    if arguments.nvrtc and not pathlib.Path("/dev/nvidiactl").exists():
        os.environ.update(KILN_NVRTC=arguments.nvrtc, FAKE_NVRTC_ARCH="90")
    if arguments.build:
        install(arguments.build.resolve(), home / ".local", folder)
    os.chdir(folder)
    generate_kernels(kiln)
    state = {"page": page, "folder": folder, "namespace": {}, "kiln": kiln, "output": None}
    count, faults = run_page(state)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{count} blocks, {len(faults)} faults")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
