# SPDX-License-Identifier: MIT
"""Placements as public packages run them: the package's own module, its parameters replaced by tensors made of norma's
weights. What stands here is only which of its parameters is which of norma's."""
import dataclasses
import sys
import types
import warnings

import admin_torch
import hyper_connections
import torch
import transformers
import nGPT_pytorch  # noqa: F401
from rezero.transformer import RZTXEncoderLayer
from torch import nn
from torch.func import functional_call

from equations import blocks, layer_norm as plain_layer_norm, rms_norm as plain_rms_norm, sublayers
from golden import case

import x_transformers
from transformers.models.idefics import modeling_idefics as idefics

# torchscale imports this one function of timm, which drops paths: never, here.
sys.modules["timm.models.layers"] = types.SimpleNamespace(drop_path=None)
from torchscale.architecture.config import EncoderDecoderConfig  # noqa: E402
from torchscale.architecture.decoder import Decoder  # noqa: E402
from torchscale.architecture.encoder import Encoder  # noqa: E402
from torchscale.architecture.encoder_decoder import EncoderDecoder  # noqa: E402

ngpt = sys.modules["nGPT_pytorch.nGPT"]
# These classes define == and so, by Python's rules, have no hash; torch needs one to list parameters.
for cls in (ngpt.Attention, ngpt.FeedForward, ngpt.NormLinear, ngpt.Scale):
    cls.__hash__ = nn.Module.__hash__

warnings.filterwarnings("ignore", message="enable_nested_tensor")


def call(module, parameters, *arguments, **options):
    """The module on these parameters: all of them, and no others."""
    given = {**dict(module.named_buffers()), **dict(parameters)}
    return functional_call(module, given, arguments, options, strict=True)


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
    return call(stack, (torch_layers(s, w, norm)), x, mask=causal_mask(s, s.tokens))


@case("PostLN", "torch:nn.TransformerEncoder(norm_first=False)")
def post_ln(s, w, x):
    return torch_encoder(s, w, x, "out")


@case("PreLN", "torch:nn.TransformerEncoder(norm_first=True, norm=LayerNorm)")
def pre_ln(s, w, x):
    return torch_encoder(s, w, x, "pre")


def torch_decoder(s, w, x, memory, norm):
    stack = torch_stack(s, norm, nn.TransformerDecoderLayer, nn.TransformerDecoder)
    return call(stack, (torch_layers(s, w, norm, decoder=True)), x, memory, tgt_mask=causal_mask(s, s.tokens))


@case("decoder PostLN", "torch:nn.TransformerDecoder(norm_first=False)", memory_tokens=5)
def decoder_post_ln(s, w, x, memory):
    return torch_decoder(s, w, x, memory, "out")


@case("decoder PreLN", "torch:nn.TransformerDecoder(norm_first=True, norm=LayerNorm)", memory_tokens=5)
def decoder_pre_ln(s, w, x, memory):
    return torch_decoder(s, w, x, memory, "pre")


# torchscale: computes the softmax in float32 whatever the module's type


def torchscale_layers(s, w, norm, side="", layers=None, cross=False, sub_norm=False):
    """Of a stack; with a side ("encoder.") of that one, by norma's names."""
    for i in range(layers or s.layers):
        name, to = f"{side}layers.{i}.", f"layers.{i}."
        roles = [("attention", "self_attn"), ("cross_attention", "encoder_attn")][:2 if cross else 1]
        for role, of in roles:
            for part, short in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
                yield from linear(w, f"{name}{role}.{part}", s.width, s.width, f"{to}{of}.{short}_proj")
            yield from layer_norm(w, f"{name}{role}.{norm}", s.width, f"{to}{of}_layer_norm")
        yield from linear(w, name + "feed_forward.up", s.hidden, s.width, to + "ffn.fc1")
        yield from linear(w, name + "feed_forward.down", s.width, s.hidden, to + "ffn.fc2")
        yield from layer_norm(w, f"{name}feed_forward.{norm}", s.width, to + "final_layer_norm")
        if sub_norm:
            yield from layer_norm(w, name + "attention.before_output", s.width, to + "self_attn.inner_attn_ln")
            yield from layer_norm(w, name + "feed_forward.hidden_entry", s.hidden, to + "ffn.ffn_layernorm")
    if norm == "pre":
        yield from layer_norm(w, side + "close", s.width, "layer_norm")


