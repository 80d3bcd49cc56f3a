#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/placements.md: the data flow of one block per placement, as SVG.

  draw.py            writes every picture beside this file
  draw.py --check    says which of them differ from what it would write, and fails if any does

The stream runs from left to right, the branches hang below it. A new placement is one entry of PICTURES. The standard
library is all it needs, and the same input gives the same bytes.
"""
import pathlib
import sys
from dataclasses import dataclass, field
from html import escape

# --- What a picture is made of -----------------------------------------------------------------------------------

ATTENTION, FEED_FORWARD, CROSS = "Attention", "Feed-forward", "Cross-attention"


@dataclass
class Site:
    """One sublayer. Boxes are labels; what they are is told by the label (see `style_of`)."""

    rows: list  # one list of boxes per branch; several run side by side
    pre: list = field(default_factory=list)  # boxes before the rows part
    inside: str = ""  # small print under the sublayer's name
    before: list = field(default_factory=list)  # boxes on lane 0 before the branch leaves
    skip: str = ""  # on lane 0 while the branch runs
    join: str = "+"
    out: list = field(default_factory=list)  # boxes on lane 0 after the join
    reads: list = field(default_factory=lambda: [(0, [])])  # (lane, boxes on the way down)
    writes: list = field(default_factory=lambda: [(0, "")])  # (lane, factor on the way up)
    mixer: str = ""  # a box over all lanes before the joins
    bypass: bool = False  # the block's input comes in at the join


def site(name, pre=(), post=(), **more):
    return Site(rows=[[name, *post]], pre=list(pre), **more)


def both(pre=(), post=(), **more):
    """Attention and feed-forward alike."""
    return [site(name, pre, post, **more) for name in (ATTENTION, FEED_FORWARD)]


@dataclass
class Panel:
    sites: list
    label: str = ""
    open: str = ""
    close: str = ""
    lanes: int = 1
    names: tuple = ()  # of the lanes
    result: str = "y"
    merge: list = field(default_factory=list)  # how the lanes become one: (lane, boxes); empty: lane 0 leaves


N = "LN"
TWO_SIDES = both([N], [N])

PICTURES = {
    "post_ln": ("Post-LN: the sum of stream and branch is normalised", [Panel(both(out=[N]))]),
    "pre_ln": ("Pre-LN: the branch's input is normalised", [Panel(both([N]), close=N)]),
    "deep_norm": ("DeepNorm: Post-LN with a larger skip", [Panel(both(skip="× α", out=[N]))]),
    "glm_deep_norm": ("GLM's DeepNorm: the same flow, other constants", [Panel(both(skip="× α", out=[N]))]),
    "sandwich": ("Sandwich-LN: norms on both sides of the sublayer", [Panel(TWO_SIDES, close=N)]),
    "peri_ln": ("Peri-LN: Sandwich-LN, and the embedding normalised if asked for", [Panel(TWO_SIDES, open=N, close=N)]),
    "output_norm": ("Output norm: the branch's output is normalised", [Panel(both([], [N]), close=N)]),
    "norm_former": (
        "NormFormer: scaled heads, a norm after attention and one inside the feed-forward, a scaled skip",
        [
            Panel(
                [
                    site(ATTENTION, [N], [N], inside="heads × γ"),
                    site(FEED_FORWARD, [N], inside="LN of the hidden row", skip="× ρ"),
                ],
                close=N,
            )
        ],
    ),
    "sub_ln": (
        "Sub-LN: Pre-LN with a norm before each output matrix",
        [
            Panel(
                [
                    site(ATTENTION, [N], inside="LN of the heads"),
                    site(FEED_FORWARD, [N], inside="LN of the hidden row"),
                ],
                close=N,
            )
        ],
    ),
    "layer_norm_scaling": (
        "LayerNorm Scaling: what the norm gives is divided by the root of the block's index",
        [Panel(both([N, "÷ √l"]), close=N)],
    ),
    "scaled_residual": (
        "Scaled residual: constants on skip and branch",
        [Panel(both([N], ["× b"], skip="× a"), close=N)],
    ),
    "hybrid_norm": (
        "HybridNorm: normed queries, keys and values; the feed-forward's norm is on the stream",
        [
            Panel(
                [site(ATTENTION, inside="LN of q, k, v"), site(FEED_FORWARD, before=[N])],
                label="every block",
                close=N,
            ),
            Panel(
                [site(ATTENTION, [N], inside="LN of q, k, v"), site(FEED_FORWARD, [N])],
                label="starred: first block",
            ),
        ],
    ),
    "b2t": (
        "B2T: the block's input goes past every norm but the last",
        [Panel([site(ATTENTION, out=[N]), site(FEED_FORWARD, out=[N], bypass=True)])],
    ),
    "keel": (
        "KEEL: Pre-LN's norms and Post-LN's, with a large skip; the first block is Pre-LN",
        [Panel(both([N]), label="first block"), Panel(both([N], skip="× α", out=[N]), label="the others")],
    ),
    "mix_ln": (
        "Mix-LN: the first blocks are Post-LN, the others Pre-LN",
        [Panel(both(out=[N]), label="first blocks"), Panel(both([N]), label="the others", close=N)],
    ),
    "with_qk_norm": (
        "QK-norm on Pre-LN: queries and keys are normalised before they meet",
        [Panel([site(ATTENTION, [N], inside="LN of q, k"), site(FEED_FORWARD, [N])], close=N)],
    ),
    "resi_dual": (
        "ResiDual: a Post-LN chain, and beside it a sum of the branches that is normalised once",
        [
            Panel(
                both(out=[N], writes=[(0, ""), (1, "")]),
                lanes=2,
                names=("x", "r"),
                merge=[(0, []), (1, [N])],
            )
        ],
    ),
    "re_zero": ("ReZero: no norms, one gate per block that starts at 0", [Panel(both([], ["× a"]))]),
    "layer_scale": (
        "LayerScale: Pre-LN with a factor per channel on the branch",
        [Panel(both([N], ["× λ"]), close=N)],
    ),
    "admin": ("Admin: Post-LN with a learned factor per channel on the skip", [Panel(both(skip="× ω", out=[N]))]),
    "t_fixup": ("T-Fixup: no norms; the initial weights do the work", [Panel(both())]),
    "fixup": (
        "Fixup: no norms; a multiplier per branch, and biases before every matrix",
        [Panel(both(["+ b"], ["× s", "+ b"]))],
    ),
    "ngpt": (
        "nGPT: the stream stays on the unit sphere and turns towards the normed branch",
        [Panel(both([], ["l2"], join="lerp", out=["l2"]), label="q, k and all matrices on the sphere too")],
    ),
    "siamese_norm": (
        "SiameseNorm: one branch reads and writes two streams, of which one is normalised at every site",
        [
            Panel(
                both(
                    [N],
                    before=[N],
                    reads=[(0, []), (1, [N])],
                    writes=[(0, "÷ c"), (1, "")],
                ),
                lanes=2,
                names=("x", "y"),
                result="z",
                merge=[(0, [N]), (1, [N])],
                close=N,
            )
        ],
    ),
    "hyper_connections": (
        "Hyper-connections: several rows per token, mixed by matrices; here three",
        [
            Panel(
                both(
                    ["Aₘ", N],
                    reads=[(0, []), (1, []), (2, [])],
                    writes=[(0, "× b₀"), (1, "× b₁"), (2, "× b₂")],
                    mixer="Aᵣ",
                ),
                lanes=3,
                names=("0", "1", "2"),
                merge=[(0, []), (1, []), (2, [])],
                close=N,
            )
        ],
    ),
    "gated_cross_attention": (
        "Gated cross-attention: a block of its own before a host block; gates start at 0",
        [Panel([site(CROSS, [N], ["× tanh a"]), site(FEED_FORWARD, [N], ["× tanh b"])])],
    ),
    "parallel": (
        "Parallel blocks: attention and feed-forward read the same stream; one norm for both, or one each",
        [
            Panel([Site(rows=[[ATTENTION], [FEED_FORWARD]], pre=[N])], label="one norm (GPT-J, PaLM)", close=N),
            Panel([Site(rows=[[N, ATTENTION], [N, FEED_FORWARD]])], label="two norms (GPT-NeoX)", close=N),
        ],
    ),
}

# --- How it is drawn ---------------------------------------------------------------------------------------------

LANE = 46  # between lanes
DROP = 62  # from lane 0 to the first branch
ROW = 54  # between branches
BOX = 30  # height
GAP = 20  # between things on a line
MARGIN = 26

STYLES = {  # fill, edge
    "norm": ("#fde8b8", "#b7791f"),
    "sublayer": ("#d5e5fb", "#2f6db3"),
    "scale": ("#d8f0dc", "#2f855a"),
}
INK, SOFT, PAPER, EDGE = "#26323f", "#64748b", "#ffffff", "#d8dee6"


def style_of(label):
    if label in (N, "l2"):
        return "norm"
    if label[0] in "×÷+A" and label != ATTENTION:
        return "scale"
    return "sublayer"


def text_width(text, size):
    """Near enough for centred labels: the same for every reader's fonts."""
    return sum(size * (0.3 if c in "il.,'()-" else 0.62) for c in text)


