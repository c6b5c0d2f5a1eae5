# SPDX-License-Identifier: Apache-2.0
"""What compare.py measured: kept as JSON, merged, summed up, and written as Markdown and plots."""
import json
import os
import re

import plot

LEVEL = 0.99  # of two medians this near, which is the larger differs from run to run
REASONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reasons.json")


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise SystemExit(f"compare.py: {path} cannot be read: {error.strerror}") from None
    except ValueError:
        data = None
    if not isinstance(data, dict) or not {"runs", "cases"} <= data.keys():
        raise SystemExit(f"compare.py: {path} is no file that --json wrote")
    return data


def write_text(path, text):
    partial = f"{path}.part"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)


def save(data, path):
    write_text(path, json.dumps(data, indent=1) + "\n")


def put(data, record):
    """Adds a case, or takes the place of the one with its name."""
    for i, old in enumerate(data["cases"]):
        if old["name"] == record["name"]:
            data["cases"][i] = record
            return
    data["cases"].append(record)


def merge(into, more):
    into["runs"] += [run for run in more["runs"] if run not in into["runs"]]
    for record in more["cases"]:
        put(into, record)


def best_peer(record):
    """(name, microseconds) of the fastest peer whose result was right, None without any."""
    times = [(peer["us"], name) for name, peer in record["peers"].items() if "us" in peer and peer["right"]]
    return (min(times)[1], min(times)[0]) if times else None


class Verdict:
    """How a case came out."""

    def __init__(self, record):
        self.failed = "failed" in record
        self.wrong = not self.failed and not record["kiln"]["right"]
        peer = None if self.failed else best_peer(record)
        self.lead = peer[1] / record["kiln"]["us"] if peer else None  # how often the best peer's time holds Kiln's
        self.missed = not self.failed and record["bar"] is not None and record["kiln"]["ratio"] < record["bar"]
        self.slower = self.lead is not None and self.lead < 1
        self.level = self.slower and self.lead >= LEVEL


def summary(data):
    verdicts = [Verdict(record) for record in data["cases"]]
    barred = sum(1 for v, record in zip(verdicts, data["cases"]) if record["bar"] is not None and not v.failed)
    compared = sum(v.lead is not None for v in verdicts)
    slower, level = sum(v.slower for v in verdicts), sum(v.level for v in verdicts)
    return (f"{len(verdicts)} cases: {sum(v.wrong for v in verdicts)} wrong, {sum(v.failed for v in verdicts)} failed; "
            f"{barred - sum(v.missed for v in verdicts)} of {barred} bars met; slower than the best peer in {slower} "
            f"of {compared}, of these {level} by less than 1 %")


def reason_of(name, reasons):
    return next((row["reason"] for row in reasons if re.search(row["cases"], name)), "")


def load_reasons(device):
    """Those for any device, and those for this one."""
    with open(REASONS, encoding="utf-8") as file:
        return [row for row in json.load(file) if re.search(row.get("device", ""), device)]


def cell(text):
    return str(text).replace("|", "\\|")


def remark(record, verdict, reasons):
    if verdict.failed:
        return cell(record["failed"])
    told = ["**result is wrong**"] if verdict.wrong else []
    told += ["**bar missed**"] if verdict.missed else []
    told += [] if not verdict.slower else ["level with the peer"] if verdict.level else ["**slower than the peer**"]
    if record["kiln"]["plan"]["spill_bytes"] > 0:
        told.append(f"spills {record['kiln']['plan']['spill_bytes']} bytes")
    reason = reason_of(record["name"], reasons) if verdict.missed or verdict.slower else ""
    return ", ".join(told) + (f": {cell(reason)}" if reason else "")


def row(record, names, reasons):
    verdict = Verdict(record)
    start = [record["name"], f"{record['bytes'] / 1e6:.1f}"]
    if verdict.failed:
        return start + [""] * (7 + len(names)) + [remark(record, verdict, reasons)]
    kiln, peer = record["kiln"], best_peer(record)
    bar = "" if record["bar"] is None else f"{record['bar']:.2f} {'missed' if verdict.missed else 'met'}"
    lead = f"{verdict.lead:.2f}" if peer else ""
    times = [f"{record['peers'][name]['us']:.1f}" if "us" in record["peers"].get(name, {}) else "" for name in names]
    return (start + [f"{kiln['us']:.1f}", f"{kiln['gbps']:.0f}", f"{kiln['ratio']:.3f}", bar, lead] + times
            + [f"{kiln['error']:.0e}", cell(kiln["plan"]["schedule"]), remark(record, verdict, reasons)])


