// SPDX-License-Identifier: MIT
// Token ids on their way into the stream.
#pragma once

#include <norma/ends/head.hpp>
#include <norma/sublayer/embedding.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Token ids, row-major [batch, tokens]. The ids are the caller's and stay alive until backward.
struct Tokens {
  const std::int32_t* ids = nullptr;
  Shape shape;
  const std::int32_t* types = nullptr;  ///< [batch, tokens] segments, where a model has them; null: all 0
};

/// What is added to a token for its place. sinusoid (Vaswani et al., arXiv 1706.03762, section 3.5):
///   P(pos, 2i) = sin(pos / 10000^(2i / width)),    P(pos, 2i + 1) = cos(pos / 10000^(2i / width))
struct PositionTable {
  enum Kind { none, learned, sinusoid } kind = none;
  Index count = 0;  ///< positions 0 to count - 1
};

/// The ends of a model of tokens.
///
///   x = scale E[id] + P[position] + S[type]
struct Vocabulary {
  Index size = 256;
  /// The head's matrix is the embedding's, and drawn as one: a policy's gain on Kind::head (Fixup's zero) then acts on
  /// nothing.
  bool tied = false;
  bool causal = true;  ///< whatever the Call says; false: as the Call says
  double scale = 1;    ///< sqrt(width) in the first Transformer and in Gemma
  PositionTable positions{};
  Index types = 0;            ///< segments (BERT: 2)
  double gradient_share = 1;  ///< of E's gradient that arrives: E = a E + (1 - a) stop(E) (GLM-130B: 0.1)
  Head head{};
};

/// Parameters: embedding.weight [size, width]; positions.weight [count, width] if learned; types.weight [types, width].
template <class T>
class TokenInput {
 public:
  using Scalar = T;
  using Options = Vocabulary;
  using Given = Tokens;
  static constexpr bool kHasGradient = false;
  struct Tape {
    IdPort ids, types;
    const Index* positions;
    Index places;  ///< rows until the places begin again: a sequence's, or all
    MatrixView<T> x;
  };

  TokenInput(const Vocabulary& options, const Dimensions& dims)
      : options_(options),
        width_(dims.width),
        turns_(dims.rotary.width != 0),
        embedding_(options.size),
        types_(options.types) {
    if (options.size <= 0) fail("vocabulary is " + std::to_string(options.size) + ", wanted at least 1");
    if (options.types < 0) fail("types is " + std::to_string(options.types) + ", wanted 0 or more");
    if (options.positions.kind != PositionTable::none && options.positions.count < 1)
      fail("positions.count is " + std::to_string(options.positions.count) + ", wanted at least 1");
    if (!simd::is_finite(options.scale) || options.scale == 0)
      fail("scale is " + std::to_string(options.scale) + ", wanted a number other than 0");
    if (!simd::is_finite(options.gradient_share))
      fail("gradient_share is " + std::to_string(options.gradient_share) + ", wanted a number");
    if (options.positions.kind == PositionTable::sinusoid) sinusoids_ = sinusoids(options.positions.count, width_);
  }

  /// The head's options, for this input.
  Head head() const {
    Head head = options_.head;
    if (head.outputs == Head::kVocabulary) head.outputs = options_.size;
    if (options_.tied && head.outputs != options_.size)
      fail("a tied head has an output for every token: head.outputs is " + std::to_string(head.outputs) + ", wanted " +
           std::to_string(options_.size));
    return head;
  }
  bool causal() const { return options_.causal; }
  const Parameter* tied() const { return options_.tied ? &embedding_.weight() : nullptr; }
  Index size() const { return options_.size; }

  void declare(Layout& layout) {
    declare_embedding(layout);
    declare_places(layout);
  }
  /// The parts of it: of two inputs, each with places of its own, one can use the embedding of the other.
  void declare_embedding(Layout& layout) {
    Layout::Level level(layout, "embedding");
    embedding_.declare(layout, width_);
  }
  void share_embedding(const TokenInput& other) { embedding_ = other.embedding_; }
  void declare_places(Layout& layout) {
    if (options_.positions.kind == PositionTable::learned) {
      Layout::Level level(layout, "positions");
      positions_ = layout.add("weight", options_.positions.count, width_, Kind::position);
    }
    if (options_.types > 0) {
      Layout::Level level(layout, "types");
      types_.declare(layout, width_);
    }
  }

  Shape shape(const Tokens& given) const { return {given.shape.batch, given.shape.tokens}; }
  Shape shape(Shape largest) const { return largest; }
  /// \throws Error for null, ids outside of the tables, and positions that the call may not bring.
  void validate(const char* name, const Tokens& given, const Call& call) const {
    const Shape s = shape(given);
    if (s.batch < 0 || s.tokens < 0)
      fail(std::string(name) + " has shape " + shape_text({s.batch, s.tokens}) + ", wanted 0 or more of each");
    if (given.ids == nullptr && s.rows() > 0) fail(std::string(name) + " has no memory (null)");
    check_lengths("lengths", call.lengths, s.batch, s.tokens);
    if (given.types != nullptr && options_.types == 0) fail("types are given, but this model has no segments");
    for (Index b = 0; b < s.batch; ++b) {
      const Index count = call.lengths.empty() ? s.tokens : call.lengths[static_cast<std::size_t>(b)];
      embedding_.validate(name, given.ids, count, b * s.tokens);
      if (given.types != nullptr) types_.validate("types", given.types, count, b * s.tokens);
    }
    if (options_.positions.kind != PositionTable::none) check_positions(call, s);
  }
  /// The call as the blocks see it: positions that were for the table alone stay here.
  Call inside(Call call) const {
    if (options_.positions.kind != PositionTable::none && !turns_) call.positions = {};
    return call;
  }

