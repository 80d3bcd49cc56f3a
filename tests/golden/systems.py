# SPDX-License-Identifier: MIT
"""Named systems as public packages run them: one forward and backward of a tiny random configuration, kept under the
package's own names. norma loads them by the tables of its systems, which are tested by that."""
import torch
import transformers
from torch import nn

from golden import CASES, draw, metadata_of, check

transformers.logging.set_verbosity_error()


def system(network, source, zero=(), prefix="", **members):
    """Registers a system under its function's name.

    The function makes the package's model of `members`, which are the members of norma's system. network: what C++
    calls the system. zero: ends of the names whose gradient is zero by theory, of norma's and of the package's.
    prefix: of the package's names, where norma's table has none.
    """

    def register(function):
        CASES[function.__name__] = dict(function=function, network=network, source=source, zero=zero, prefix=prefix,
                                        members=members, run=run)
        return function

    return register


def run(name, seed, overrides):
    """A pass in double: the tensors and the metadata of its file. The members are the case's own: no overrides."""
    entry = CASES[name]
    members = entry["members"]
    made = entry["function"](**members)
    model, inputs, forward = made if isinstance(made, tuple) else (made, tokens(seed, members), logits)
    model = model.double().eval()
    randomize(model, seed)
    for value in inputs.values():
        if value.is_floating_point():
            value.requires_grad_()
    y = forward(model, **inputs)
    dy = draw(seed, "dy", y.shape)
    y.backward(dy)

    tensors = {"y": y, "dy": dy}
    for key, value in inputs.items():
        tensors[key] = value
        if value.requires_grad:
            tensors["d" + key] = value.grad
    for key, value in model.named_parameters():
        tensors |= {"weights." + key: value, "gradients." + key: value.grad}
    check(name, {key: value.grad for key, value in model.named_parameters()}, entry["zero"])
    return tensors, metadata_of(entry, seed, {**members, "prefix": entry["prefix"]})


def randomize(model, seed):
    """Away from initial values: a vector is spread by 0.3 around the value that it has, 0 or 1, a matrix around 0."""
    for name, value in model.named_parameters():
        vector = value.dim() == 1
        around = float(value.detach().mean().round()) if vector else 0.0
        value.data = draw(seed, name, value.shape, around, 0.3 if vector else value.shape[-1] ** -0.5)


def tokens(seed, members, batch=2, count=7):
    generator = torch.Generator().manual_seed(seed)
    return {"ids": torch.randint(members["vocabulary"], (batch, count), generator=generator)}


def logits(model, ids):
    return model(input_ids=ids, use_cache=False).logits


QUIET = dict(attn_implementation="eager", bos_token_id=1, eos_token_id=2)


@system("GPT2", "transformers:GPT2LMHeadModel", prefix="transformer.", width=15, heads=3, layers=2, vocabulary=11,
        positions=9)
def gpt2(width, heads, layers, vocabulary, positions):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=width, n_head=heads, n_layer=layers, vocab_size=vocabulary, n_positions=positions, **QUIET))
