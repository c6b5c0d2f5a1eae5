# SPDX-License-Identifier: Apache-2.0
"""Pictures as SVG, written by hand, for light and dark pages: bandwidth over columns, a line for each peer, the roof
dashed; and roof ratios by group, a dot for each case."""
import math
import statistics
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 440, 64, 28, 84, 48
# Kiln first, then the peers, then the roof: colours on a light and on a dark ground.
LINES = {"kiln": ("#c2410c", "#fb923c"), "eager": ("#1d4ed8", "#93c5fd"), "compiled": ("#15803d", "#86efac"),
         "cupy": ("#7e22ce", "#d8b4fe"), "cub": ("#0e7490", "#67e8f9"), "copy": ("#525252", "#a3a3a3")}
LABELS = {"kiln": "Kiln", "eager": "PyTorch eager", "compiled": "PyTorch compiled", "cupy": "CuPy", "cub": "CUB",
          "copy": "copy of the same bytes (the roof)"}


def style():
    def rules(shade):
        text, faint, ground = (("#1f2937", "#d4d4d8", "#ffffff"), ("#e5e7eb", "#3f3f46", "#18181b"))[shade]
        lines = "".join(f".{name}{{stroke:{both[shade]}}}.dot.{name}{{fill:{both[shade]}}}"
                        for name, both in LINES.items())
        return f"text{{fill:{text}}}.grid{{stroke:{faint}}}.ground{{fill:{ground}}}{lines}"
    return ("<style>text{font:13px 'DejaVu Sans',Verdana,sans-serif}.title{font-size:16px;font-weight:bold}"
            ".grid{stroke-width:1}.line{fill:none;stroke-width:1.6}.line.kiln{stroke-width:2.6}"
            ".line.copy{stroke-dasharray:6 4}.dot{stroke:none}"
            f"{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}</style>")


def columns_text(n):
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if n >= size and n % size == 0:
            return f"{n // size}{unit}"
    return str(n)


class Axes:
    """From columns and GB/s to places in the picture."""

    def __init__(self, columns, top):
        self.low = math.floor(math.log2(min(columns)))
        self.high = max(self.low + 1, math.ceil(math.log2(max(columns))))
        self.top = top

    def x(self, columns):
        return LEFT + (math.log2(columns) - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)

    def y(self, speed):
        return HEIGHT - BOTTOM - speed / self.top * (HEIGHT - TOP - BOTTOM)


def grid(axes):
    parts, step = [], 500 if axes.top <= 4000 else 1000
    for speed in range(0, int(axes.top) + 1, step):
        y = axes.y(speed)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{speed}</text>')
    every = 1 if axes.high - axes.low <= 16 else 2
    for power in range(axes.low, axes.high + 1, every):
        x, text = axes.x(2 ** power), columns_text(2 ** power)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
                     f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{text}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">columns</text>'
                 f'<text x="{LEFT - 8}" y="{TOP - 12}" text-anchor="end">GB/s</text>')
    return parts


def legend(names):
    parts, x = [], LEFT
    for name in names:
        parts.append(f'<path class="line {name}" d="M{x} 50h26"/><text x="{x + 32}" y="54">{LABELS[name]}</text>')
        x += 52 + 8 * len(LABELS[name])
    return parts


def draw(title, series):
    """series: {name of LINES: [(columns, GB/s)]}. Returns the picture's text."""
    names = [name for name in LINES if series.get(name)]
    points = [point for name in names for point in series[name]]
    axes = Axes([columns for columns, _ in points], 500 * math.ceil(max(speed for _, speed in points) / 500))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" role="img"><title>{escape(title)}</title>{style()}'
             f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}" rx="8"/>'
             f'<text class="title" x="{LEFT}" y="28">{escape(title)}</text>']
    parts += grid(axes) + legend(names)
    for name in sorted(names, key=lambda name: (name == "kiln", name != "copy")):  # Kiln's line on top
        places = [(axes.x(columns), axes.y(speed)) for columns, speed in sorted(series[name])]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path class="line {name}" d="M{path}"/>')
        if name != "copy":
            parts += [f'<circle class="dot {name}" cx="{x:.1f}" cy="{y:.1f}" r="2.4"/>' for x, y in places]
    return "\n".join(parts + ["</svg>\n"])


ROW_HEIGHT, GROUP_LEFT, HIGHEST_RATIO = 34, 190, 1.2


def ratio_place(ratio):
    return GROUP_LEFT + min(ratio, HIGHEST_RATIO) / HIGHEST_RATIO * (WIDTH - GROUP_LEFT - RIGHT)


def ratio_dots(name, ratios, y):
    """A dot for each, and a stroke at the median."""
    middle = ratio_place(statistics.median(ratios))
    dots = [f'<circle class="dot {name}" cx="{ratio_place(ratio):.1f}" cy="{y}" r="2.4" opacity="0.6"/>'
            for ratio in ratios]
    return dots + [f'<path class="line {name}" d="M{middle:.1f} {y - 7}V{y + 7}"/>']


def draw_groups(title, groups):
    """groups: {label: {"kiln": [roof ratios], "peer": [those of the fastest peers]}}. Returns the picture's text."""
    height = TOP + ROW_HEIGHT * len(groups) + BOTTOM
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
             f'height="{height}" role="img"><title>{escape(title)}</title>{style()}'
             f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>'
             f'<text class="title" x="{LEFT}" y="28">{escape(title)}</text>']
    for tenths in range(0, 13, 2):
        x = ratio_place(tenths / 10)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP - 8}V{height - BOTTOM}"/>'
                     f'<text x="{x:.1f}" y="{height - BOTTOM + 18}" text-anchor="middle">{tenths / 10:.1f}</text>')
    labels = {"kiln": "Kiln, median and cases", "eager": "the fastest peer"}
    for place, (name, label) in enumerate(labels.items()):
        x = GROUP_LEFT + 220 * place
        parts.append(f'<circle class="dot {name}" cx="{x}" cy="50" r="4"/><text x="{x + 12}" y="54">{label}</text>')
    for place, (label, ratios) in enumerate(groups.items()):
        y = TOP + ROW_HEIGHT * place + ROW_HEIGHT // 2
        parts.append(f'<text x="{GROUP_LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(label)}</text>')
        parts += ratio_dots("kiln", ratios["kiln"], y - 6) if ratios["kiln"] else []
        parts += ratio_dots("eager", ratios["peer"], y + 7) if ratios["peer"] else []
    return "\n".join(parts + ["</svg>\n"])
