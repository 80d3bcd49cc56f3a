// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/parameters.hpp>
#include <norma/kernels/gemm.hpp>

#include <algorithm>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The matrices of a network's products as the register tile reads them, packed once for many passes of inference:
///
///   const auto packed = network.pack(weights);
///   network.forward(weights, x, y, workspace, {.packed = &packed});
///
/// It holds the matrices as they were: after a change of the weights, pack again. Results are the same to the last bit.
class PackedWeights {
 public:
  template <class T>
  explicit PackedWeights(const Parameters<T>& weights) : scalar_bytes_(sizeof(T)), size_(weights.size()) {
    Index elements = 0;
    for (const ParameterInfo& entry : weights.layout().entries()) {
      if (!contains(kMatrices | Kind::head, entry.kind) || entry.at.rows < 2) continue;
      places_.push_back({entry.at.offset, elements});
      elements += kernels::packed_size<T>(entry.at.rows, entry.at.columns);
    }
    memory_ = Buffer(elements * static_cast<Index>(sizeof(T)));
    for (const ParameterInfo& entry : weights.layout().entries())
      if (const T* const at = find<T>(entry.at))
        kernels::pack_weight<T>(entry.at.in(weights.data()), const_cast<T*>(at));  // this buffer's own
  }

  /// The panels of a weight, or null where it has none.
  template <class T>
  const T* find(const Parameter& weight) const {
    const auto at = std::lower_bound(places_.begin(), places_.end(), weight.offset,
                                     [](const Place& place, Index offset) { return place.weight < offset; });
    if (at == places_.end() || at->weight != weight.offset) return nullptr;
    return reinterpret_cast<const T*>(memory_.data()) + at->panels;
  }
  /// Whether they are of a network with a flat buffer of `size` elements of T.
  template <class T>
  bool fits(Index size) const {
    return scalar_bytes_ == sizeof(T) && size_ == size;
  }
  Index bytes() const { return memory_.bytes(); }

 private:
  struct Place {
    Index weight, panels;  // offsets, in the flat buffer and here
  };
  std::size_t scalar_bytes_;
  Index size_;
  std::vector<Place> places_;
  Buffer memory_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
