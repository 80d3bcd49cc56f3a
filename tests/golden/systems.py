# SPDX-License-Identifier: MIT
"""Named systems as public packages run them: one forward and backward of a tiny random configuration, kept under the
names that the package's own files have. norma loads them by the tables of its systems, which are tested by that. Where
no package has a system, it is transcribed, and the names are norma's."""
import math
import pathlib
import tempfile

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file

from equations import layer_norm, linear
from golden import CASES, Sizes, Weights, check, draw, metadata_of
from packages import Decoder, EncoderDecoderConfig

transformers.logging.set_verbosity_error()


def token_ids(seed, entry, batch=2):
    generator = torch.Generator().manual_seed(seed)
    return {"ids": torch.randint(entry["members"]["vocabulary"], (batch, entry["tokens"]), generator=generator)}


def logits(model, ids, **_):
    return model(input_ids=ids, use_cache=False).logits


def system(network, source, zero=(), names_prefix="", call={}, tokens=7, inputs=token_ids, forward=logits, **members):
    """Registers a system under its function's name.

    The function makes the package's model of `members`, which are the members of norma's system by their names, with
    __ for a dot; or, transcribed ("equations:"), it is the forward pass, given the weights w(name, *shape), the inputs
    and the call too. network: what C++ calls the system. zero: ends of the names whose gradient is zero by theory, of
    norma's and of the package's. names_prefix: of the package's names, where norma's table has none. call: of norma's
    Call, lengths, prefix or memory_lengths, a number per sequence. inputs(seed, entry): by the names that
    golden_system.hpp has for them. forward(model, **inputs, **call): the outputs.
    """

    def register(function):
        CASES[function.__name__] = dict(function=function, network=network, source=source, zero=zero,
                                        names_prefix=names_prefix, call=call, tokens=tokens, inputs=inputs,
                                        forward=forward, members=members, run=run)
        return function

    return register


def run(name, seed, overrides):
    """A pass in double: the tensors and the metadata of its file. The members are the case's own: no overrides."""
    entry = CASES[name]
    members, call = entry["members"], entry["call"]
    inputs = entry["inputs"](seed, entry)
    for value in inputs.values():
        value.requires_grad_(value.is_floating_point())
    if entry["source"].startswith("equations:"):
        w = Weights(seed)
        y = entry["function"](w, **inputs, **call, **members)
        parameters = w.values
    else:
        model = entry["function"](**members).double().eval()
        randomize(model, seed)
        y = entry["forward"](model, **inputs, **call)
        parameters = dict(zip(names_in_file(model), model.parameters(), strict=True))
    dy = draw(seed, "dy", y.shape)
    y.backward(dy)

    tensors = {"y": y, "dy": dy}
    for key, value in inputs.items():
        tensors[key] = value
        if value.requires_grad:
            tensors["d" + key] = value.grad
    for key, value in parameters.items():
        tensors |= {"weights." + key: value, "gradients." + key: value.grad}
    check(name, {key: value.grad for key, value in parameters.items()}, entry["zero"])
    options = {key.replace("__", "."): value for key, value in members.items()}
    options |= {key: " ".join(map(str, value)) for key, value in call.items()}
    return tensors, metadata_of(entry, seed, {**options, "names_prefix": entry["names_prefix"]})


def names_in_file(model):
    """Of a model's parameters, in their order: what its own files call them, which may not be what it does itself."""
    names = [name for name, _ in model.named_parameters()]
    if not isinstance(model, transformers.PreTrainedModel):
        return names
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        file = load_file(pathlib.Path(directory) / "model.safetensors")
    by_value = {value.numpy().tobytes(): name for name, value in file.items()}
    names = [by_value[value.detach().numpy().tobytes()] for value in model.parameters()]
    assert sorted(names) == sorted(file), file.keys() ^ set(names)
    return names


def randomize(model, seed):
    """Away from initial values: a vector is spread by 0.3 around the value that it has, 0 or 1, a matrix around 0."""
    for name, value in model.named_parameters():
        vector = value.dim() == 1
        around = float(value.detach().mean().round()) if vector else 0.0
        value.data = draw(seed, name, value.shape, around, 0.3 if vector else value.shape[-1] ** -0.5)


# Hugging Face transformers: norms compute in float32.


