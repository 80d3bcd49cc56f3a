// SPDX-License-Identifier: MIT
// The names under which somebody else's files hold a network's parameters: a table, a line each,
//
//   inline constexpr Name kNames[] = {
//       {"embedding.weight", "wte.weight"},
//       {"layers.*.feed_forward.up.weight", "h.*.mlp.c_fc.weight", Stored::transposed},
//       {"layers.*.attention.query.weight", "h.*.attn.c_attn.weight", Stored::transposed},  // one tensor of three:
//       {"layers.*.attention.key.weight", "h.*.attn.c_attn.weight", Stored::transposed},    // their rows, in the
//       {"layers.*.attention.value.weight", "h.*.attn.c_attn.weight", Stored::transposed},  // order of the lines
//       {"embedding.weight", "lm_head.weight", Stored::copy},                               // tied
//       {"", "h.*.attn.mask"},                                                              // nothing to load
//       {"", "vision_model.**"},                                                            // all of another network
//   };
//
// What it makes of a network: named_tensors.hpp.
#pragma once

#include <norma/config.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// How a file stores a parameter of [rows, columns]. A vector is one in any case, but for batch_of_one.
enum class Stored {
  as_is,         ///< [rows, columns]
  transposed,    ///< [columns, rows]: weights that are [in, out]
  patches,       ///< [rows, channels, patch, patch]: a convolution that steps by its patches; of Patches' weight alone
  batch_of_one,  ///< [1, rows, columns]
  per_head,      ///< a fused parameter, as Projections::fused_per_head has it
  interleaved,   ///< several lines of one tensor: the first row of each, then the second of each, ...
  copy           ///< once more as it is, for tied weights: may be missing, else the same values; never written
};

/// A line of a table. `*` is a number, on both sides the same: the layer's. In a file's name `#` counts instead the
/// parameters that a line is for, 0, 1, 2, ...: of blocks that stand in some layers only, and are numbered by
/// themselves. A line that passes over ends in `**` for all tensors whose names begin like this: another network's.
struct Name {
  /// A parameter, or a part of one that is fused: a part is called what it would be called alone, however the network
  /// stores it. Empty: the tensor is none of the network's weights, and passed over.
  std::string_view norma;
  /// The file's tensor. Several lines can share it: it then holds their rows, one after the other.
  std::string_view stored;
  Stored how = Stored::as_is;
};

namespace detail {

/// The numbers that the stars of `pattern`, and its counts, stand for where it is `name`: decimal, without leading
/// zeros.
inline std::optional<std::vector<std::string_view>> match(std::string_view pattern, std::string_view name) {
  std::vector<std::string_view> numbers;
  for (; !pattern.empty(); pattern.remove_prefix(1)) {
    if (pattern == "**") return numbers;
    std::size_t length = 1;
    if (pattern.front() == '*' || pattern.front() == '#') {
      length = (std::min)(name.find_first_not_of("0123456789"), name.size());
      if (length == 0 || (length > 1 && name.front() == '0')) return std::nullopt;
      numbers.push_back(name.substr(0, length));
    } else if (name.empty() || name.front() != pattern.front()) {
      return std::nullopt;
    }
    name.remove_prefix(length);
  }
  if (!name.empty()) return std::nullopt;
  return numbers;
}
/// The pattern with these numbers for its stars, and a count.
inline std::string filled(std::string_view pattern, const std::vector<std::string_view>& numbers,
                          std::size_t count = 0) {
  std::string name;
  std::size_t next = 0;
  for (const char c : pattern)
    if (c == '*' && next < numbers.size())
      name += numbers[next++];
    else if (c == '#')
      name += std::to_string(count);
    else
      name += c;
  return name;
}

}  // namespace detail
}  // namespace norma::inline v0_1::inline NORMA_TARGET
