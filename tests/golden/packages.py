# SPDX-License-Identifier: MIT
"""Placements as public packages run them: the package's own module, its parameters replaced by tensors made of norma's
weights. What stands here is only which of its parameters is which of norma's."""
import types

import torch
from torch import nn
from torch.func import functional_call

from golden import case


def call(module, parameters, *arguments, **options):
    """The module on these parameters: all of them, and no others."""
    return functional_call(module, parameters, arguments, options, strict=True)


def causal_mask(s, tokens):
    """True where a key is not seen."""
    return torch.ones(tokens, tokens, dtype=torch.bool).triu(1) if s.causal else None


def linear(w, name, outputs, inputs, to, bias=True):
    """A linear map as a package names it."""
    yield to + ".weight", w(name + ".weight", outputs, inputs)
    if bias:
        yield to + ".bias", w(name + ".bias", outputs)


def layer_norm(w, name, width, to):
    yield to + ".weight", w(name + ".gamma", width, around=1)
    yield to + ".bias", w(name + ".beta", width)


def fused(w, name, width, parts=("query", "key", "value")):
    """weight and bias of the projections, one above the other."""
    return (torch.cat([w(f"{name}.{part}.weight", width, width) for part in parts]),
            torch.cat([w(f"{name}.{part}.bias", width) for part in parts]))


# torch.nn


def torch_attention(s, w, name, to):
    yield from zip((to + ".in_proj_weight", to + ".in_proj_bias"), fused(w, name, s.width))
    yield from linear(w, name + ".output", s.width, s.width, to + ".out_proj")


def torch_feed_forward(s, w, name):
    yield from linear(w, name + ".up", s.hidden, s.width, "linear1")
    yield from linear(w, name + ".down", s.width, s.hidden, "linear2")


def torch_layers(s, w, norm, decoder=False):
    for i in range(s.layers):
        roles = [("attention", "self_attn"), ("cross_attention", "multihead_attn")][:2 if decoder else 1]
        parameters = [p for role, to in roles for p in torch_attention(s, w, f"layers.{i}.{role}", to)]
        parameters += torch_feed_forward(s, w, f"layers.{i}.feed_forward")
        for k, (role, _) in enumerate([*roles, ("feed_forward", None)]):
            parameters += layer_norm(w, f"layers.{i}.{role}.{norm}", s.width, f"norm{k + 1}")
        yield from ((f"layers.{i}.{key}", value) for key, value in parameters)
    if norm == "pre":
        yield from layer_norm(w, "close", s.width, "norm")


def torch_stack(s, norm, layer, stack):
    options = dict(dropout=0.0, activation="gelu", batch_first=True, norm_first=norm == "pre", layer_norm_eps=s.eps)
    close = nn.LayerNorm(s.width, s.eps) if norm == "pre" else None
    return stack(layer(s.width, s.heads, s.hidden, **options), s.layers, norm=close)


def torch_encoder(s, w, x, norm):
    stack = torch_stack(s, norm, nn.TransformerEncoderLayer, nn.TransformerEncoder)
    return call(stack, dict(torch_layers(s, w, norm)), x, mask=causal_mask(s, s.tokens))


@case("PostLN", "torch:nn.TransformerEncoder(norm_first=False)")
def post_ln(s, w, x):
    return torch_encoder(s, w, x, "out")


@case("PreLN", "torch:nn.TransformerEncoder(norm_first=True, norm=LayerNorm)")
def pre_ln(s, w, x):
    return torch_encoder(s, w, x, "pre")


def torch_decoder(s, w, x, memory, norm):
    stack = torch_stack(s, norm, nn.TransformerDecoderLayer, nn.TransformerDecoder)
    return call(stack, dict(torch_layers(s, w, norm, decoder=True)), x, memory, tgt_mask=causal_mask(s, s.tokens))


@case("decoder PostLN", "torch:nn.TransformerDecoder(norm_first=False)", memory_tokens=5)
def decoder_post_ln(s, w, x, memory):
    return torch_decoder(s, w, x, memory, "out")


@case("decoder PreLN", "torch:nn.TransformerDecoder(norm_first=True, norm=LayerNorm)", memory_tokens=5)
def decoder_pre_ln(s, w, x, memory):
    return torch_decoder(s, w, x, memory, "pre")
