// SPDX-License-Identifier: MIT
// What the stack is run on: windows of a text, or Gaussian noise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.hpp"

/// Token ids [batch, tokens] and, at each place, the next one.
struct Batch {
  std::vector<std::int32_t> ids, targets;
};

/// The bytes of a file. \throws UsageError if it cannot be read or holds fewer than `least`.
std::string read_text(const std::string& path, std::size_t least);
/// `batch` windows of `tokens` bytes at places that the seed draws.
Batch windows(const std::string& text, long batch, long tokens, long seed);
/// Uniform labels of `classes` classes.
std::vector<std::int32_t> labels(long count, long classes, long seed);