class Drawing:
    def __init__(self):
        self.lines, self.shapes = [], []
        self.right = 0

    def path(self, *lines, arrow=False):
        """Lines with rounded corners, on a halo of paper where they cross others, but not one another."""
        drawn = []
        for points in lines:
            d = f"M{points[0][0]:g} {points[0][1]:g}"
            for before, at, after in zip(points, points[1:], points[2:]):
                r = min(9, *(max(abs(a - b) for a, b in zip(p, at)) / 2 for p in (before, after)))
                to = lambda p: tuple(a + (r if b > a else -r if b < a else 0) for a, b in zip(at, p))
                (ax, ay), (bx, by) = to(before), to(after)
                d += f"L{ax:g} {ay:g}Q{at[0]:g} {at[1]:g} {bx:g} {by:g}"
            drawn.append(d + f"L{points[-1][0]:g} {points[-1][1]:g}")
        tip = ' marker-end="url(#tip)"' if arrow else ""
        self.lines += [f'<path class="halo" d="{d}"/>' for d in drawn]
        self.lines += [f'<path class="line" d="{d}"{tip}/>' for d in drawn]

    def dot(self, x, y):
        self.shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="3" fill="{INK}"/>')

    def box(self, label, x, y, small="", once=False, height=BOX):
        """A box from x on, centred at y; returns its right edge."""
        fill, edge = STYLES[style_of(label)]
        width = max(34, text_width(label, 13) + 18, text_width(small, 10.5) + 14)
        dash = ' stroke-dasharray="4 3"' if once else ""
        if small:
            height = BOX + 10
        self.shapes.append(
            f'<rect x="{x:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" '
            f'stroke="{edge}"{dash}/>'
        )
        self.text(label, x + width / 2, y - (7 if small else 0))
        if small:
            self.text(small, x + width / 2, y + 9, 10.5)
        return x + width

    def join(self, label, x, y):
        if label == "+":
            self.shapes.append(
                f'<circle cx="{x:g}" cy="{y:g}" r="10" fill="{PAPER}" stroke="{INK}" stroke-width="1.4"/>'
                f'<path class="line" d="M{x - 5:g} {y:g}H{x + 5:g}M{x:g} {y - 5:g}V{y + 5:g}"/>'
            )
        else:
            width = text_width(label, 12) + 14
            self.shapes.append(
                f'<rect x="{x - width / 2:g}" y="{y - 11:g}" width="{width:g}" height="22" rx="11" fill="{PAPER}" '
                f'stroke="{INK}" stroke-width="1.4"/>'
            )
            self.text(label, x, y, 12)

    def text(self, text, x, y, size=13, colour=INK, anchor="middle"):
        self.shapes.append(
            f'<text x="{x:g}" y="{y + 0.35 * size:g}" font-size="{size:g}" fill="{colour}" '
            f'text-anchor="{anchor}">{escape(text)}</text>'
        )


