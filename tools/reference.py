#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the C API, a page of Markdown, from the comments of the public headers: tools/site.sh puts it on
the site. Fails where a declaration has no comment. Needs nothing but Python.

A comment that begins a line is of the declarations that follow it, up to the next comment or an empty line; a comment
such as /* ---- plans ---- */ begins a section.
"""
import argparse
import pathlib
import re
import sys

HEADERS = (("kiln.h", None), ("context.h", "Contexts"), ("tensor.h", "Types, tensors and scalars"),
           ("status.h", "Statuses and errors"))
NAME = re.compile(r"\b(?:kiln|KILN)_\w+\b")
SECTION = re.compile(r"^/\* -+ (.*?) -+ \*/$")


class Group:
    """A comment with its declarations."""

    def __init__(self, comment):
        self.comment, self.code = comment, []

    def names(self):
        """What is declared, without macros that initialise a struct of the group."""
        found = [name for declaration in self.code for name in [declared_name(declaration)] if name]
        return [name for name in found if not name.endswith("_INIT") or len(found) == 1]


def declared_name(declaration):
    plain = re.sub(r"/\*.*?\*/", "", declaration, flags=re.DOTALL)
    for pattern in (r"^#define (KILN_\w+)", r"^typedef [^;{]*\(\*(\w+)\)\(", r"^typedef .*?(\w+);\s*$", r"(\w+)\("):
        found = re.search(pattern, plain, re.DOTALL)
        if found:
            return found.group(1)
    return None


def tokens(text):
    """Comments and declarations that begin a line, and '' for each empty line."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start, line = at, lines[at]
        at += 1
        if line.startswith("/*"):
            while "*/" not in lines[at - 1]:
                at += 1
        elif line.startswith("#"):
            while lines[at - 1].endswith("\\"):
                at += 1
        elif line.strip() and not line.startswith(("extern", "}")):
            while not is_whole("\n".join(lines[start:at])):
                at += 1
        yield "\n".join(lines[start:at])


def is_whole(code):
    plain = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
    return "/*" not in plain and plain.count("{") == plain.count("}") and plain.rstrip().endswith(";")


def is_frame(token):
    """The parts of a header that declare nothing: guards, includes, what C++ needs."""
    return (token.startswith(("#if", "#el", "#endif", "#include", "extern", "}", "#define KILN_API")) or
            re.match(r"#define KILN_\w*_H$|struct \w+;", token))


def parse(text, title):
    """The head's comment, and (title, groups) of each section."""
    head, sections, group = None, [(title, [])], None
    for token in tokens(text):
        section = SECTION.match(token)
        if section:
            sections.append((section.group(1).capitalize(), []))
            group = None
        elif token.startswith("/*") and "SPDX-License" in token and "\n" not in token:
            continue
        elif token.startswith("/*"):
            group = Group(token)
            if head is None:
                head = token
            else:
                sections[-1][1].append(group)
        elif not token.strip() or is_frame(token):
            group = None
        else:
            if group is None:
                group = Group("")
                sections[-1][1].append(group)
            group.code.append(token)
    return head, [(name, [g for g in groups if g.code]) for name, groups in sections]


