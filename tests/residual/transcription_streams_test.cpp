// SPDX-License-Identifier: MIT
// Each placement against its equations, written out with plain loops.
#include "placement_hyper_connections.hpp"
#include "placement_streams.hpp"
#include "placement_transcription.hpp"

namespace {

using plain::add;
using plain::blocks;
using plain::compare_block;
using plain::compare_stack;
using plain::kLayers;
using plain::Matrix;
using plain::Network;
using plain::scale;

TEST(TranscriptionOfStreams, ResiDual) {
  compare_stack(user::ResiDual{.alpha = 0.5}, [](const Network& n, const Matrix& input) {
    Matrix x = input, r = input;
    for (int l = 0; l < kLayers; ++l) {
      const std::string at = "layers." + std::to_string(l) + ".";
      Matrix g = n.attention(at, x);
      x = n.norm(at + "attention.out", add(x, g));
      r = add(r, g);
      g = n.feed_forward(at, x);
      x = n.norm(at + "feed_forward.out", add(x, g));
      r = add(r, g);
    }
    return add(x, n.norm("close.part1", r), 0.5);
  });
}
TEST(TranscriptionOfStreams, SiameseNorm) {
  compare_stack(user::SiameseNorm{}, [](const Network& n, const Matrix& input) {
    Matrix x = input, y = input;
    for (int l = 1; l <= kLayers; ++l) {
      const std::string at = "layers." + std::to_string(l - 1) + ".";
      const auto site = [&](const std::string& name, auto sublayer) {
        x = n.norm(at + name + ".in", x);
        const Matrix g = sublayer(n.norm(at + name + ".pre.1", add(x, n.norm(at + name + ".pre.0.part1", y))));
        x = add(x, g, 1, 1 / std::sqrt(2.0 * l));
        y = add(y, g);
      };
      site("attention", [&](const Matrix& u) { return n.attention(at, u); });
      site("feed_forward", [&](const Matrix& u) { return n.feed_forward(at, u); });
    }
    return n.norm("close.1", add(n.norm("close.0.part0", x), n.norm("close.0.part1", y)));
  });
}
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
TEST(TranscriptionOfStreams, HyperConnections) {
  constexpr int kParts = 4;
  compare_stack(user::HyperConnections<kParts>{}, [](const Network& n, const Matrix& input) {
    std::vector<Matrix> h(kParts, input);
    for (int l = 0; l < kLayers; ++l) {
      const std::string at = "layers." + std::to_string(l) + ".";
      const auto site = [&](const std::string& name, auto sublayer) {
        const auto am = n.weights[at + name + ".pre.0.a_m"], ar = n.weights[at + name + ".join.a_r"],
                   b = n.weights[at + name + ".join.b"];
        Matrix u = scale(input, 0);
        for (int p = 0; p < kParts; ++p) u = add(u, h[p], 1, am(0, p));
        const Matrix v = sublayer(n.norm(at + name + ".pre.1", u));
        const auto old = h;
        for (int q = 0; q < kParts; ++q) {
          h[q] = scale(v, b(0, q));
          for (int p = 0; p < kParts; ++p) h[q] = add(h[q], old[p], 1, ar(p, q));
        }
      };
      site("attention", [&](const Matrix& u) { return n.attention(at, u); });
      site("feed_forward", [&](const Matrix& u) { return n.feed_forward(at, u); });
    }
    Matrix sum = scale(input, 0);
    for (const Matrix& part : h) sum = add(sum, part);
    return n.norm("close.1", sum);
  });
}

}  // namespace
