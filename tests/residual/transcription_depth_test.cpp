// SPDX-License-Identifier: MIT
// Each placement against its equations, written out with plain loops.
#include "placement_depth.hpp"
#include "placement_transcription.hpp"

namespace {

using norma::Index;
using plain::add;
using plain::blocks;
using plain::compare_stack;
using plain::kLayers;
using plain::Matrix;
using plain::Network;
using plain::post_ln;
using plain::pre_ln;
using plain::scale;

TEST(TranscriptionByDepth, Keel) {
  compare_stack(user::Keel{}, [](const Network& n, const Matrix& x) {
    return blocks(x, [&](const std::string& at, int l, const Matrix& m) {
      if (l == 1) return pre_ln(n, at, m);
      const double alpha = 2 * kLayers;
      const Matrix u = n.norm(at + "attention.out", add(m, n.attention(at, n.norm(at + "attention.pre", m)), alpha));
      return n.norm(at + "feed_forward.out", add(u, n.feed_forward(at, n.norm(at + "feed_forward.pre", u)), alpha));
    });
  });
}
TEST(TranscriptionByDepth, MixLN) {
  compare_stack(user::MixLN{.share = 0.4},
                [](const Network& n, const Matrix& x) {  // floor(0.4 * 3) = 1 block is Post-LN
                  return n.norm("close", blocks(x, [&](const std::string& at, int l, const Matrix& m) {
                                  return l == 1 ? post_ln(n, at, m, 1) : pre_ln(n, at, m);
                                }));
                });
}
TEST(TranscriptionByDepth, LayerNormScaling) {
  compare_stack(user::LayerNormScaling{}, [](const Network& n, const Matrix& x) {
    return n.norm("close", blocks(x, [&](const std::string& at, int l, const Matrix& m) {
                    const double s = 1 / std::sqrt(double(l));
                    const Matrix u = add(m, n.attention(at, scale(n.norm(at + "attention.pre.0", m), s)));
                    return add(u, n.feed_forward(at, scale(n.norm(at + "feed_forward.pre.0", u), s)));
                  }));
  });
}
TEST(TranscriptionByDepth, NormFormer) {
  compare_stack(user::NormFormer{}, [](const Network& n, const Matrix& x) {
    return n.norm(
        "close", blocks(x, [&](const std::string& at, int, const Matrix& m) {
          Matrix o = n.heads_of(at + "attention", n.norm(at + "attention.pre", m));
          const auto factor = n.weights[at + "attention.head_scale"];
          for (auto& row : o)
            for (std::size_t i = 0; i < row.size(); ++i) row[i] *= factor(0, static_cast<Index>(i) / 4);  // head_dim 4
          const Matrix u = add(m, n.norm(at + "attention.post", plain::linear(n.weights, at + "attention.output", o)));
          const Matrix h = n.norm(at + "feed_forward.hidden_entry", n.hidden(at, n.norm(at + "feed_forward.pre", u)));
          Matrix skip = u;
          for (auto& row : skip)
            for (std::size_t i = 0; i < row.size(); ++i)
              row[i] *= n.weights[at + "feed_forward.join.rho"](0, static_cast<Index>(i));
          return add(skip, plain::linear(n.weights, at + "feed_forward.down", h));
        }));
  });
}
TEST(TranscriptionByDepth, SubLN) {
  compare_stack(user::SubLN{}, [](const Network& n, const Matrix& x) {
    return n.norm("close", blocks(x, [&](const std::string& at, int, const Matrix& m) {
                    const Matrix o = n.norm(at + "attention.before_output",
                                            n.heads_of(at + "attention", n.norm(at + "attention.pre", m)));
                    const Matrix u = add(m, plain::linear(n.weights, at + "attention.output", o));
                    const Matrix h =
                        n.norm(at + "feed_forward.hidden_entry", n.hidden(at, n.norm(at + "feed_forward.pre", u)));
                    return add(u, plain::linear(n.weights, at + "feed_forward.down", h));
                  }));
  });
}

}  // namespace