def torchscale_module(kind, s, sides, **options):
    """An Encoder or Decoder; `sides` are the layers of each side that the configuration is told."""
    config = EncoderDecoderConfig(
        **{f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in
           dict(embed_dim=s.width, attention_heads=s.heads, ffn_embed_dim=s.hidden, layers=sides[side]).items()},
        layernorm_eps=s.eps, dropout=0.0, no_output_layer=True, vocab_size=-1, **options)
    both = all(sides.values())
    return kind(config, is_encoder_decoder=both)


def torchscale_encoder(s, w, x, norm, **options):
    encoder = torchscale_module(Encoder, s, {"encoder": s.layers, "decoder": 0}, **options)
    return call(encoder, torchscale_layers(s, w, norm, sub_norm="subln" in options), None, token_embeddings=x,
                attn_mask=causal_mask(s, s.tokens).double())["encoder_out"]


@case("DeepNorm", "torchscale:architecture.encoder.Encoder(deepnorm=True)", layers=3)
def deep_norm(s, w, x):
    return torchscale_encoder(s, w, x, "out", deepnorm=True)


@case("SubLN", "torchscale:architecture.encoder.Encoder(subln=True)")
def sub_ln(s, w, x):
    return torchscale_encoder(s, w, x, "pre", subln=True)


def torchscale_gain(kind, s, sides):
    """By how much deepnorm=True shrinks the weights that it shrinks; the others stay as they are."""
    draws = []
    for deepnorm in (False, True):
        torch.manual_seed(1)
        module = torchscale_module(kind, s, sides, deepnorm=deepnorm, subln=False)
        draws.append(module.get_parameter("layers.0.ffn.fc1.weight").detach())
    return float((draws[1] / draws[0]).mean())


@case("encoder-decoder DeepNorm", "torchscale:architecture.encoder.Encoder, decoder.Decoder(deepnorm=True)",
      memory_tokens=5)
def deep_norm_encoder_decoder(s, w, x, source):
    sides = {"encoder": s.layers + 1, "decoder": s.layers}
    encoder, decoder = (torchscale_module(kind, s, sides, deepnorm=True) for kind in (Encoder, Decoder))
    memory = call(encoder, torchscale_layers(s, w, "out", "encoder.", sides["encoder"]), None, token_embeddings=source)
    # What the package starts from, for the tests of norma's constants.
    s.options = {"encoder_layers": sides["encoder"], "encoder_alpha": encoder.layers[0].alpha,
                 "decoder_alpha": decoder.layers[0].alpha, "encoder_beta": torchscale_gain(Encoder, s, sides),
                 "decoder_beta": torchscale_gain(Decoder, s, sides)}
    torch.manual_seed(1)
    wide = torchscale_module(Encoder, dataclasses.replace(s, width=255), sides)
    s.options["query_std_255"] = float(wide.layers[0].self_attn.q_proj.weight.detach().std())
    return call(decoder, torchscale_layers(s, w, "out", "decoder.", cross=True), torch.zeros(s.batch, s.tokens),
                encoder_out=memory, token_embeddings=x, features_only=True)[0]


# x-transformers: attention without biases, norms without beta


