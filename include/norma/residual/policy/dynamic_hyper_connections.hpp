// SPDX-License-Identifier: MIT
// Hyper-connections, dynamic (Zhu et al., "Hyper-Connections", arXiv 2409.19606, equations 10 to 14 and algorithm 2):
// hyper_connections.hpp with coefficients that a token's own rows move. With Hn = norm(H), per row:
//
//   A_m + s_a tanh(Hn W_m),  A_r + s_a tanh(Hn W_r),  B + s_b tanh(Hn W_b)^T        in place of A_m, A_r, B
//
// Learned parameters: those of the static form, and per sublayer one norm for all rows of H, W_m and W_b [width], W_r
// [n, width], 0 at first, and the numbers s_a and s_b, 0.01 at first. In the paper the matrices decay and the static
// parts do not; here neither decays. The closing norm is required.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/mix.hpp>
#include <norma/residual/streams.hpp>
#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

template <int Parts = 4>
struct DynamicHyperConnections {
  double output_gain = 1;  ///< as in HyperConnections

  auto slots(auto at) const {
    using Norm = decltype(at.norm);
    using T = typename Norm::Scalar;
    using ToReader = DynamicMix<Norm, Parts, 1>;
    using ToJoin = DynamicMix<Norm, Parts, Parts + 1>;
    return place<Parts>()
        .pre(then(ReadMix<T, Parts, ToReader>(at.site, ToReader(at.norm)), at.norm))
        .join(WriteMix<T, Parts, ToJoin>(ToJoin(at.norm)))
        .close(then(SumParts<Parts>{}, at.norm))
        .gain(output_gain, kResidualOutput);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
