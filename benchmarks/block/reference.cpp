// SPDX-License-Identifier: MIT
// What blocks are compared with: norma's in double. Torch's rows are compared with the same, so the two agree.
#include "norma_block.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace block_benchmark {
namespace {

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = (std::max)(most, std::abs(v));
  return most;
}

/// Errors are divided by the largest element of the tensor, or by the least scale below. The key's bias, all
/// rounding, comes to 7e-6 of it; a wrong term is far outside.
constexpr double kTolerance = 5e-5;

}  // namespace

const Tensors<double>& reference(const std::string& variant, const Extent& extent) {
  static std::map<std::string, Tensors<double>> known;
  Tensors<double>& found = known[variant + extent.name()];
  if (found.empty())
    for_each_placement<double>([&]<class Block>(const char* name) {
      if (variant != name) return;
      NormaBlock<Block> block(extent, 1, /*training=*/true);
      block.forward_backward();
      found = block.results();
    });
  if (found.empty()) throw std::logic_error("there is no reference for " + variant);
  return found;
}

std::string wrong(const Tensors<float>& found, const std::string& variant, const Extent& extent, bool backward) {
  const Tensors<double>& right = reference(variant, extent);
  // Some gradients are zero but for rounding: that of the key's bias, which adds the same to all scores of a query. So
  // a tensor's scale is at least a part of the largest gradient's.
  double floor = 0;
  for (const auto& [name, values] : right)
    if (name != "y" && name != "dx") floor = (std::max)(floor, 0.01 * largest(values));
  for (const auto& [name, values] : right) {
    if (!backward && name != "y") continue;
    const auto at = found.find(name);
    if (at == found.end() || at->second.size() != values.size()) return name + ": absent, or of another size";
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = std::abs(at->second[i] - values[i]);
      if (!(error <= worst)) worst = error;  // NaN, too
    }
    const double scale = name == "y" || name == "dx" ? largest(values) : (std::max)(floor, largest(values));
    if (worst <= kTolerance * scale) continue;
    std::ostringstream text;
    text << name << ": off by " << worst << ", its largest element is " << scale;
    return text.str();
  }
  return {};
}

}  // namespace block_benchmark
