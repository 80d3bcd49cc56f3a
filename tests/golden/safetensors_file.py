# SPDX-License-Identifier: MIT
"""Writes tests/data/python.safetensors, what the Python package makes of some tensors (safetensors 0.8.0).

    python tests/golden/safetensors_file.py tests/data/python.safetensors
    python tests/golden/safetensors_file.py tests/data/python.safetensors --check other.safetensors

With --check it reads another file instead, and stops unless that holds the same.
"""
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file

METADATA = {"made by": "safetensors, \"Python\" \u00e9\n"}


def tensors():
    return {
        "weight": torch.arange(6, dtype=torch.float32).reshape(2, 3) / 3,
        "layers.0.\u00e9": torch.tensor([0.1, -1e300], dtype=torch.float64),
        "half": torch.tensor([1.0, 6e-8, -65504.0], dtype=torch.float16),
        "brain": torch.tensor([[3.140625], [-1e38]], dtype=torch.bfloat16),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 4),
        "integers": torch.tensor([1, -2], dtype=torch.int64),
    }


def main(path, check=None):
    if check is None:
        save_file(tensors(), path, metadata=METADATA)
        return
    with safe_open(check, "pt") as file:
        assert file.metadata() == METADATA
        assert set(file.keys()) == set(tensors())
        for name, value in tensors().items():
            got = file.get_tensor(name)
            assert got.dtype == value.dtype and got.shape == value.shape and torch.equal(got, value), name


if __name__ == "__main__":
    main(sys.argv[1], *sys.argv[3:])