def x_transformers_layers(s, w, norm, wrapped=False, post=False, gate=False, close=True):
    """norm(name, to): the parameters of a norm. wrapped: the sublayer stands in a module that scales it."""
    for i in range(s.layers):
        for k, role in enumerate(("attention", "feed_forward")):
            name, to = f"layers.{i}.{role}", f"layers.{2 * i + k}."
            yield from norm(name + ".pre", to + "0.0.")
            if post:
                yield from norm(name + ".post", to + "0.1.")
            if gate:
                yield to + "1.gamma", w(name + ".join.lambda", s.width, around=0.5)
            to += "1.fn." if wrapped else "1."
            if role == "attention":
                for part, of in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
                    yield from linear(w, f"{name}.{part}", s.width, s.width, f"{to}to_{of}", bias=False)
            else:
                yield from linear(w, name + ".up", s.hidden, s.width, to + "ff.0.0")
                yield from linear(w, name + ".down", s.width, s.hidden, to + "ff.2")
    if close:
        yield from norm("close", "final_norm.")


def x_transformers_stack(s, w, x, norm, parts=None, **options):
    kind = x_transformers.Decoder if s.causal else x_transformers.Encoder
    stack = kind(dim=s.width, depth=s.layers, heads=s.heads, attn_dim_head=s.head_dim, ff_mult=s.hidden / s.width,
                 norm_add_unit_offset=False, verbose=False, **options)
    return call(stack, x_transformers_layers(s, w, norm, **(parts or {})), x)


def only_gamma(s, w, stored="gamma"):
    def norm(name, to):
        yield to + stored, w(name + ".gamma", s.width, around=1)

    return norm


BIASLESS = {"attention_bias": False, "norm_beta": False}


@case("PreLN", "x-transformers:Decoder", zero=(), options=BIASLESS)
def pre_ln_biasless(s, w, x):
    return x_transformers_stack(s, w, x, only_gamma(s, w))


@case("PreLN RMSNorm", "x-transformers:Decoder(use_rmsnorm=True)", zero=(), eps=0, options=BIASLESS)
def rms_norm(s, w, x):
    return x_transformers_stack(s, w, x, only_gamma(s, w, "g"), use_rmsnorm=True)


@case("PreLN ScaleNorm", "x-transformers:Decoder(use_scalenorm=True)", zero=(), options=BIASLESS)
def scale_norm(s, w, x):
    def norm(name, to):
        # Stored as a factor on sqrt(width): the same function.
        yield to + "g", w(name + ".g", 1, around=s.width**0.5) / s.width**0.5

    return x_transformers_stack(s, w, x, norm, use_scalenorm=True)


@case("PreLN DyT", "x-transformers:Decoder(use_dynamic_tanh=True)", zero=(), options={"attention_bias": False})
def dyt(s, w, x):
    def norm(name, to):
        yield to + "pre_tanh_scale", w(name + ".alpha", 1, around=0.8).squeeze()
        yield to + "gamma", w(name + ".gamma", s.width, around=1)
        yield to + "beta", w(name + ".beta", s.width)

    return x_transformers_stack(s, w, x, norm, use_dynamic_tanh=True)


@case("PreLN Derf", "x-transformers:Decoder(use_derf=True)", zero=(), options={"attention_bias": False})
def derf(s, w, x):
    def norm(name, to):
        yield to + "alpha", w(name + ".alpha", 1, around=0.8).squeeze()
        yield to + "s", w(name + ".shift", 1).squeeze()
        yield to + "gamma", w(name + ".gamma", s.width, around=1)
        yield to + "beta", w(name + ".beta", s.width)

    return x_transformers_stack(s, w, x, norm, use_derf=True)


@case("Sandwich", "x-transformers:Encoder(sandwich_norm=True)", zero=(), causal=False, options=BIASLESS)
def sandwich(s, w, x):
    return x_transformers_stack(s, w, x, only_gamma(s, w), {"post": True}, sandwich_norm=True)


@case("LayerScale", "x-transformers:Decoder(use_layerscale=True)", zero=(), options=BIASLESS)
def layer_scale(s, w, x):
    return x_transformers_stack(s, w, x, only_gamma(s, w), {"wrapped": True, "gate": True}, use_layerscale=True)


