// SPDX-License-Identifier: MIT
// Each placement against its equations, written out with plain loops.
#include "placement_scales.hpp"
#include "placement_transcription.hpp"

namespace {

using plain::add;
using plain::blocks;
using plain::compare_block;
using plain::compare_stack;
using plain::kLayers;
using plain::Matrix;
using plain::Network;
using plain::post_ln;
using plain::pre_ln;

TEST(Transcription, PreLN) {
  compare_block(norma::PreLN{}, [](const Network& n, const Matrix& x) { return pre_ln(n, "", x); });
  compare_stack(norma::PreLN{}, [](const Network& n, const Matrix& x) {
    return n.norm("close", blocks(x, [&](const std::string& at, int, const Matrix& m) { return pre_ln(n, at, m); }));
  });
}
TEST(Transcription, PostLN) {
  compare_block(norma::PostLN{}, [](const Network& n, const Matrix& x) { return post_ln(n, "", x, 1); });
  compare_stack(norma::PostLN{}, [](const Network& n, const Matrix& x) {
    return blocks(x, [&](const std::string& at, int, const Matrix& m) { return post_ln(n, at, m, 1); });
  });
}
TEST(Transcription, DeepNorm) {
  const double alpha = std::pow(2.0 * kLayers, 0.25);
  compare_block(norma::DeepNorm{}, [&](const Network& n, const Matrix& x) { return post_ln(n, "", x, alpha); });
  compare_stack(norma::DeepNorm{}, [&](const Network& n, const Matrix& x) {
    return blocks(x, [&](const std::string& at, int, const Matrix& m) { return post_ln(n, at, m, alpha); });
  });
  compare_stack(norma::DeepNorm{.alpha = 3.0}, [&](const Network& n, const Matrix& x) {
    return blocks(x, [&](const std::string& at, int, const Matrix& m) { return post_ln(n, at, m, 3); });
  });
}
TEST(Transcription, StackGate) {
  compare_stack(user::StackGate{}, [](const Network& n, const Matrix& x) {
    const double a = n.weights["gate"](0, 0);
    return n.norm("close", blocks(x, [&](const std::string& at, int, const Matrix& m) {
                    const Matrix u = add(m, n.attention(at, n.norm(at + "attention.pre", m)), 1, a);
                    return add(u, n.feed_forward(at, n.norm(at + "feed_forward.pre", u)), 1, a);
                  }));
  });
}
TEST(Transcription, NormedInput) {
  compare_stack(user::NormedInput{}, [](const Network& n, const Matrix& x) {
    return n.norm("close", blocks(n.norm("open", x),
                                  [&](const std::string& at, int, const Matrix& m) { return pre_ln(n, at, m); }));
  });
}

}  // namespace
