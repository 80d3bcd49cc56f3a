// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"

namespace placement {
namespace {

struct PreLNCase : Case<norma::PreLN> {
  // Per site: Pre's output d, three statistics of its norm. Attention: q, k, v, o, 4 d, and a log-sum-exp per head, h.
  // Feed-forward: before and after the activation, 2 f. Between the sites: the stream, d.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(PreLN, PlacementRuns, testing::Types<PreLNCase>);

}  // namespace
}  // namespace placement