@case("ScaledResidual", "x-transformers:Decoder(scale_residual_constant, depth_scale_residual)", zero=(),
      options={**BIASLESS, "skip": 0.75, "branch": 0.375})
def scaled_residual(s, w, x):
    return x_transformers_stack(s, w, x, only_gamma(s, w), {"wrapped": True},
                                scale_residual_constant=s.options["skip"], depth_scale_residual=s.options["branch"])


# Hugging Face transformers: norms compute in float32. Rotary positions turn whole heads, whose width is even.


def huggingface(model, parameters, x, embedding="embed_tokens"):
    """A model on embeddings, without its own."""
    unused = {embedding + ".weight": model.get_input_embeddings().weight.detach()}
    return call(model, {**unused, **dict(parameters)}, inputs_embeds=x, use_cache=False).last_hidden_state


def huggingface_config(kind, s, **options):
    return kind(hidden_size=s.width, num_attention_heads=s.heads, intermediate_size=s.hidden,
                num_hidden_layers=s.layers, vocab_size=3, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                attn_implementation="eager", **options)


def grouped_layers(s, w, norms, close, around=1.0, query_key_norm=None):
    """The layers of LLaMA's descendants. norms: (norma's name, theirs). query_key_norm: the widths of both."""
    kv = s.options["kv_heads"] * s.head_dim
    for i in range(s.layers):
        a, f, to = f"layers.{i}.attention", f"layers.{i}.feed_forward", f"layers.{i}."
        for part, of, rows in (("query", "q", s.width), ("key", "k", kv), ("value", "v", kv), ("output", "o", s.width)):
            yield from linear(w, f"{a}.{part}", rows, s.width, f"{to}self_attn.{of}_proj", bias=False)
        for part, (rows, columns) in (("gate", (s.hidden, s.width)), ("up", (s.hidden, s.width)),
                                      ("down", (s.width, s.hidden))):
            yield from linear(w, f"{f}.{part}", rows, columns, f"{to}mlp.{part}_proj", bias=False)
        for name, of in norms:
            yield f"{to}{of}.weight", w(f"layers.{i}.{name}.gamma", s.width, around=around)
        for part, rows in zip(("query", "key"), query_key_norm or ()):
            yield f"{to}self_attn.{part[0]}_norm.weight", w(f"{a}.{part}_entry.gamma", rows, around=around)
    yield close + ".weight", w("close.gamma", s.width, around=around)


GROUPED = dict(width=18, heads=3, zero=())
GROUPED_OPTIONS = {"kv_heads": 1, "attention_bias": False, "feed_forward_bias": False, "rotary_width": 6}


PERI_LN = dict(GROUPED, options={**GROUPED_OPTIONS, "norm_unit_offset": True})


def gemma2(s, w, x, kind=transformers.Gemma2Config, model=transformers.Gemma2Model, query_key_norm=None, **options):
    norms = (("attention.pre", "input_layernorm"), ("attention.post", "post_attention_layernorm"),
             ("feed_forward.pre", "pre_feedforward_layernorm"), ("feed_forward.post", "post_feedforward_layernorm"))
    config = huggingface_config(kind, s, num_key_value_heads=1, head_dim=s.head_dim, query_pre_attn_scalar=s.head_dim,
                                rms_norm_eps=s.eps, **options)
    return huggingface(model(config), grouped_layers(s, w, norms, "norm", 0, query_key_norm), x)


@case("PeriLN RMSNorm GeGLUTanh", "transformers:Gemma2Model", **PERI_LN)
def peri_ln(s, w, x):
    return gemma2(s, w, x, attn_logit_softcapping=None)