def paragraphs(comment):
    """A comment as Markdown: what is indented is a list."""
    lines = [re.sub(r"^ ?\* ?", "", line) for line in comment[2:-2].splitlines()]
    out, listed = [], False
    for line in (line.rstrip() for line in lines if "SPDX-License" not in line):
        item = re.match(r"^ {2,}(?:- |(\w+): +)(.*)$", line)
        if item:
            out.append(f"\n- {item.group(1)}: {item.group(2)}" if item.group(1) else f"\n- {item.group(2)}")
            listed = True
        elif listed and not line.startswith("  "):
            out.append("\n" + line)
            listed = False
        elif re.match(r"^(Ownership|Thread-safety|Thread-safe|Returns)\b", line.strip()) and out:
            out.append("\n" + line.strip())
        else:
            out.append(line.strip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def linked(text, anchors):
    """Names of the API and pages of docs/ become links; other words of code are marked as such."""
    def name(match):
        word = match.group(0)
        return f"[`{word}`](#{anchors[word]})" if word in anchors else f"`{word}`"
    text = re.sub(r"\bdocs/([\w/-]+)\.md\b", r"[\1](\1.md)", text)
    text = re.sub(r"<(?=\w)", "&lt;", text)
    text = re.sub(r"(?<![\w`])(?:struct_size|NULL|CUstream|cudaStream_t)\b|(?<![\w`*])\*[a-z_]+\b", r"`\g<0>`", text)
    return re.sub(r"(?<![`\w])(?:kiln|KILN)_\w+\b(?:\.\w+)?", lambda m: dotted(m, name), text)


def dotted(match, name):
    """kiln_plan_info.origin: a link to the struct, in whose text the field is."""
    word, _, field = match.group(0).partition(".")
    return NAME.sub(name, word).replace(f"`{word}`", f"`{word}{'.' + field if field else ''}`")


def render_group(group, anchors):
    names = group.names()
    lines = [f'<a id="{name}"></a>' for name in names if len(names) > 1 or not name.islower()]  # else the heading is one
    lines += ["", "### " + ", ".join(f"`{name}`" for name in names), ""]
    lines += [linked(paragraphs(group.comment), anchors), "", "```c"]
    lines += [re.sub(r"^KILN_API ", "", shortened(code), flags=re.MULTILINE) for code in group.code]
    return lines + ["```", ""]


def shortened(code):
    """A macro that fills a struct needs no more than its name."""
    return re.sub(r"^(#define KILN_\w+_INIT) .*$", r"\1 {...}", code, flags=re.DOTALL)


def first_sentence(group):
    text = " ".join(re.sub(r"^ ?\* ?", "", line) for line in group.comment[2:-2].splitlines())
    sentence = re.split(r"(?<=[.:;]) ", re.sub(r"\s+", " ", text).strip())[0].rstrip(".:;")
    return sentence.replace("|", "\\|")


def anchors_of(groups):
    """Where a name is explained: constants at their enum."""
    anchors = {name: name for group in groups for name in group.names()}
    for group in groups:
        for constant in re.findall(r"^    (KILN_\w+) = ", "\n".join(group.code), re.MULTILINE):
            anchors[constant] = group.names()[0]
    return anchors


def render(head, sections):
    groups = [group for _, groups in sections for group in groups]
    anchors = anchors_of(groups)
    lines = ["# The C API", "",
             "Made from the comments of [`kiln/kiln.h`](../include/kiln/kiln.h) and of the headers that it includes. How the "
             "calls fit together is in [embedding](embedding.md); a status's cause and cure in [errors](guide/errors.md).", "",
             linked(paragraphs(head), anchors), ""]
    for title, members in sections:
        lines += ["", f"## {title}", "", "| | |", "|---|---|"]
        lines += [f"| {', '.join(f'[`{name}`](#{name})' for name in group.names())} | {linked(first_sentence(group), anchors)} |"
                  for group in members]
        lines.append("")
        for group in members:
            lines += render_group(group, anchors)
    return "\n".join(lines) + "\n"


def faults_of(sections, symbols):
    groups = [group for _, members in sections for group in members]
    found = {name for group in groups for name in group.names()}
    faults = [f"{', '.join(group.names()) or group.code[0]} has no comment" for group in groups if not group.comment]
    return faults + [f"{symbol} is exported and not in the reference" for symbol in symbols if symbol not in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path, help="the page")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the checkout")
    arguments = parser.parse_args()
    root = arguments.root
    head, sections = None, []
    for name, title in HEADERS:
        first, parsed = parse((root / "include/kiln" / name).read_text(encoding="utf-8"), title or "Versions")
        head = head or first
        sections += parsed
    sections = [(title, groups) for title, groups in sections if groups]
    symbols = (root / "tests/checks/exported_symbols.txt").read_text(encoding="utf-8").split()
    faults = faults_of(sections, symbols)
    for fault in faults:
        print(f"reference.py: {fault}", file=sys.stderr)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(render(head, sections), encoding="utf-8")
    print(f"{sum(len(groups) for _, groups in sections)} groups, {len(symbols)} functions, {len(faults)} faults")
    return 1 if faults or not symbols else 0


if __name__ == "__main__":
    sys.exit(main())
