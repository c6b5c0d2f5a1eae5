# SPDX-License-Identifier: Apache-2.0
"""What programs.py measured, as a page of Markdown: by family, against the bars, the worst cases, faults, a picture."""
import json
import statistics

import plot
from report import LEVEL, best_peer, cell, write_text  # noqa: F401: programs.py writes with it

WORST = 20
MEDIAN_BAR, TENTH_BAR, LENIENT_BAR = 0.97, 0.90, 0.80
PEER_SHARE_BAR, PEER_LEAST_BAR, SMALL_BAR = 0.95, 0.90, 1 / 1.15


def read_lines(paths):
    """The records of cases; a line that a killed run cut off is left out."""
    return [line for line in read_all(paths) if "name" in line]


def read_all(paths):
    lines = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                texts = file.read().split("\n")
        except OSError as error:
            raise SystemExit(f"programs.py: {path} cannot be read: {error.strerror}") from None
        for text in texts:
            try:
                line = json.loads(text) if text else {}
            except ValueError:
                continue
            lines += [line] if isinstance(line, dict) and line else []
    return lines


def allowed(record):
    """The roof ratio of a kernel that moves whole sectors alone, each once, at the copy's speed."""
    return record["bytes"] / record.get("sector_bytes", record["bytes"])


def lead_of(record):
    """How many times Kiln's time the fastest peer with a right result takes; None without one."""
    peer = best_peer(record)
    return peer[1] / record["kiln"]["us"] if peer else None


def measured(records):
    return [record for record in records if "failed" not in record]


