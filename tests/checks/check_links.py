#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every link of a page leads to a file that is there, to a heading that is there, and to what tools/site.sh takes along, and
every page of docs/ has its place in mkdocs.yml: the site need not be built to find one that has none. Exits with 77 outside
of a git checkout.

check_links.py <checkout>
"""
import pathlib
import posixpath
import re
import subprocess
import sys

FENCE = re.compile(r"^( *)(```+).*?^ *\2$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\))?[^()\s]*)\)")
PLACE = re.compile(r": (\S+\.md)\b")
MADE = {"docs/reference.md"}  # by tools/reference.py, for the site
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)


def headings(text):
    """The anchors of a page, as MkDocs makes them."""
    found = set()
    for title in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).replace("`", "").replace("\\", "")
        anchor = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        number, name = 0, anchor
        while name in found:
            number += 1
            name = f"{anchor}_{number}"
        found.add(name)
    return found


def faults_of(root, files):
    pages = {name: (root / name).read_text(encoding="utf-8") for name in files if name.endswith(".md")}
    anchors = {name: headings(text) for name, text in pages.items()}
    for name, text in sorted(pages.items()):
        for link in LINK.findall(CODE.sub("", FENCE.sub("", text))):
            path, _, anchor = link.partition("#")
            if "://" in link or link.startswith("mailto:"):
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            folder = any(file.startswith(target + "/") for file in files)
            if target not in files and not folder:
                there = "is not among the site's files" if (root / target).exists() else "is not there"
                yield f"{name} links to {link}, which {there}"
            elif anchor and anchor not in anchors.get(target, {anchor}):
                yield f"{name} links to {link}, and {target} has no such heading"


def places(root, files):
    """The faults of mkdocs.yml."""
    listed = set(PLACE.findall((root / "mkdocs.yml").read_text(encoding="utf-8")))
    for name in sorted(listed - files - MADE):
        yield f"mkdocs.yml has {name}, which is not there"
    for name in sorted(files - listed):
        if name.startswith("docs/") and name.endswith(".md"):
            yield f"mkdocs.yml lacks {name}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run(["bash", root / "tools" / "site.sh", "--files"], stdout=subprocess.PIPE, check=False, text=True)
    files = set(listed.stdout.split())
    if listed.returncode or not files:
        print("skipped: not a git checkout")
        return 77
    faults = [*faults_of(root, files), *places(root, files)]
    for fault in faults:
        print(fault)
    print(f"{sum(name.endswith('.md') for name in files)} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
