// SPDX-License-Identifier: MIT
// LayerScale (Touvron et al., "Going deeper with Image Transformers", arXiv 2103.17239; the authors' code):
//
//   x' = x + diag(lambda) F(LN(x))        for every sublayer F
//   y  = LN(x)                            once, at the end of the stack
//
// Learned parameters: the norms', and lambda, one number per channel and sublayer. It starts from 0.1 up to 18 layers,
// 1e-5 up to 24 and 1e-6 beyond: the paper's values as they are commonly quoted; the authors' code has 1e-5 for 24 and
// 36 narrow layers and 1e-6 for wider ones of 36 and 48. `initial` overrides. The closing norm is required, as of
// Pre-LN.
#pragma once

#include <norma/residual/gate.hpp>
#include <norma/residual/table.hpp>

#include <optional>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct LayerScale {
  std::optional<double> initial{};  ///< in place of the value by depth

  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    return place().pre(at.norm).join(ChannelGate<T>(initial.value_or(initial_of(at.depth.layers)))).close(at.norm);
  }

  static double initial_of(int layers) { return layers <= 18 ? 0.1 : layers <= 24 ? 1e-5 : 1e-6; }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
