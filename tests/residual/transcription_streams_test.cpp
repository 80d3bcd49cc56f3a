// SPDX-License-Identifier: MIT
// Each placement against its equations, written out with plain loops.
#include "placement_streams.hpp"
#include "placement_transcription.hpp"

namespace {

using plain::add;
using plain::compare_stack;
using plain::kLayers;
using plain::Matrix;
using plain::Network;

TEST(TranscriptionOfStreams, Reversible) {
  compare_stack(user::Reversible{}, [](const Network& n, const Matrix& input) {
    Matrix a = input, b = input;
    for (int l = 0; l < kLayers; ++l) {
      const std::string at = "layers." + std::to_string(l) + ".";
      a = add(a, n.attention(at, n.norm(at + "attention.pre.1", b)));
      b = add(b, n.feed_forward(at, n.norm(at + "feed_forward.pre.1", a)));
    }
    return add(n.norm("close.part0", a), n.norm("close.part1", b));
  });
}

}  // namespace
