// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/parameters.hpp>
#include <norma/kernels/gemm.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The matrices of a network's blocks and of its own head as products read them, packed once for many passes of
/// inference:
///
///   const auto packed = network.pack(weights);
///   network.forward(weights, x, y, workspace, {.packed = &packed});
///
/// It holds the matrices as they were: after a change of the weights, pack again, and keep it beside its weights, since
/// those of other weights of the same layout cannot be told apart. Results are the same to the last bit.
/// What other products read (a head tied to the embedding, an image's patches), they read from the weights; with
/// another library's product (docs/backends.md) there is nothing in it.
class PackedWeights {
 public:
  /// Of no network, to be assigned later.
  PackedWeights() = default;
  template <class T>
  PackedWeights(std::shared_ptr<const Layout> layout, const T* weights)
      : layout_(std::move(layout)), scalar_bytes_(sizeof(T)) {
    if (!kernels::kOwnProduct<T>) return;
    Index elements = 0;
    for_each_matrix([&](const Parameter& at, const RowGroups& rows) {
      places_.push_back({first_element(at, rows), rows.group, rows.count(), elements});
      elements += rows.count() * kernels::packed_size<T>(rows.group, at.columns);
    });
    memory_ = Buffer(elements * static_cast<Index>(sizeof(T)));
    T* to = reinterpret_cast<T*>(memory_.data());
    for_each_matrix([&](const Parameter& at, const RowGroups& rows) {
      for (Index output = 0; output < rows.outputs; output += rows.group) {
        kernels::pack_weight<T>(at.in(weights).middle_rows(rows.row(output), rows.group), to);
        to += kernels::packed_size<T>(rows.group, at.columns);
      }
    });
    std::sort(places_.begin(), places_.end(), before);
  }

  /// The panels of these rows of a weight, a group after the other, or null where they are not packed.
  template <class T>
  const T* find(const Parameter& weight, const RowGroups& rows) const {
    const Place wanted{first_element(weight, rows), rows.group, rows.count(), 0};
    const auto at = std::lower_bound(places_.begin(), places_.end(), wanted, before);
    if (at == places_.end() || at->first != wanted.first || at->group != wanted.group || at->groups != wanted.groups)
      return nullptr;
    return reinterpret_cast<const T*>(memory_.data()) + at->panels;
  }
  /// Stops unless they are of a network of this layout, computed in T.
  template <class T>
  void check_layout(const Layout& layout) const {
    if (layout_ == nullptr) fail("packed is empty; make it with pack(weights)");
    if (scalar_bytes_ != sizeof(T)) fail("packed is of another scalar type than the network");
    if (layout_.get() != &layout && !(*layout_ == layout && same_parts(*layout_, layout)))
      fail("packed belongs to another network: " + std::to_string(layout_->count()) + " parameters, wanted " +
           std::to_string(layout.count()));
  }
  Index bytes() const { return memory_.bytes(); }
  const void* data() const { return memory_.data(); }

 private:
  struct Place {
    Index first;  // element of the flat buffer
    Index group, groups;
    Index panels;  // where they begin here
  };
  /// Whether the same rows are matrices by themselves: then panels lie at the same places.
  static bool same_parts(const Layout& a, const Layout& b) {
    return std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(),
                      [](const ParameterInfo& p, const ParameterInfo& q) {
                        return p.kind == q.kind &&
                               std::equal(p.parts.begin(), p.parts.end(), q.parts.begin(), q.parts.end(),
                                          [](const Part& r, const Part& t) { return r.rows == t.rows; });
                      });
  }
  static bool before(const Place& a, const Place& b) { return a.first < b.first; }
  static Index first_element(const Parameter& weight, const RowGroups& rows) {
    return weight.offset + rows.first * weight.columns;
  }
  /// visit(parameter, rows) for every matrix, the parts of a fused one each by itself.
  template <class F>
  void for_each_matrix(const F& visit) const {
    for (const ParameterInfo& entry : layout_->entries()) {
      if (!contains(kMatrices | Kind::head, entry.kind)) continue;
      if (entry.parts.empty()) visit(entry.at, RowGroups::all(entry.at.rows));
      for (const Part& part : entry.parts) visit(entry.at, part.rows);
    }
  }

  std::shared_ptr<const Layout> layout_;
  std::size_t scalar_bytes_ = 0;
  std::vector<Place> places_;  // in order of their first element
  Buffer memory_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
