// SPDX-License-Identifier: MIT
// Learned queries: a stream that starts alike for every sequence and reads a memory (Li et al., BLIP-2, arXiv
// 2301.12597, section 3.1).
#pragma once

#include <norma/ends/head.hpp>

#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// How many sequences.
struct Batch {
  Index size = 0;
};

/// The ends of a model of learned queries. Without more it gives the closed stream of every query.
struct Queries {
  Index count = 32;
  Head head{};
};

/// Parameter: queries.weight [count, width].
template <class T>
class QueryInput {
 public:
  using Scalar = T;
  using Options = Queries;
  using Given = Batch;
  static constexpr bool kHasGradient = false;
  struct Tape {
    MatrixView<T> x;
  };

  QueryInput(const Queries& options, const Dimensions& dims) : options_(options), width_(dims.width) {
    if (options.count < 1) fail("queries is " + std::to_string(options.count) + ", wanted at least 1");
  }
  Head head() const {
    Head head = options_.head;
    if (head.outputs == Head::kVocabulary) head.outputs = 0;
    return head;
  }
  bool causal() const { return false; }
  const Parameter* tied() const { return nullptr; }

  void declare(Layout& layout) {
    Layout::Level level(layout, "queries");
    queries_ = layout.add("weight", options_.count, width_, Kind::embedding);
  }
  Shape shape(Batch given) const { return {given.size, options_.count}; }
  Shape shape(Shape largest) const { return {largest.batch, options_.count, largest.memory_tokens}; }
  /// \throws Error for a negative number of sequences.
  void validate(const char* name, Batch given, const Call&) const {
    if (given.size < 0) fail(std::string(name) + " is " + std::to_string(given.size) + ", wanted 0 or more");
  }
  const Call& inside(const Call& call) const { return call; }

  Tape plan(Plan&, const Pass&, Batch, MatrixView<T> x) const { return {x}; }
  void forward(const T* weights, const Tape& t) const {
    for (Index r = 0; r < t.x.rows; r += options_.count)
      kernels::copy<T>(queries_.in(weights), t.x.middle_rows(r, options_.count));
  }
  void backward(const T*, MatrixView<T> dx, T* gradients, const Tape&, T* = nullptr) const {
    const MatrixView<T> d = queries_.in(gradients);
    for (Index r = 0; r < dx.rows; r += options_.count) kernels::add<T>(dx.middle_rows(r, options_.count), d, d);
  }

 private:
  Queries options_;
  Index width_;
  Parameter queries_{};
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
