// SPDX-License-Identifier: MIT
// Which bytes of a workspace a pass touches, seen with two fill patterns: a byte is untouched if it holds the pattern
// after both, so that a result which happens to equal one of them is not counted.
#pragma once

#include <gtest/gtest.h>

#include "placement_tools.hpp"

namespace placement {

/// The tapes of a sequence lie at the front of the arena: its own, then an array of its bodies'. They hold padding.
template <class Body>
struct TapeStructs {
  static constexpr Index line(Index bytes) {
    return (bytes + norma::kAlignment - 1) / norma::kAlignment * norma::kAlignment;
  }
  static constexpr Index kRoot = sizeof(typename norma::Sequence<Body>::Tape), kBody = sizeof(typename Body::Tape);
  static Index bytes(Index bodies) { return line(kRoot) + line(bodies * kBody); }
  static Index gaps(Index bodies) { return bytes(bodies) - kRoot - bodies * kBody; }
};

/// Untouched bytes, whether all of them lie in gaps of under 64 bytes before a cache line, and how many there are.
struct Untouched {
  Index bytes = 0;
  bool only_gaps = true;
};
inline Untouched untouched(const std::vector<bool>& touched, Index begin, Index end) {
  Untouched u;
  for (Index i = begin; i < end;) {
    Index j = i;
    while (j < end && !touched[static_cast<std::size_t>(j)]) ++j;
    u.bytes += j - i;
    if (j > i && (j - i >= norma::kAlignment || j % norma::kAlignment != 0)) u.only_gaps = false;
    i = j + 1;
  }
  return u;
}

/// 0xFF makes NaN of every float, 0x5A a large number: what is read before it is written shows in the result.
inline constexpr unsigned char kFill[] = {0xFF, 0x5A};

/// Runs the passes on filled arenas. `bodies`: blocks of the network.
template <class Net, class Body>
void check_memory(const Net& net, Index bodies, Shape shape, Index width) {
  using T = typename Net::T;
  const auto weights = perturbed(net);
  const auto x = noise<T>(shape.rows() * width, "x"), dy = noise<T>(shape.rows() * width, "dy");
  // The kind of call that takes the most: with lengths, x is copied.
  const std::vector<Index> lengths(static_cast<std::size_t>(shape.batch), shape.tokens);
  const norma::Call call{.lengths = lengths};
  auto workspace = net.workspace(shape);
  const auto size = static_cast<std::size_t>(workspace.bytes());
  const Result<T> wanted = run(net, weights, shape, x, dy, workspace, call);
  const auto usage = workspace.usage();
  EXPECT_EQ(usage.tape_bytes + usage.scratch_bytes, workspace.bytes()) << "planned and carved bytes differ";

  std::vector<bool> forward_touches(size), backward_touches(size);
  const auto mark = [&](std::vector<bool>& touches, Index from, unsigned char fill) {
    for (auto i = static_cast<std::size_t>(from); i < size; ++i)
      if (workspace.data()[i] != std::byte(fill)) touches[i] = true;
  };
  for (int k = 0; k < 2; ++k) {
    std::memset(workspace.data(), kFill[k], size);
    Result<T> r{std::vector<T>(x.size()), std::vector<T>(x.size()), {}};
    net.forward(weights, tensor(x, shape), tensor(r.y, shape), workspace, call);
    mark(forward_touches, 0, kFill[k]);
    // Backward may not read what forward left in scratch.
    std::memset(workspace.data() + usage.tape_bytes, kFill[1 - k], static_cast<std::size_t>(usage.scratch_bytes));
    auto gradients = net.gradients();
    net.backward(weights, tensor(x, shape), tensor(dy, shape), tensor(r.dx, shape), gradients, workspace);
    mark(backward_touches, usage.tape_bytes, kFill[1 - k]);
    r.gradients.assign(gradients.flat().begin(), gradients.flat().end());
    EXPECT_TRUE(same_bits(r, wanted)) << "the result depends on what the arena held, fill " << k;
  }
  // The tape: all but the gaps is written by forward, and the gaps are not.
  using Structs = TapeStructs<Body>;
  const Index structs = Structs::bytes(bodies), gaps = usage.gap_bytes - Structs::gaps(bodies);
  const Untouched tape = untouched(forward_touches, structs, usage.tape_bytes);
  EXPECT_TRUE(tape.only_gaps) << "a planned view of the tape is not written in full";
  EXPECT_EQ(tape.bytes, gaps);
  // Scratch: all but gaps is written by one of the two.
  for (std::size_t i = 0; i < size; ++i) forward_touches[i] = forward_touches[i] || backward_touches[i];
  const Untouched scratch = untouched(forward_touches, usage.tape_bytes, workspace.bytes());
  // Another library packs operands in memory of its own.
  constexpr bool kOwn = norma::kernels::kOwnProduct<T>;
  if (kOwn) {
    EXPECT_TRUE(scratch.only_gaps) << "planned scratch is never written";
  }
  ::testing::Test::RecordProperty("tape_gap_bytes", static_cast<int>(usage.gap_bytes));
  ::testing::Test::RecordProperty("scratch_gap_bytes", static_cast<int>(scratch.bytes));
  ::testing::Test::RecordProperty(
      "struct_padding_bytes", static_cast<int>(untouched(forward_touches, 0, structs).bytes - Structs::gaps(bodies)));

  auto inference = net.inference_workspace(shape);
  EXPECT_LT(inference.bytes(), workspace.bytes());
  std::vector<bool> touches(static_cast<std::size_t>(inference.bytes()));
  for (int k = 0; k < 2; ++k) {
    std::memset(inference.data(), kFill[k], touches.size());
    EXPECT_TRUE(same_bits(forward(net, weights, shape, x, inference, call), wanted.y)) << "inference, fill " << k;
    for (std::size_t i = 0; i < touches.size(); ++i)
      if (inference.data()[i] != std::byte(kFill[k])) touches[i] = true;
  }
  if (kOwn) {
    EXPECT_TRUE(untouched(touches, structs, inference.bytes()).only_gaps)
        << "inference plans memory that it never writes";
  }
}

/// A shape with more sequences or more tokens never needs less.
template <class Net>
void check_monotone(const Net& net) {
  const auto bytes = [&](Index batch, Index tokens, bool training) {
    return training ? net.workspace({batch, tokens}).bytes() : net.inference_workspace({batch, tokens}).bytes();
  };
  const Index batches[] = {1, 2, 3, 5}, tokens[] = {1, 2, 3, 5, 7, 16, 17, 40, 127, 128, 129, 260};
  for (bool training : {true, false})
    for (std::size_t b = 0; b < std::size(batches); ++b)
      for (std::size_t t = 0; t < std::size(tokens); ++t) {
        const Index here = bytes(batches[b], tokens[t], training);
        if (b > 0) {
          EXPECT_GE(here, bytes(batches[b - 1], tokens[t], training)) << batches[b] << " x " << tokens[t];
        }
        if (t > 0) {
          EXPECT_GE(here, bytes(batches[b], tokens[t - 1], training)) << batches[b] << " x " << tokens[t];
        }
      }
}

}  // namespace placement