def boxes_on(drawing, labels, x, y, inside="", once=False):
    """Boxes along a line that comes in at x; returns where it goes on. The line itself is drawn under them."""
    for label in labels:
        x = drawing.box(label, x + GAP, y, inside if style_of(label) == "sublayer" else "", once)
    return x


def draw_site(drawing, s, x, lanes, low, start):
    """From x on; returns where the lanes go on. lanes: their heights; low: that of the first branch."""
    x = boxes_on(drawing, s.before, x, lanes[0])
    # Down to the branch: the lanes that it reads, the last one's corner leads on.
    leave = x + GAP
    down = leave
    ways = []
    for lane, labels in s.reads:
        drawing.dot(down, lanes[lane])
        if labels:
            middle = (lanes[0] + low) / 2 - 2
            ways.append([(down, lanes[lane]), (down, low)])
            width = text_width(labels[0], 13) + 18
            drawing.box(labels[0], down - max(34, width) / 2, middle)
        else:
            ways.append([(down, lanes[lane]), (down, low), (down + 14, low)])
        if (lane, labels) != s.reads[-1]:
            down += 40 if any(boxes for _, boxes in s.reads) else 18
    drawing.path(*ways, [(leave + 14, low), (down + 14, low)])
    if any(boxes for _, boxes in s.reads):
        drawing.join("+", down, low)
    x = boxes_on(drawing, s.pre, down, low)
    # The branches, one under the other.
    ends = []
    for i, row in enumerate(s.rows):
        y = low + i * ROW
        begin = x
        if len(s.rows) > 1:
            begin = x + GAP / 2 + 4
            if i == 0:
                drawing.dot(begin, low)
            else:
                drawing.path([(begin, low), (begin, y), (begin + 20, y)])
        ends.append(boxes_on(drawing, row, begin, y, s.inside))
    end = max(ends)
    up = end + GAP + 4
    branch_start = down
    # Back up. Joins of several lanes stand side by side.
    if s.mixer:
        width = 30
        top, bottom = lanes[-1] - 16, lanes[0] + 16
        drawing.shapes.append(
            f'<rect x="{end - 56:g}" y="{top:g}" width="{width}" height="{bottom - top:g}" rx="6" '
            f'fill="{STYLES["scale"][0]}" stroke="{STYLES["scale"][1]}"/>'
        )
        drawing.text(s.mixer, end - 56 + width / 2, (top + bottom) / 2)
    step = 56 if any(factor for _, factor in s.writes) else 30
    last = up
    ways = []
    for i, (lane, factor) in enumerate(s.writes):
        at = up + i * step
        last = at
        ways.append([(branch_start + 14, low), (at, low), (at, lanes[lane] + 11)])
        if factor:
            width = max(34, text_width(factor, 13) + 18)
            drawing.box(factor, at - width / 2, (lanes[0] + low) / 2 + 1, height=24)
        drawing.join(s.join, at, lanes[lane])
    for i in range(1, len(s.rows)):
        y = low + i * ROW
        ways.append([(x + GAP / 2 + 24, y), (up, y), (up, lanes[0] + 11)])
    drawing.path(*ways, arrow=True)
    if s.skip:
        width = max(34, text_width(s.skip, 13) + 18)
        drawing.box(s.skip, (leave + up) / 2 - width / 2, lanes[0])
    if s.bypass:
        top = lanes[0] - 34
        drawing.dot(start, lanes[0])
        drawing.path([(start, lanes[0]), (start, top), (up, top), (up, lanes[0] - 11)], arrow=True)
    x = max(last + 10, up + 10)
    return boxes_on(drawing, s.out, x, lanes[0])