def config(kind, width, heads, layers, vocabulary, hidden=None, eps=None, **options):
    """What most configurations call alike. A token for padding would get no gradient."""
    if hidden is not None:
        options["intermediate_size"] = hidden
    if eps is not None:
        options["rms_norm_eps"] = eps
    return kind(hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, vocab_size=vocabulary,
                pad_token_id=None, bos_token_id=1, eos_token_id=2, attn_implementation="eager", **options)


def rope(base, **options):
    return {"rope_type": "default", "rope_theta": base, **options}


@system("GPT2", "transformers:GPT2LMHeadModel", names_prefix="transformer.", width=15, heads=3, layers=2,
        vocabulary=11, positions=9)
def gpt2(positions, **members):
    return transformers.GPT2LMHeadModel(config(transformers.GPT2Config, n_positions=positions, **members))


@system("GPTJ", "transformers:GPTJForCausalLM", width=15, heads=3, layers=2, vocabulary=11, rotary__width=4)
def gpt_j(rotary__width, **members):
    return transformers.GPTJForCausalLM(config(transformers.GPTJConfig, rotary_dim=rotary__width, **members))


@system("GPTNeoX", "transformers:GPTNeoXForCausalLM", width=15, heads=3, layers=2, vocabulary=11, rotary_share=0.85)
def gpt_neox(width, rotary_share, **members):
    return transformers.GPTNeoXForCausalLM(config(
        transformers.GPTNeoXConfig, width=width, hidden=4 * width, hidden_act="gelu_fast",
        rope_parameters=rope(10000.0, partial_rotary_factor=rotary_share), **members))


# The frequencies of 3 pairs within 32 tokens: 5.1 turns, 1.9 and 0.7, so that one is kept, one between, one slowed.
@system("LLaMA", "transformers:LlamaForCausalLM", tokens=37, width=18, heads=3, layers=2, vocabulary=11, hidden=21,
        kv_heads=1, rotary__base=20.0, rotary__factor=8.0, rotary__original_context=32)
def llama(kv_heads, rotary__base, rotary__factor, rotary__original_context, **members):
    return transformers.LlamaForCausalLM(config(
        transformers.LlamaConfig, num_key_value_heads=kv_heads, eps=1e-5,
        rope_parameters=rope(rotary__base, rope_type="llama3", factor=rotary__factor, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=rotary__original_context),
        **members))


@system("Gemma2", "transformers:Gemma2ForCausalLM", width=15, heads=3, layers=3, vocabulary=11, hidden=21, kv_heads=1,
        head_dim=6, score_width=7, window__size=3, score_cap=1.5, logit_cap=2.0)
def gemma2(kv_heads, score_width, window__size, score_cap, logit_cap, **members):
    return transformers.Gemma2ForCausalLM(config(
        transformers.Gemma2Config, num_key_value_heads=kv_heads, query_pre_attn_scalar=score_width,
        sliding_window=window__size, attn_logit_softcapping=score_cap, final_logit_softcapping=logit_cap, **members))


@system("Gemma3", "transformers:Gemma3ForCausalLM", width=15, heads=3, layers=3, vocabulary=11, hidden=21, kv_heads=1,
        head_dim=6, score_width=7, window__size=3, window__global_every=2, rotary__base=1000.0,
        rotary__local_base=10.0, rotary__factor=4.0)
def gemma3(layers, kv_heads, score_width, window__size, window__global_every, rotary__base, rotary__local_base,
           rotary__factor, **members):
    kinds = ["sliding_attention" if layer % window__global_every else "full_attention"
             for layer in range(1, layers + 1)]
    return transformers.Gemma3ForCausalLM(config(
        transformers.Gemma3TextConfig, layers=layers, num_key_value_heads=kv_heads, query_pre_attn_scalar=score_width,
        sliding_window=window__size, layer_types=kinds,
        rope_parameters={"sliding_attention": rope(rotary__local_base),
                         "full_attention": rope(rotary__base, rope_type="linear", factor=rotary__factor)}, **members))


@system("OLMo2", "transformers:Olmo2ForCausalLM", width=18, heads=3, layers=2, vocabulary=11, hidden=21, kv_heads=1,
        rotary__base=500.0)
def olmo2(kv_heads, rotary__base, **members):
    return transformers.Olmo2ForCausalLM(config(
        transformers.Olmo2Config, num_key_value_heads=kv_heads, eps=1e-6, rope_parameters=rope(rotary__base),
        **members))


@system("Qwen3", "transformers:Qwen3ForCausalLM", width=15, heads=3, layers=2, vocabulary=11, hidden=21, kv_heads=1,
        head_dim=6, tied=True, rotary__base=500.0)