  /// x: the stream, carved by the model.
  Tape plan(Plan& p, const Pass& pass, const Tokens& given, MatrixView<T> x) const {
    Tape t{};
    t.x = x;
    t.ids = IdPort::plan(p, pass, given.ids);
    if (options_.types > 0) t.types = IdPort::plan(p, pass, given.types);
    t.positions = norma::given(pass.call.positions);
    t.places = position_per_row(pass.call, pass.shape) ? pass.shape.rows() : pass.shape.tokens;
    return t;
  }

  void forward(const T* weights, const Tape& t) const {
    t.ids.enter(0);
    t.types.enter(0);
    embedding_.forward(weights, t.ids.entered(), t.x);
    if (options_.scale != 1) kernels::scale(t.x, static_cast<T>(options_.scale), t.x);
    if (options_.positions.kind != PositionTable::none)
      for_each_place(t, [&](Index r, Index position) { add_row(table(weights).row(position), t.x.row(r)); });
    if (options_.types > 0) {
      const std::int32_t* types = t.types.entered();
      for (Index r = 0; r < t.x.rows; ++r)
        add_row(types_.weight().in(weights).row(types != nullptr ? types[r] : 0), t.x.row(r));
    }
  }
  /// dx: the gradient of the stream, which it may change. Ids have none.
  void backward(const T*, MatrixView<T> dx, T* gradients, const Tape& t, T* = nullptr) const {
    if (options_.types > 0) {
      const std::int32_t* types = t.types.entered();
      for (Index r = 0; r < dx.rows; ++r)
        add_row(dx.row(r), types_.weight().in(gradients).row(types != nullptr ? types[r] : 0));
    }
    if (options_.positions.kind == PositionTable::learned)
      for_each_place(t, [&](Index r, Index position) { add_row(dx.row(r), positions_.in(gradients).row(position)); });
    const double share = options_.scale * options_.gradient_share;
    if (share != 1) kernels::scale(dx, static_cast<T>(share), dx);
    embedding_.backward(t.ids.entered(), MatrixView<const T>(dx), gradients);
  }

 private:
  static auto sinusoids(Index count, Index width) {
    constexpr Index kLimit = Index(1) << 32;  // elements; a table is made when a network is, and held by it
    if (width > 0 && count > kLimit / width)
      fail("positions.count is " + std::to_string(count) + ", too many for a table of sinusoids");
    auto table = std::make_shared<std::vector<T>>(static_cast<std::size_t>(count * width));
    for (Index i = 0; i < width; ++i) {
      const double pair = static_cast<double>(i / 2 * 2);
      const double frequency = std::pow(10000.0, -pair / static_cast<double>(width));
      for (Index p = 0; p < count; ++p) {
        const double angle = static_cast<double>(p) * frequency;
        (*table)[static_cast<std::size_t>(p * width + i)] =
            static_cast<T>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
    return table;
  }
  static bool position_per_row(const Call& call, Shape s) {
    return static_cast<Index>(call.positions.size()) == s.rows();
  }
  void check_positions(const Call& call, Shape s) const {
    const Index count = options_.positions.count;
    const auto given = static_cast<Index>(call.positions.size());
    if (given == 0 && s.tokens > count)
      fail("tokens is " + std::to_string(s.tokens) + ", but this model has " + std::to_string(count) + " positions");
    if (given != 0 && given != s.tokens && given != s.rows())
      fail("positions has " + std::to_string(given) + " values, wanted " + std::to_string(s.tokens) + " or " +
           std::to_string(s.rows()));
    for (Index i = 0; i < given; ++i) {
      const Index position = call.positions[static_cast<std::size_t>(i)];
      const bool padding =
          position_per_row(call, s) && !call.lengths.empty() && Padding{call.lengths.data(), s.tokens}.holds(i);
      if (!padding && (position < 0 || position >= count))
        fail("positions[" + std::to_string(i) + "] is " + std::to_string(position) + ", wanted 0 to " +
             std::to_string(count - 1));
    }
  }
  /// f(row, position) for every row that is no padding.
  template <class F>
  void for_each_place(const Tape& t, const F& f) const {
    const Padding& padding = t.ids.padding;
    for (Index r = 0; r < t.x.rows; ++r)
      if (!padding || !padding.holds(r)) f(r, t.positions != nullptr ? t.positions[r % t.places] : r % t.places);
  }
  MatrixView<const T> table(const T* weights) const {
    if (options_.positions.kind == PositionTable::learned) return positions_.in(weights);
    return {sinusoids_->data(), options_.positions.count, width_};
  }
  void add_row(const T* x, T* y) const {
    for (Index i = 0; i < width_; ++i) y[i] += x[i];
  }

  Vocabulary options_;
  Index width_;
  bool turns_;
  Embedding<T> embedding_, types_;
  Parameter positions_{};
  std::shared_ptr<const std::vector<T>> sinusoids_;  // copies of a network share them
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