def lowest_tenth(values):
    """The value that a tenth of them are below."""
    return sorted(values)[len(values) // 10]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(text) for text in line) + " |" for line in lines)


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else ""


def family_row(name, records):
    ratios = [record["kiln"]["ratio"] for record in records]
    leads = [lead for lead in map(lead_of, records) if lead is not None]
    level = sum(lead >= LEVEL for lead in leads)
    return [name, len(records), len({record["program"] for record in records}), f"{statistics.median(ratios):.3f}",
            f"{lowest_tenth(ratios):.3f}", f"{min(ratios):.3f}", len(leads), share(level, len(leads)),
            f"{min(leads):.2f}" if leads else ""]


FAMILY_HEAD = ["family", "cases", "programs", "median roof ratio", "lowest tenth", "lowest", "with a peer",
               "not slower than the best peer", "lowest best peer / Kiln"]


def family_table(records):
    families = dict.fromkeys(record["family"] for record in records)
    rows = [family_row(name, [r for r in records if r["family"] == name]) for name in sorted(families)]
    return table(FAMILY_HEAD, rows + [family_row("**all**", records)]) if records else "None."


def bar_row(what, value, bar, count):
    return [what, count, f"{value:.3f}", f"{bar:.2f}", "met" if value >= bar else "**missed**"]


def roof_bars(large):
    """Of programs that are bound by memory."""
    ratios = [record["kiln"]["ratio"] for record in large if not record["heavy"]]
    strict = [record["kiln"]["ratio"] for record in large if not record["heavy"] and not record["lenient"]]
    lenient = [record["kiln"]["ratio"] for record in large if not record["heavy"] and record["lenient"]]
    rows = [("bound by memory, 32 MB and up: median roof ratio", ratios, statistics.median, MEDIAN_BAR),
            ("the same but for the next line: lowest tenth", strict, lowest_tenth, TENTH_BAR),
            ("rows over 262,144 columns, odd extents over leading axes: lowest tenth", lenient, lowest_tenth,
             LENIENT_BAR),
            ("all of these, of what whole sectors of 32 bytes allow: lowest tenth",
             [record["kiln"]["ratio"] / allowed(record) for record in large if not record["heavy"]], lowest_tenth, TENTH_BAR)]
    return [bar_row(what, of(values), bar, len(values)) for what, values, of, bar in rows if values]


def peer_bars(what, records):
    leads = [lead for lead in map(lead_of, records) if lead is not None]
    if not leads:
        return []
    level = sum(lead >= LEVEL for lead in leads) / len(leads)
    return [bar_row(what + "against the best peer: share not slower", level, PEER_SHARE_BAR, len(leads)),
            bar_row(what + "best peer / Kiln, lowest", min(leads), PEER_LEAST_BAR, len(leads))]


def fine_when_small(record):
    lead = lead_of(record)
    return record["kiln"]["ratio"] >= SMALL_BAR or (lead is not None and lead >= LEVEL)


def small_bar(small):
    if not small:
        return []
    what = "under 32 MB: share within 1.15 times the copy, or not slower than the best peer"
    return [bar_row(what, sum(map(fine_when_small, small)) / len(small), 1.0, len(small))]


def bars_table(records):
    large = [record for record in records if record["traffic"] == "large"]
    small = [record for record in records if record["traffic"] != "large"]
    rows = roof_bars(large) + peer_bars("", large)
    rows += peer_bars("heavy arithmetic, ", [record for record in large if record["heavy"]]) + small_bar(small)
    return table(["bar", "cases", "measured", "asked", ""], rows)


def shortfall(record):
    """What the worst cases are sorted by: heavy programs are held to their peers alone, where there is one."""
    lead = lead_of(record)
    roof = record["kiln"]["ratio"] / MEDIAN_BAR
    if lead is None:
        return roof
    return lead if record["heavy"] else min(roof, lead)


def worst_table(records):
    rows = []
    for record in sorted(records, key=shortfall)[:WORST]:
        kiln, peer, lead = record["kiln"], best_peer(record), lead_of(record)
        rows.append([record["family"], record["name"], f"{record['bytes'] / 1e6:.1f}", f"{kiln['us']:.1f}",
                     f"{kiln['ratio']:.3f}", f"{allowed(record):.2f}" if allowed(record) < 0.99 else "",
                     f"{peer[0]} {lead:.2f}" if peer else "", cell(kiln["plan"]["schedule"])])
    head = ["family", "case", "MB", "us", "roof ratio", "sectors allow", "best peer / Kiln", "schedule"]
    return table(head, rows) if rows else "None."


def kiln_faults(records):
    rows = [[record["name"], cell(record["failed"])] for record in records if "failed" in record]
    rows += [[record["name"], f"wrong by {record['kiln']['error']:.1e}"]
             for record in measured(records) if not record["kiln"]["right"]]
    return table(["case", "fault"], rows) if rows else "None."


def peer_faults(records):
    """By peer and program: how many cases failed or were wrong, and the first of them."""
    found = {}
    for record in measured(records):
        for name, peer in record["peers"].items():
            wrong = peer.get("right") is False
            if "failed" in peer or wrong:
                what = f"wrong by {peer['error']:.1e}" if wrong else peer["failed"]
                found.setdefault((name, record["program"]), []).append((record["name"], what))
    rows = [[peer, program, len(cases), cases[0][0], cell(cases[0][1])]
            for (peer, program), cases in sorted(found.items())]
    return table(["peer", "program", "cases", "the first", "fault"], rows) if rows else "None."


def any_shape_row(what, records):
    shares = [record["kiln"]["us"] / record["any_shape"]["us"] for record in records]
    return [what, len(records), f"{statistics.median(shares):.3f}", f"{lowest_tenth(shares):.3f}", f"{min(shares):.3f}"]


def any_shape_table(records):
    """What share of the exact kernel's speed the kernel has that serves any shape, by family and by columns."""
    there = [record for record in records if "us" in record.get("any_shape", {}) and "us" in record["kiln"]]
    rows = []
    for size, some in (("32 MB and more", [r for r in there if r["traffic"] == "large"]),
                       ("under 32 MB", [r for r in there if r["traffic"] != "large"])):
        groups = {f"**{size}, from 1,024 columns**": [r for r in some if r["cols"] >= 1024],
                  f"**{size}, fewer**": [r for r in some if r["cols"] < 1024]}
        groups.update((family, [r for r in some if r["family"] == family]) for family in sorted({r["family"] for r in some}))
        rows += [any_shape_row(what, group) for what, group in groups.items() if group]
    return table(["cases", "count", "median", "lowest tenth", "lowest"], rows)


def any_shape_faults(records):
    """One that failed, or was wrong."""
    rows = [[record["name"], cell(record["any_shape"].get("failed") or f"wrong by {record['any_shape']['error']:.1e}")]
            for record in records if "failed" in record["any_shape"] or not record["any_shape"]["right"]]
    return table(["case", "fault"], rows) if rows else "None."


def any_shape_slowest(records):
    there = [record for record in records if "us" in record["any_shape"] and record["traffic"] == "large"]
    rows = []
    for record in sorted(there, key=lambda r: r["kiln"]["us"] / r["any_shape"]["us"])[:WORST]:
        exact, any_shape = record["kiln"], record["any_shape"]
        rows.append([record["family"], record["name"], f"{exact['us']:.1f}", f"{any_shape['us']:.1f}",
                     f"{exact['us'] / any_shape['us']:.3f}", cell(any_shape["plan"]["schedule"])])
    return table(["family", "case", "exact kernel, us", "any shape, us", "share", "schedule"], rows)


def any_shape_parts(records):
    some = [record for record in records if "any_shape" in record]
    if not some:
        return []
    return ["### Kernels for any shape: share of the exact kernel's speed", any_shape_table(some),
            f"### The {WORST} slowest of these, 32 MB and more", any_shape_slowest(some),
            "### Faults of kernels for any shape", any_shape_faults(some)]


METHOD = """Programs that people write, drawn with shapes, types and alignments by the seeds below. Kiln, its peers and
a device-to-device copy of the same bytes (half of them read, half written) take turns on one stream, the L2 flushed
before each call, events around it; medians. *Roof ratio*: the copy's time over the kernel's. *Best peer / Kiln*: how
many times Kiln's time the fastest peer with a right result takes; from 0.99 it counts as not slower. *Held out*:
programs that the tuning of Kiln's schedules never saw. *Sectors allow*: of rows at a pitch memory moves what lies between them,
too, as far as it is in the same 32 bytes; the roof ratio of a kernel that moves these alone. Every result was compared with double precision."""


def describe(runs):
    lines = []
    for run in runs:
        peers = ", ".join(run["peers"].values()) or "no peers"
        absent = "".join(f"; without {name}: {cell(reason)}" for name, reason in run["absent"].items())
        pins = f", schedule {run['schedule']}" if run["schedule"] else ""
        lines.append(f"- {run['date']}, {run['device']}, seed {run['seed']}, Kiln {run['kiln']}, CUDA {run['cuda']}, "
                     f"{run['runs']} rounds{pins}, {peers}{absent}")
    return "\n".join(dict.fromkeys(lines))


def picture_of(device, records):
    groups = {}
    for record in sorted(records, key=lambda record: record["family"]):
        peer = best_peer(record)
        group = groups.setdefault(record["family"], {"kiln": [], "peer": []})
        group["kiln"].append(record["kiln"]["ratio"])
        group["peer"] += [record["copy_us"] / peer[1]] if peer else []
    return plot.draw_groups(f"Roof ratios by family, 32 MB and more, {device}", groups)


def section(device, records, pictures):
    good = measured(records)
    large = [record for record in good if record["traffic"] == "large"]
    small = [record for record in good if record["traffic"] != "large"]
    held = [record for record in large if record["held_out"]]
    parts = [f"## {device}", f"{len(records)} cases of {len({r['program'] for r in records})} programs."]
    if good:
        parts.append(bars_table(good))
    if large:
        name = "families-" + "".join(c if c.isalnum() else "-" for c in device.lower()) + ".svg"
        pictures[name] = picture_of(device, large)
        parts.append(f"![Roof ratios by family]({name})")
    parts += ["### 32 MB and more", family_table(large), "### Under 32 MB", family_table(small),
              "### Held out of tuning, 32 MB and more", family_table(held)]
    if good:
        parts += [f"### The {WORST} worst cases of 32 MB and more", worst_table(large),
                  f"### The {WORST} worst cases under 32 MB", worst_table(small)]
    parts += any_shape_parts(good)
    return parts + ["### Kiln's faults", kiln_faults(records), "### Peers' faults", peer_faults(records)]


def write(paths):
    """(the page, {file name: picture})"""
    lines, pictures = read_all(paths), {}
    runs = [line["run"] for line in lines if "run" in line]
    devices = {}
    for line in lines:
        if "name" in line:  # of two results the later one counts
            devices.setdefault(line["device"], {})[line["name"]] = line
    if not devices:
        raise SystemExit("programs.py: there is no measured case in " + ", ".join(paths))
    parts = ["# Kiln on programs that people write, measured", METHOD, describe(runs)]
    for device, records in devices.items():
        parts += section(device, list(records.values()), pictures)
    return "\n\n".join(parts) + "\n", pictures