@case("OutputNorm WholeQKNorm RMSNorm SwiGLU", "transformers:Olmo2Model", **GROUPED, options=GROUPED_OPTIONS)
def output_norm(s, w, x):
    norms = (("attention.post", "post_attention_layernorm"), ("feed_forward.post", "post_feedforward_layernorm"))
    config = huggingface_config(transformers.Olmo2Config, s, num_key_value_heads=1, rms_norm_eps=s.eps)
    return huggingface(transformers.Olmo2Model(config),
                       grouped_layers(s, w, norms, "norm", query_key_norm=(s.width, s.head_dim)), x)


@case("PreLN PerHeadQKNorm RMSNorm SwiGLU", "transformers:Qwen3Model", **GROUPED, options=GROUPED_OPTIONS)
def per_head_qk_norm(s, w, x):
    norms = (("attention.pre", "input_layernorm"), ("feed_forward.pre", "post_attention_layernorm"))
    config = huggingface_config(transformers.Qwen3Config, s, num_key_value_heads=1, head_dim=s.head_dim,
                                rms_norm_eps=s.eps)
    return huggingface(transformers.Qwen3Model(config),
                       grouped_layers(s, w, norms, "norm", query_key_norm=(s.head_dim, s.head_dim)), x)


@case("parallel PreLN GELUTanh", "transformers:GPTJModel", zero=(),
      options={"attention_bias": False, "rotary_width": 4, "rotary_interleaved": True})
def parallel(s, w, x):
    parameters = list(layer_norm(w, "close", s.width, "ln_f"))
    for i in range(s.layers):
        name, to = f"layers.{i}.parallel", f"h.{i}."
        parameters += layer_norm(w, name + ".pre", s.width, to + "ln_1")
        for part, of in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
            parameters += linear(w, f"{name}.attention.{part}", s.width, s.width, f"{to}attn.{of}_proj", bias=False)
        parameters += linear(w, name + ".feed_forward.up", s.hidden, s.width, to + "mlp.fc_in")
        parameters += linear(w, name + ".feed_forward.down", s.width, s.hidden, to + "mlp.fc_out")
    config = transformers.GPTJConfig(
        n_embd=s.width, n_head=s.heads, n_inner=s.hidden, n_layer=s.layers, vocab_size=3, layer_norm_epsilon=s.eps,
        rotary_dim=s.options["rotary_width"], bos_token_id=1, eos_token_id=2, attn_implementation="eager",
        attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0)
    return huggingface(transformers.GPTJModel(config), parameters, x, "wte")


@case("parallel PreLNPerBranch", "transformers:GPTNeoXModel(use_parallel_residual=True)", zero=(),
      options={"rotary_width": 4})
def parallel_per_branch(s, w, x):
    parameters = list(layer_norm(w, "close", s.width, "final_layer_norm"))
    for i in range(s.layers):
        a, f, to = f"layers.{i}.parallel.attention", f"layers.{i}.parallel.feed_forward", f"layers.{i}."
        parameters += layer_norm(w, a + ".norm", s.width, to + "input_layernorm")
        parameters += layer_norm(w, f + ".norm", s.width, to + "post_attention_layernorm")
        for kind, part in zip(("weight", "bias"), fused(w, a, s.width)):
            # Theirs has the rows of one head after another: its query, its key, its value.
            by_head = part.unflatten(0, (3, s.heads, s.head_dim)).transpose(0, 1).flatten(0, 2)
            parameters.append((f"{to}attention.query_key_value.{kind}", by_head))
        parameters += linear(w, a + ".output", s.width, s.width, to + "attention.dense")
        parameters += linear(w, f + ".up", s.hidden, s.width, to + "mlp.dense_h_to_4h")
        parameters += linear(w, f + ".down", s.width, s.hidden, to + "mlp.dense_4h_to_h")
    config = huggingface_config(transformers.GPTNeoXConfig, s, layer_norm_eps=s.eps, use_parallel_residual=True,
                                rotary_pct=s.options["rotary_width"] / s.head_dim)
    return huggingface(transformers.GPTNeoXModel(config), parameters, x, "embed_in")


