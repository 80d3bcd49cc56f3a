# SPDX-License-Identifier: MIT
"""Placements from their papers' equations, in plain PyTorch: for those that no package here implements as the paper has
them. Each function reads like the equations in its policy's header under include/norma/residual/policy/."""
import math

import torch
import torch.nn.functional as F

from golden import case


def linear(w, name, x, outputs, bias=True):
    return F.linear(x, w(name + ".weight", outputs, x.shape[-1]), w(name + ".bias", outputs) if bias else None)


def layer_norm(s, w, name, x):
    width = x.shape[-1]
    return F.layer_norm(x, (width,), w(name + ".gamma", width, around=1), w(name + ".beta", width), s.eps)


def rms_norm(s, w, name, x):
    return w(name + ".gamma", x.shape[-1], around=1) * x / (x.square().mean(-1, keepdim=True) + s.eps).sqrt()


def split(s, x):
    """[batch, tokens, heads x head_dim] to [batch, heads, tokens, head_dim]."""
    return x.unflatten(-1, (s.heads, s.head_dim)).transpose(1, 2)


def same(x, *_):
    return x


def attention(s, w, name, x, memory=None, entry=same, heads=same, merged=same):
    """entry(q, "query"), heads(o) and merged(o) stand where a policy's inner slots do."""
    source = x if memory is None else memory
    q, k, v = (entry(split(s, linear(w, f"{name}.{part}", x if part == "query" else source, s.width)), part)
               for part in ("query", "key", "value"))
    scores = q @ k.transpose(-1, -2) / math.sqrt(s.head_dim)
    if s.causal and memory is None:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    o = heads(scores.softmax(-1) @ v)
    return linear(w, name + ".output", merged(o.transpose(1, 2).flatten(-2)), s.width)


def feed_forward(s, w, name, x, up=same, hidden=same):
    """up(a) and hidden(h) stand before and after the activation."""
    return linear(w, name + ".down", hidden(F.gelu(up(linear(w, name + ".up", x, s.hidden)))), s.width)


def sublayers(s, w, layer):
    """(name, F) of the sublayers of block `layer`, from 1."""
    for role, f in (("attention", attention), ("feed_forward", feed_forward)):
        name = f"layers.{layer - 1}.{role}"
        yield name, lambda x, f=f, name=name: f(s, w, name, x)


def blocks(s):
    return range(1, s.layers + 1)


@case("GLMDeepNorm", "equations:GLM-130B, arXiv 2210.02414")
def glm_deep_norm(s, w, x):
    for layer in blocks(s):
        for name, f in sublayers(s, w, layer):
            x = layer_norm(s, w, name + ".out", math.sqrt(2 * s.layers) * x + f(x))
    return x


@case("NormFormer", "equations:NormFormer, arXiv 2110.09456")
def norm_former(s, w, x):
    for layer in blocks(s):
        a, f = f"layers.{layer - 1}.attention", f"layers.{layer - 1}.feed_forward"
        branch = attention(s, w, a, layer_norm(s, w, a + ".pre", x),
                           heads=lambda o: o * w(a + ".head_scale", s.heads, around=1)[:, None, None])
        x = x + layer_norm(s, w, a + ".post", branch)
        branch = feed_forward(s, w, f, layer_norm(s, w, f + ".pre", x),
                              hidden=lambda h: layer_norm(s, w, f + ".hidden_entry", h))
        x = w(f + ".join.rho", s.width, around=1) * x + branch
    return layer_norm(s, w, "close", x)


@case("LayerNormScaling", "equations:LayerNorm Scaling, arXiv 2502.05795", layers=3)
def layer_norm_scaling(s, w, x):
    for layer in blocks(s):
        for name, f in sublayers(s, w, layer):
            x = x + f(layer_norm(s, w, name + ".pre.0", x) / math.sqrt(layer))
    return layer_norm(s, w, "close", x)