def table(records, reasons):
    names = [name for name in ("eager", "compiled", "cupy", "cub")
             if any("us" in record.get("peers", {}).get(name, {}) for record in records)]
    head = (["case", "MB", "us", "GB/s", "roof ratio", "bar", "best peer / Kiln"] + [f"{name} us" for name in names]
            + ["error", "schedule", "remark"])
    rows = [head, ["---"] * len(head)] + [row(record, names, reasons) for record in records]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def bars_table(data):
    """Of each kind of bar: how many cases there are, how many met it, and the lowest ratio."""
    kinds = {}
    for record in data["cases"]:
        if record["bar"] is not None and "failed" not in record:
            kinds.setdefault((record["bar_kind"], record["bar"]), []).append(record)
    rows = [["cases", "bar", "measured", "met", "lowest ratio", "of"], ["---"] * 6]
    for (kind, bar), records in kinds.items():
        lowest = min(records, key=lambda record: record["kiln"]["ratio"])
        met = sum(record["kiln"]["ratio"] >= bar for record in records)
        rows.append([kind, f"{bar:.2f}", str(len(records)), str(met), f"{lowest['kiln']['ratio']:.3f}", lowest["name"]])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def describe_runs(data):
    lines = []
    for run in data["runs"]:
        peers = ", ".join(run["peers"].values()) or "no peers"
        lines.append(f"- {run['date']}, {run['device']}, driver {run['driver'] or 'unknown'}, CUDA {run['cuda']}, "
                     f"Kiln {run['kiln']}, {peers}, {run['runs']} rounds: `{run['command']}`")
    return "\n".join(lines)


def exceptions(data, reasons):
    """The cases that a reader asks about first."""
    marked = [(record, Verdict(record)) for record in data["cases"]]
    lists = [("Wrong or failed", [r for r, v in marked if v.wrong or v.failed]),
             ("Bars missed", [r for r, v in marked if v.missed]),
             ("Slower than the best peer", [r for r, v in marked if v.slower])]
    return "\n\n".join(f"## {title}\n\n" + (table(which, reasons) if which else "None.") for title, which in lists)


METHOD = """Kiln, its peers and a device-to-device copy of the same bytes (half of them read, half written) take turns on
one stream, the L2 flushed before each call, events around it; medians. *Roof ratio*: the copy's time over the kernel's.
*Bar*: the least ratio that is asked of such a case. *Best peer / Kiln*: how many times Kiln's time the fastest peer
takes. *Error*: the largest difference from the same work in double precision, relative to the largest magnitude of the
result."""


def write_markdown(data, path, plots=None):
    reasons = load_reasons(data["runs"][-1]["device"] if data["runs"] else "")
    parts = ["# Kiln and its peers, measured", METHOD, describe_runs(data), summary(data) + ".", bars_table(data)]
    folder = os.path.dirname(os.path.abspath(path))
    for name, title, _ in plots_of(data) if plots else []:
        where = os.path.relpath(os.path.join(plots, name), folder)
        parts.append(f"![{title}]({where})")
    parts.append(exceptions(data, reasons))
    for kind in dict.fromkeys(record["set"] for record in data["cases"]):
        parts.append(f"## All cases: {kind}\n\n" + table([r for r in data["cases"] if r["set"] == kind], reasons))
    write_text(path, "\n\n".join(parts) + "\n")


def plots_of(data):
    """(file name, title, series) for each program and type that was measured at six columns or more."""
    groups = {}
    for record in data["cases"]:
        if record["set"] in ("sweep", "small") and record["axes"] == [-1] and "failed" not in record:
            groups.setdefault((record["program"], record["type"]), []).append(record)
    for (program, kind), records in groups.items():
        if len(records) < 6:
            continue
        series = {"kiln": [(r["cols"], r["kiln"]["gbps"]) for r in records],
                  "copy": [(r["cols"], r["copy_gbps"]) for r in records]}
        for record in records:
            for name, peer in record["peers"].items():
                if "us" in peer:
                    series.setdefault(name, []).append((record["cols"], peer["gbps"]))
        yield f"{program}-{kind}.svg", f"{program}, {kind}, {data['runs'][-1]['device']}", series


def write_plots(data, folder):
    os.makedirs(folder, exist_ok=True)
    for name, title, series in plots_of(data):
        write_text(os.path.join(folder, name), plot.draw(title, series))