@case("GatedCrossAttention RMSNorm SwiGLU", "transformers:models.idefics.IdeficsGatedCrossAttentionLayer", width=18,
      memory_tokens=5, zero=(), options={"attention_bias": False, "feed_forward_bias": False})
def gated_cross_attention(s, w, x, memory):
    config = transformers.IdeficsConfig(
        hidden_size=s.width, num_attention_heads=s.heads, intermediate_size=s.hidden, rms_norm_eps=s.eps,
        alpha_type="float", vision_config={"embed_dim": s.width}, attn_implementation="eager")
    for i in range(s.layers):
        a, f = f"layers.{i}.cross_attention", f"layers.{i}.feed_forward"
        parameters = [("alpha_cross_attn", w(a + ".gate", 1, around=0.7)),
                      ("alpha_dense", w(f + ".gate", 1, around=0.7)),
                      ("input_layernorm.weight", w(a + ".pre.gamma", s.width, around=1)),
                      ("post_attention_layernorm.weight", w(f + ".pre.gamma", s.width, around=1))]
        for part in ("query", "key", "value", "output"):
            parameters += linear(w, f"{a}.{part}", s.width, s.width, f"cross_attn.{part[0]}_proj", bias=False)
        for part, (rows, columns) in (("gate", (s.hidden, s.width)), ("up", (s.hidden, s.width)),
                                      ("down", (s.width, s.hidden))):
            parameters += linear(w, f"{f}.{part}", rows, columns, f"mlp.{part}_proj", bias=False)
        x = call(idefics.IdeficsGatedCrossAttentionLayer(config, i), parameters, x, image_hidden_states=memory,
                 cross_attention_gate=torch.ones(s.batch, s.tokens))
    # The closing norm is the host model's.
    return w("close.gamma", s.width, around=1) * x * (x.square().mean(-1, keepdim=True) + s.eps).rsqrt()


# Packages for one placement each


@case("ReZero", "rezero:transformer.RZTXEncoderLayer")
def re_zero(s, w, x):
    x = x.transpose(0, 1)
    for layer in blocks(s):
        name = f"layers.{layer - 1}"
        parameters = [*torch_attention(s, w, name + ".attention", "self_attn"),
                      *torch_feed_forward(s, w, name + ".feed_forward"),
                      ("resweight", w(name + ".gate", 1, around=0.7))]
        block = RZTXEncoderLayer(s.width, s.heads, s.hidden, dropout=0.0, activation="gelu")
        x = call(block, parameters, x, src_mask=causal_mask(s, s.tokens))
    return x.transpose(0, 1)


@case("Admin", "admin-torch:OmegaResidual, around transcribed sublayers")
def admin(s, w, x):
    for layer in blocks(s):
        for name, f in sublayers(s, w, layer):
            residual = admin_torch.OmegaResidual(1.0, as_parameter=True, embed_dim=s.width)
            sum = call(residual, {"omega": w(name + ".join.omega", s.width, around=1.5)}, x, f(x))
            x = plain_layer_norm(s, w, name + ".out", sum)
    return x


@case("NGPT SwiGLU", "nGPT-pytorch:nGPT.Residual, Attention, FeedForward", width=18, zero=(),
      options={"attention_bias": False, "feed_forward_bias": False, "rotary_width": 6, "rotary_interleaved": True})