def qwen3(kv_heads, tied, rotary__base, **members):
    return transformers.Qwen3ForCausalLM(config(
        transformers.Qwen3Config, num_key_value_heads=kv_heads, eps=1e-6, tie_word_embeddings=tied,
        rope_parameters=rope(rotary__base), **members))


# torchscale: computes the softmax in float32 whatever the module's type.


class Sinusoids(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, ids, **_):
        place = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, self.width, 2) / self.width)
        return torch.stack((place.sin(), place.cos()), -1).flatten(1)[:, :self.width]


@system("DeepNet", "torchscale:architecture.decoder.Decoder(deepnorm=True)", zero=("key.bias", "k_proj.bias"),
        forward=lambda model, ids, **_: model(ids)[0], width=15, heads=3, layers=3, hidden=21, vocabulary=11)
def deep_net(width, heads, layers, hidden, vocabulary):
    options = EncoderDecoderConfig(
        decoder_embed_dim=width, decoder_attention_heads=heads, decoder_layers=layers, decoder_ffn_embed_dim=hidden,
        vocab_size=vocabulary, deepnorm=True, activation_fn="relu", dropout=0.0, no_scale_embedding=False,
        share_decoder_input_output_embed=True)
    return Decoder(options, torch.nn.Embedding(vocabulary, width), Sinusoids(width))


# Transcribed.


def turned(x, base=10000.0):
    """Rotary positions of whole heads [batch, heads, tokens, head_dim], in halves."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)


def rotary_attention(w, name, x, width, heads, head_dim, kv_heads, seen, bias):
    """seen: True where a query sees a key."""
    q, k, v = (linear(w, f"{name}.{part}", x, count * head_dim, bias).unflatten(-1, (count, head_dim)).transpose(1, 2)
               for part, count in (("query", heads), ("key", kv_heads), ("value", kv_heads)))
    scores = turned(q) @ turned(k).transpose(-1, -2) / math.sqrt(head_dim)
    o = scores.masked_fill(~seen, -math.inf).softmax(-1) @ v
    return linear(w, name + ".output", o.transpose(1, 2).flatten(-2), width, bias)


def gated(w, name, x, width, hidden, activation, bias):
    h = activation(linear(w, name + ".gate", x, hidden, bias)) * linear(w, name + ".up", x, hidden, bias)
    return linear(w, name + ".down", h, width, bias)


def causal(ids):
    return torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()


@system("PaLM", "equations:PaLM, arXiv 2204.02311", width=15, heads=3, head_dim=6, layers=2, vocabulary=11)
def palm(w, ids, width, heads, head_dim, layers, vocabulary):
    def norm(name, x):
        return F.layer_norm(x, (width,), w(name + ".gamma", width, around=1), None, 1e-6)

    embedding = w("embedding.weight", vocabulary, width)
    x = embedding[ids]
    for i in range(layers):
        name = f"layers.{i}.parallel."
        u = norm(name + "pre", x)
        x = x + (rotary_attention(w, name + "attention", u, width, heads, head_dim, 1, causal(ids), False)
                 + gated(w, name + "feed_forward", u, width, 4 * width, F.silu, False))
    return norm("close", x) @ embedding.T / math.sqrt(width)


@system("GLM130B", "equations:GLM-130B, arXiv 2210.02414", call={"prefix": (4, 2)}, width=18, heads=3, layers=3,
        hidden=21, vocabulary=11, gradient_share=0.25)
def glm_130b(w, ids, prefix, width, heads, layers, hidden, vocabulary, gradient_share):
    s = Sizes(eps=1e-5)
    alpha = math.sqrt(2 * layers)
    seen = causal(ids) | (torch.arange(ids.shape[1]) < torch.tensor(prefix)[:, None])[:, None, None]
    embedding = w("embedding.weight", vocabulary, width)
    e = gradient_share * embedding[ids] + (1 - gradient_share) * embedding[ids].detach()
    x = layer_norm(s, w, "open", e)
    for i in range(layers):
        a, f = f"layers.{i}.attention", f"layers.{i}.feed_forward"
        x = layer_norm(s, w, a + ".out",
                       alpha * x + rotary_attention(w, a, x, width, heads, width // heads, heads, seen, True))
        x = layer_norm(s, w, f + ".out", alpha * x + gated(w, f, x, width, hidden, F.gelu, True))
    return x @ embedding.T