def hybrid_norm_stack(s, w, x, starred):
    for layer in blocks(s):
        a, f = f"layers.{layer - 1}.attention", f"layers.{layer - 1}.feed_forward"
        first = starred and layer == 1
        x = x + attention(s, w, a, rms_norm(s, w, a + ".pre", x) if first else x,
                          entry=lambda q, part: rms_norm(s, w, f"{a}.{part}_entry", q))
        if first:
            x = x + feed_forward(s, w, f, rms_norm(s, w, f + ".pre", x))
        else:
            x = rms_norm(s, w, f + ".in", x)
            x = x + feed_forward(s, w, f, x)
    return rms_norm(s, w, "close", x)


@case("HybridNorm", "equations:HybridNorm, arXiv 2503.04598", zero=())
def hybrid_norm(s, w, x):
    return hybrid_norm_stack(s, w, x, starred=False)


@case("HybridNorm starred", "equations:HybridNorm, arXiv 2503.04598", zero=())
def hybrid_norm_starred(s, w, x):
    return hybrid_norm_stack(s, w, x, starred=True)


@case("B2T", "equations:B2T, arXiv 2206.00330")
def b2t(s, w, x):
    for layer in blocks(s):
        (a, attend), (f, feed) = sublayers(s, w, layer)
        u = layer_norm(s, w, a + ".out", x + attend(x))
        x = layer_norm(s, w, f + ".out", x + u + feed(u))
    return x


@case("Keel", "equations:KEEL, arXiv 2601.19895", layers=3)
def keel(s, w, x):
    for layer in blocks(s):
        for name, f in sublayers(s, w, layer):
            branch = f(layer_norm(s, w, name + ".pre", x))
            x = x + branch if layer == 1 else layer_norm(s, w, name + ".out", 2 * s.layers * x + branch)
    return x


@case("MixLN", "equations:Mix-LN, arXiv 2412.13795", layers=4)
def mix_ln(s, w, x):
    for layer in blocks(s):
        for name, f in sublayers(s, w, layer):
            if layer <= s.layers // 4:
                x = layer_norm(s, w, name + ".out", x + f(x))
            else:
                x = x + f(layer_norm(s, w, name + ".pre", x))
    return layer_norm(s, w, "close", x)


@case("ResiDual", "equations:ResiDual, arXiv 2304.14802")
def resi_dual(s, w, x):
    r = x
    for layer in blocks(s):
        for name, f in sublayers(s, w, layer):
            branch = f(x)
            x, r = layer_norm(s, w, name + ".out", x + branch), r + branch
    return x + layer_norm(s, w, "close.part1", r)


@case("TFixup", "equations:T-Fixup, ICML 2020")
def t_fixup(s, w, x):
    for layer in blocks(s):
        for _, f in sublayers(s, w, layer):
            x = x + f(x)
    return x


@case("Fixup", "equations:Fixup, arXiv 1901.09321")
def fixup(s, w, x):
    def shift(name):
        return lambda x: x + w(name + ".shift", 1)

    for layer in blocks(s):
        a, f = f"layers.{layer - 1}.attention", f"layers.{layer - 1}.feed_forward"
        branch = attention(s, w, a, shift(a + ".pre")(x), merged=shift(a + ".before_output"))
        x = x + w(a + ".post.0.factor", 1, around=1) * branch + w(a + ".post.1.shift", 1)
        branch = feed_forward(s, w, f, shift(f + ".pre")(x), up=shift(f + ".before_activation"),
                              hidden=shift(f + ".hidden_entry"))
        x = x + w(f + ".post.0.factor", 1, around=1) * branch + w(f + ".post.1.shift", 1)
    return x


@case("SiameseNorm", "equations:SiameseNorm, arXiv 2602.08064")
def siamese_norm(s, w, x):
    y = x
    for layer in blocks(s):
        for name, f in sublayers(s, w, layer):
            x = layer_norm(s, w, name + ".in", x)
            branch = f(layer_norm(s, w, name + ".pre.1", x + layer_norm(s, w, name + ".pre.0.part1", y)))
            x, y = x + branch / math.sqrt(2 * layer), y + branch
    ends = layer_norm(s, w, "close.0.part0", x) + layer_norm(s, w, "close.0.part1", y)
    return layer_norm(s, w, "close.1", ends)
