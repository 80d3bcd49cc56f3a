# SPDX-License-Identifier: MIT
"""What a golden case is made of: sizes, weights by norma's names, and the file that holds a pass.

A case is a function (s, w, x) -> y. `s` are the sizes and options, `x` is [batch, tokens, width], and `w(name, *shape)`
is the weight of that name, drawn when it is first asked for. So a transcription says what it needs as it goes, and a
case that runs a package's module hands that module tensors made of such weights. In both, autograd brings every
gradient back to norma's names.
"""
import dataclasses
import importlib.metadata
import json
import zlib

import torch
from safetensors.torch import save

torch.set_default_dtype(torch.float64)

CASES = {}


@dataclasses.dataclass
class Sizes:
    """Odd wherever it can be, the width of a head too."""

    width: int = 15
    heads: int = 3
    hidden: int = 21
    layers: int = 2
    batch: int = 2
    tokens: int = 7
    memory_tokens: int = 0
    causal: bool = True
    eps: float = 1e-5
    # Further options of the network in norma, by the names that golden_network.hpp reads.
    options: dict = dataclasses.field(default_factory=dict)

    @property
    def head_dim(self):
        return self.width // self.heads


class Weights:
    """Weights by norma's name, away from their initial values: no gamma is one, no gate and no bias zero."""

    def __init__(self, seed):
        self.seed = seed
        self.values = {}

    def __call__(self, name, *shape, around=0.0):
        """A vector is spread by 0.3 around a value, a matrix [out, in] by 1 / sqrt(in)."""
        if name not in self.values:
            spread = shape[-1] ** -0.5 if len(shape) > 1 else 0.3
            self.values[name] = draw(self.seed, name, shape, around, spread).requires_grad_()
        assert self.values[name].shape == shape, name
        return self.values[name]


def draw(seed, name, shape, around=0.0, spread=1.0):
    """Numbers that float32 holds, the same for the same seed and name."""
    generator = torch.Generator().manual_seed(seed * 1000003 + zlib.crc32(name.encode()))
    return (around + spread * torch.randn(shape, generator=generator)).to(torch.float32).to(torch.float64)


def case(network, source, zero=("key.bias",), **sizes):
    """Registers a case under its function's name.

    network: what C++ runs, a key in golden_*_test.cpp. source: a package's class, "torch:nn.TransformerEncoder", or
    "equations:" and the paper that they are
    transcribed from. zero: ends of the names whose gradient is zero by theory (a constant added to all keys
    moves all scores of a query alike, which the softmax takes back). sizes: as in Sizes.
    """

    def register(function):
        CASES[function.__name__] = dict(function=function, network=network, source=source, zero=zero, sizes=sizes,
                                        run=run)
        return function

    return register


def provenance(source):
    """"torch 2.13.0, nn.TransformerEncoder", or "equations of KEEL, arXiv 2601.19895"."""
    package, what = source.split(":", 1)
    if package == "equations":
        return f"equations of {what}"
    return f"{package} {importlib.metadata.version(package).split('+')[0]}, {what}"


def run(name, seed, overrides):
    """A pass of one case in double: the tensors and the metadata of its file."""
    entry = CASES[name]
    s = Sizes(**{**overrides, **entry["sizes"]})
    w = Weights(seed)
    shape = (s.batch, s.tokens, s.width)
    x = draw(seed, "x", shape).requires_grad_()
    dy = draw(seed, "dy", shape)
    inputs = {"x": x}
    if s.memory_tokens:
        inputs["memory"] = draw(seed, "memory", (s.batch, s.memory_tokens, s.width)).requires_grad_()
    y = entry["function"](s, w, *inputs.values())
    y.backward(dy)

    tensors = {"y": y, "dy": dy}
    for key, value in inputs.items():
        tensors |= {key: value, "d" + key: value.grad}
    for key, value in w.values.items():
        tensors |= {"weights." + key: value, "gradients." + key: value.grad}
    check(name, {key: value.grad for key, value in w.values.items()}, entry["zero"])

    sizes = {field.name: getattr(s, field.name) for field in dataclasses.fields(s) if field.name != "options"}
    return tensors, metadata_of(entry, seed, {**sizes, **s.options})


def metadata_of(entry, seed, options):
    """As text: what made a file, and the options of the network."""
    metadata = {"network": entry["network"], "source": provenance(entry["source"]), "seed": seed,
                "zero_by_theory": " ".join(entry["zero"]), **options}
    return {key: str(int(value) if isinstance(value, bool) else value) for key, value in metadata.items()}


def check(name, gradients, zero):
    """Gradients are zero by theory, or not at all."""
    largest = max(g.abs().max() for g in gradients.values())
    for key, g in gradients.items():
        is_zero = bool(g.abs().max() <= 1e-6 * largest)
        assert is_zero == any(key.endswith(end) for end in zero), f"{name}: |gradient of {key}| {g.abs().max():.1e}"


def write(path, tensors, metadata):
    """The package's bytes, with the metadata in order: the same case and seed, the same file."""
    data = save({key: value.detach().to(torch.float32).contiguous() for key, value in tensors.items()}, metadata)
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode().ljust(size)
    assert len(text) == size
    path.write_bytes(data[:8] + text + data[8 + size:])
