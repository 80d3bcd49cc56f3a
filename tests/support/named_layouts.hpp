// SPDX-License-Identifier: MIT
// Small layouts for the tests of names, and weights whose values say where they belong.
#pragma once

#include <memory>
#include <norma/sublayer/attention.hpp>
#include <norma/sublayer/feed_forward.hpp>
#include <string>

#include "surface_helpers.hpp"

namespace io_test {

/// Calls visit(name, the parameter, its rows there) for every weight, alone or a part. Of vectors, the elements.
template <class Visit>
void for_each_piece(const norma::Layout& layout, Visit&& visit) {
  for (const norma::ParameterInfo& info : layout.entries()) {
    const norma::Index outputs = info.at.rows == 1 ? info.at.columns : info.at.rows;
    if (info.parts.empty()) visit(info.name, info, norma::RowGroups::all(outputs));
    for (const norma::Part& part : info.parts) visit(part.name, info, part.rows);
  }
}

/// Weights that hang on the names of the pieces alone, not on how a network stores them.
inline norma::Parameters<float> numbered(const std::shared_ptr<const norma::Layout>& layout) {
  norma::Parameters<float> weights(layout);
  for_each_piece(*layout, [&](const std::string& name, const norma::ParameterInfo& info, norma::RowGroups rows) {
    const norma::Index columns = info.at.rows == 1 ? 1 : info.at.columns;
    const auto values = surface::numbers(rows.outputs * columns, name);
    auto map = weights[info.name];
    for (norma::Index r = 0; r < rows.outputs; ++r)
      for (norma::Index c = 0; c < columns; ++c)
        map.data()[rows.row(r) * columns + c] = values[static_cast<std::size_t>(r * columns + c)];
  });
  return weights;
}

/// Two layers of attention and a gated feed-forward, and a norm at the end; grouped heads, odd sizes.
struct Storage {
  norma::Projections projections = norma::Projections::separate;
  bool packed_gate = false, biases = true;
};
inline std::shared_ptr<const norma::Layout> transformer(Storage storage = {}) {
  const norma::Dimensions dims{.width = 5,
                               .heads = 4,
                               .hidden = 7,
                               .kv_heads = 2,
                               .head_dim = 3,
                               .attention_bias = storage.biases,
                               .feed_forward_bias = storage.biases,
                               .projections = storage.projections,
                               .packed_gate = storage.packed_gate};
  auto layout = std::make_shared<norma::Layout>();
  const auto declare = [&](const std::string& name, auto module) {
    const norma::Layout::Level level(*layout, name);
    module.declare(*layout, dims.width);
  };
  for (int i = 0; i < 2; ++i) {
    declare(norma::Layout::block_level(i) + ".attention", norma::Attention<float>(dims));
    declare(norma::Layout::block_level(i) + ".feed_forward", norma::SwiGLU<float>(dims));
  }
  layout->add("close.gamma", 1, dims.width, norma::Kind::norm);
  return layout;
}

}  // namespace io_test