def draw_panel(drawing, panel, top):
    """Returns the y below it."""
    bypass = any(s.bypass for s in panel.sites)
    y0 = top + 22 + (panel.lanes - 1) * LANE + (26 if bypass else 0) + (22 if panel.label else 0)
    lanes = [y0 - i * LANE for i in range(panel.lanes)]
    if panel.label:
        drawing.text(panel.label, MARGIN, top + 12, 12, SOFT, "start")
    left = MARGIN + 16
    x = left
    if panel.lanes == 1:
        drawing.text("x", MARGIN + 2, y0, 14, SOFT)
    else:
        for lane, name in zip(lanes, panel.names):
            drawing.text(name, MARGIN + 2, lane, 13, SOFT)
    if panel.open:
        x = boxes_on(drawing, [panel.open], x - 6, y0, once=True)
    start = x + 12
    branch = y0 + DROP + (6 if any(s.inside for s in panel.sites) else 0)
    for s in panel.sites:
        x = draw_site(drawing, s, x + 6, lanes, branch, start)
    end = x + GAP
    if panel.merge:
        # The lanes become one: their boxes, then the upper ones come down to lane 0.
        right = max(boxes_on(drawing, labels, x, lanes[lane], once=True) for lane, labels in panel.merge)
        at = right + GAP + 6
        drawing.path(*([(left, lane), (at, lane), (at, y0 - 11)] for lane in lanes[1:]), arrow=True)
        drawing.join("+", at, y0)
        end = at + 10
    close = panel.close
    if close:
        end = boxes_on(drawing, [close], end if panel.merge else x, y0, once=True)
    end = end + GAP + 8
    drawing.lines.insert(0, f'<path class="line" d="M{left - 4:g} {y0:g}H{end:g}" marker-end="url(#tip)"/>')
    drawing.text(panel.result, end + 14, y0, 14, SOFT)
    drawing.right = max(drawing.right, end + 26)
    return branch + 26 + max(len(s.rows) - 1 for s in panel.sites) * ROW


def picture(description, panels):
    drawing = Drawing()
    y = 10
    for panel in panels:
        y = draw_panel(drawing, panel, y) + 6
    width, height = drawing.right + 4, y + 4
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" font-family="Helvetica, Arial, sans-serif">',
        f"<title>{escape(description)}</title>",
        f"<style>.line{{fill:none;stroke:{INK};stroke-width:1.4}}"
        f".halo{{fill:none;stroke:{PAPER};stroke-width:6}}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 .8L7.4 4L0 7.2z" fill="{INK}"/></marker></defs>',
        f'<rect x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="10" fill="{PAPER}" stroke="{EDGE}"/>',
    )
    return "\n".join([*head, *drawing.lines, *drawing.shapes, "</svg>", ""])


def main():
    here = pathlib.Path(__file__).resolve().parent
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    wanted = {name + ".svg": picture(*entry) for name, entry in PICTURES.items()}
    if not check:
        for name, text in wanted.items():
            (here / name).write_text(text, encoding="utf-8", newline="\n")
        return
    found = {path.name: path.read_text(encoding="utf-8") for path in here.glob("*.svg")}
    wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if wrong:
        sys.exit("docs/placements: run draw.py, these differ from what it draws: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
