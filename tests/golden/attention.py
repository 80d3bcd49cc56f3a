# SPDX-License-Identifier: MIT
"""What attention does besides softmax(q k^T) v, as public packages run it: windows, caps, biases by distance, prefixes,
scaled rotary positions. As in packages.py."""
import torch
import transformers
from torch import nn

from golden import case
from packages import (GROUPED, GROUPED_OPTIONS, PERI_LN, call, causal_mask, gemma2, grouped_layers, huggingface,
                      huggingface_config, linear, torch_layers, torch_stack)

# Hugging Face transformers: T5


def t5_stack(s, w, x):
    buckets, distance = s.options["relative_buckets"], s.options["relative_max_distance"]
    config = transformers.T5Config(
        d_model=s.width, d_kv=s.head_dim, d_ff=s.hidden, num_layers=s.layers, num_heads=s.heads, vocab_size=3,
        relative_attention_num_buckets=buckets, relative_attention_max_distance=distance, dropout_rate=0.0,
        layer_norm_epsilon=s.eps, is_decoder=s.causal, is_encoder_decoder=False, use_cache=False,
        attn_implementation="eager")
    stack = transformers.models.t5.modeling_t5.T5Stack(config)
    # A stack with a causal mask has cross-attention, too, which is not run.
    unused = ("EncDecAttention", "layer.1.layer_norm")
    parameters = {name: p.detach() for name, p in stack.named_parameters() if any(part in name for part in unused)}
    for i in range(s.layers):
        a, f, to = f"layers.{i}.attention", f"layers.{i}.feed_forward", f"block.{i}.layer."
        last = f"{to}{2 if s.causal else 1}."
        for part in ("query", "key", "value", "output"):
            parameters |= linear(w, f"{a}.{part}", s.width, s.width, f"{to}0.SelfAttention.{part[0]}", bias=False)
        parameters |= linear(w, f + ".up", s.hidden, s.width, last + "DenseReluDense.wi", bias=False)
        parameters |= linear(w, f + ".down", s.width, s.hidden, last + "DenseReluDense.wo", bias=False)
        parameters[to + "0.layer_norm.weight"] = w(a + ".pre.gamma", s.width, around=1)
        parameters[last + "layer_norm.weight"] = w(f + ".pre.gamma", s.width, around=1)
    table = w("relative_bias.weight", buckets, s.heads)
    parameters["block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = table
    parameters["final_layer_norm.weight"] = w("close.gamma", s.width, around=1)
    return huggingface(stack, parameters, x)


T5 = dict(zero=(), tokens=9, options={"attention_bias": False, "feed_forward_bias": False, "score_scale": 1,
                                      "relative_buckets": 8, "relative_max_distance": 7})


@case("PreLN RMSNorm ReLU", "transformers:models.t5.T5Stack", causal=False, **T5)
def relative_bias(s, w, x):
    return t5_stack(s, w, x)


@case("PreLN RMSNorm ReLU", "transformers:models.t5.T5Stack(is_decoder=True)", **T5)
def relative_bias_causal(s, w, x):
    return t5_stack(s, w, x)


# The others of it


@case("PeriLN RMSNorm GeGLUTanh", "transformers:Gemma2Model(attn_logit_softcapping, sliding_window)",
      **{**PERI_LN, "layers": 3, "options": {**PERI_LN["options"], "window": 3, "window_global_every": 2,
                                             "score_cap": 0.75}})
def window_and_cap(s, w, x):
    return gemma2(s, w, x, attn_logit_softcapping=s.options["score_cap"], sliding_window=s.options["window"])


@case("PeriLN PerHeadQKNorm RMSNorm GeGLUTanh", "transformers:Gemma3TextModel", **{
    **PERI_LN, "layers": 3,
    "options": {**PERI_LN["options"], "window": 3, "window_global_every": 2, "rotary_base": 1e6,
                "rotary_local_base": 1e4, "rotary_factor": 8}})
def two_rotary_bases(s, w, x):
    return gemma2(s, w, x, kind=transformers.Gemma3TextConfig, model=transformers.Gemma3TextModel,
                  query_key_norm=(s.head_dim, s.head_dim), sliding_window=s.options["window"],
                  sliding_window_pattern=s.options["window_global_every"], rope_parameters={
                      "sliding_attention": {"rope_type": "default", "rope_theta": s.options["rotary_local_base"]},
                      "full_attention": {"rope_type": "linear", "factor": s.options["rotary_factor"],
                                         "rope_theta": s.options["rotary_base"]}})


# In 30 tokens the pairs turn 4.8, 1.2 and 0.3 times: one is spared, one slowed in part, one slowed.
@case("PreLN RMSNorm SwiGLU", "transformers:LlamaModel(rope_type=llama3)", **GROUPED,
      options={**GROUPED_OPTIONS, "rotary_base": 60, "rotary_factor": 8, "rotary_original_context": 30})
def rotary_by_turns(s, w, x):
    norms = (("attention.pre", "input_layernorm"), ("feed_forward.pre", "post_attention_layernorm"))
    config = huggingface_config(
        transformers.LlamaConfig, s, num_key_value_heads=1, rms_norm_eps=s.eps, rope_parameters={
            "rope_type": "llama3", "rope_theta": s.options["rotary_base"], "factor": s.options["rotary_factor"],
            "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": s.options["rotary_original_context"]})
    return huggingface(transformers.LlamaModel(config), grouped_layers(s, w, norms, "norm"), x)


# Its hidden width is four times its width.
@case("PreLN", "transformers:MptModel", width=15, hidden=60, zero=(),
      options={"attention_bias": False, "feed_forward_bias": False, "norm_beta": False, "alibi": True})
def alibi(s, w, x):
    s.hidden = 4 * s.width
    parameters = {"norm_f.weight": w("close.gamma", s.width, around=1)}
    for i in range(s.layers):
        a, f, to = f"layers.{i}.attention", f"layers.{i}.feed_forward", f"blocks.{i}."
        parameters[to + "norm_1.weight"] = w(a + ".pre.gamma", s.width, around=1)
        parameters[to + "norm_2.weight"] = w(f + ".pre.gamma", s.width, around=1)
        parameters[to + "attn.Wqkv.weight"] = torch.cat(
            [w(f"{a}.{part}.weight", s.width, s.width) for part in ("query", "key", "value")])
        parameters |= linear(w, a + ".output", s.width, s.width, to + "attn.out_proj", bias=False)
        parameters |= linear(w, f + ".up", s.hidden, s.width, to + "ffn.up_proj", bias=False)
        parameters |= linear(w, f + ".down", s.width, s.hidden, to + "ffn.down_proj", bias=False)
    config = transformers.MptConfig(
        d_model=s.width, n_heads=s.heads, n_layers=s.layers, vocab_size=3, max_seq_len=s.tokens,
        layer_norm_epsilon=s.eps, use_cache=False, attn_implementation="eager")
    return huggingface(transformers.MptModel(config), parameters, x, "wte")


# torch.nn: a causal mask without the prefix's columns


@case("PreLN", "torch:nn.TransformerEncoder(norm_first=True, norm=LayerNorm), masks with a prefix")
def prefix(s, w, x):
    lengths = [min(3 + 2 * b, s.tokens) for b in range(s.batch)]
    s.options = {"prefix": " ".join(map(str, lengths))}
    later = causal_mask(s, s.tokens)
    masks = [later & (torch.arange(s.tokens) >= length) for length in lengths for _ in range(s.heads)]
    stack = torch_stack(s, "pre", nn.TransformerEncoderLayer, nn.TransformerEncoder)
    return call(stack, torch_layers(s, w, "pre"), x, mask=torch.stack(masks))