def ngpt_stack(s, w, x):
    def scale(name, *shape):
        # Positive, as the package takes no absolute value; norma takes one of alpha, as the authors' code does.
        return w(name, *shape, around=1.5)

    def of_residual(name):
        return "branch_scale.scale", scale(name + ".join.alpha", s.width)

    rotary = ngpt.RotaryEmbedding(s.head_dim)
    for i in range(s.layers):
        a, f = f"layers.{i}.attention", f"layers.{i}.feed_forward"
        # Theirs scales the queries alone, read times width; the paper's (equations 15 and 16) scales queries and keys,
        # in norma read times the root of width. So theirs is the square.
        s_qk = w(a + ".s_qk", s.heads, s.head_dim, around=0.4).flatten().square()
        parameters = [of_residual(a), ("fn.qk_scale.scale", s_qk)]
        for part, of in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "out")):
            parameters += linear(w, f"{a}.{part}", s.width, s.width, f"fn.to_{of}.linear", bias=False)
        module = ngpt.Attention(s.width, dim_head=s.head_dim, heads=s.heads, causal=s.causal, manual_norm_weights=True)
        x = call(ngpt.Residual(module, s.width, 0.05), parameters, x, rotary_embed=rotary)

        parameters = [of_residual(f), ("fn.hidden_scale.scale", scale(f + ".s_u", s.hidden)),
                      ("fn.gate_scale.scale", scale(f + ".s_v", s.hidden))]
        for part, of, rows, columns in (("up", "hidden", s.hidden, s.width), ("gate", "gate", s.hidden, s.width),
                                        ("down", "out", s.width, s.hidden)):
            parameters += linear(w, f"{f}.{part}", rows, columns, f"fn.to_{of}.linear", bias=False)
        # Its hidden width is 2/3 of the factor's, rounded down.
        module = ngpt.FeedForward(s.width, expand_factor=1.5 * (s.hidden + 0.5) / s.width, manual_norm_weights=True)
        x = call(ngpt.Residual(module, s.width, 0.05), parameters, x)
    return x


def hyper_connections_stack(s, w, x, dynamic):
    n = s.options["streams"]
    expand, reduce = hyper_connections.get_expand_reduce_stream_functions(n)
    h = expand(x)
    for layer in blocks(s):
        for name, f in sublayers(s, w, layer):
            a_m, a_r = w(name + ".pre.0.a_m", n, around=0.5), w(name + ".join.a_r", n, n)
            parameters = {"static_alpha": torch.cat([a_m[:, None], a_r], 1),
                          "static_beta": w(name + ".join.b", n, around=1)}
            if dynamic:
                w_m, w_r = w(name + ".pre.0.w_m", 1, s.width), w(name + ".join.w_r", n, s.width)
                parameters |= {"dynamic_alpha_fn": torch.cat([w_m, w_r]).T,
                               "dynamic_alpha_scale": w(name + ".s_a", 1, around=0.5).squeeze(),
                               "dynamic_beta_fn": w(name + ".join.w_b", s.width),
                               "dynamic_beta_scale": w(name + ".s_b", 1, around=0.5).squeeze(),
                               "norm.gamma": w(name + ".mix_norm.gamma", s.width, around=1) - 1}
            connection = hyper_connections.HyperConnections(n, dim=s.width, layer_index=0)
            # As the package starts, the dynamic part is zero.
            u, join = call(connection, {**dict(connection.named_parameters()), **parameters}, h)
            h = join(f(plain_rms_norm(s, w, name + ".pre.1", u)))
    return plain_rms_norm(s, w, "close.1", reduce(h))


# At the first site all rows are equal: u is a multiple of x, and the norm after it takes the factor back.
HYPER = dict(eps=0, options={"streams": 3},
             zero=("key.bias", "layers.0.attention.pre.0.a_m", "layers.0.attention.pre.0.w_m"))


@case("HyperConnections RMSNorm", "hyper-connections:HyperConnections, around transcribed sublayers", **HYPER)
def static_hyper_connections(s, w, x):
    return hyper_connections_stack(s, w, x, dynamic=False)


@case("DynamicHyperConnections RMSNorm", "hyper-connections:HyperConnections, around transcribed sublayers", **HYPER)
def dynamic_hyper_connections(s, w, x):
    return hyper_connections_stack(s, w, x, dynamic=True)
