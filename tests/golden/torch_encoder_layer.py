# SPDX-License-Identifier: MIT
"""Writes tests/data/torch_encoder_layer.bin: one torch.nn.TransformerEncoderLayer, forward and backward.

    python tests/golden/torch_encoder_layer.py tests/data/torch_encoder_layer.bin      (made with torch 2.13.0)

Little-endian float32, one tensor after another, row-major. Inputs are float32 numbers, results are computed from them
in float64 and rounded to float32:

    the layer's parameters, in the order of its state_dict
    x, dy                                    [batch, tokens, width]
    and for norm_first in (False, True), for activation in ("relu", "gelu"):
        y, dx                                [batch, tokens, width]
        the gradients of the parameters, in the order of the state_dict
"""
import sys

import torch

WIDTH, HEADS, HIDDEN, BATCH, TOKENS = 12, 3, 20, 2, 5


def make_layer(norm_first, activation, dtype):
    return torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, HIDDEN, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first, dtype=dtype)


def inputs():
    """Parameters away from their initial values, x and dy: float32."""
    generator = torch.Generator().manual_seed(1)
    parameters = {
        name: (1.0 if name.startswith("norm") and name.endswith("weight") else 0.0)
        + 0.4 * torch.randn(value.shape, generator=generator)
        for name, value in make_layer(False, "relu", torch.float32).state_dict().items()
    }
    x, dy = (torch.randn(BATCH, TOKENS, WIDTH, generator=generator) for _ in range(2))
    return parameters, x, dy


def run(norm_first, activation, dtype, **masks):
    """y, dx and the gradients by name."""
    parameters, x, dy = inputs()
    layer = make_layer(norm_first, activation, dtype).train()
    layer.load_state_dict({name: value.to(dtype) for name, value in parameters.items()})
    x = x.to(dtype).requires_grad_()
    y = layer(x, **masks)
    y.backward(dy.to(dtype))
    gradients = dict(layer.named_parameters())
    return y.detach(), x.grad, [gradients[name].grad for name in parameters]


def main(path):
    parameters, x, dy = inputs()
    tensors = [*parameters.values(), x, dy]
    for norm_first in (False, True):
        for activation in ("relu", "gelu"):
            y, dx, gradients = run(norm_first, activation, torch.float64)
            tensors += [y, dx, *gradients]
    with open(path, "wb") as file:
        for tensor in tensors:
            file.write(tensor.to(torch.float32).contiguous().numpy().astype("<f4").tobytes())


if __name__ == "__main__":
    main(sys.argv[1])
