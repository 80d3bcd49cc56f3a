// SPDX-License-Identifier: MIT
// What varies by call: masks, lengths, positions, memory, randomness. Views of the caller's, alive until backward.
#pragma once

#include <norma/core/check.hpp>
#include <norma/core/tensor.hpp>

#include <cstdint>
#include <span>
#include <type_traits>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// What a span holds, or null: an emptied vector has a pointer, too.
inline const Index* given(std::span<const Index> values) { return values.empty() ? nullptr : values.data(); }

/// Values over [batch, heads, queries, keys], row-major. batch and heads may be 1: shared by all.
template <class T>
struct AttentionMap {
  const T* data = nullptr;
  Index batch = 1, heads = 1, queries = 0, keys = 0;

  /// Not given. Null with a size is an error instead.
  bool empty() const { return data == nullptr && (batch == 0 || heads == 0 || queries == 0 || keys == 0); }
  const T* row(Index b, Index h, Index query) const {
    return data + (((batch > 1 ? b : 0) * heads + (heads > 1 ? h : 0)) * queries + query) * keys;
  }
};

/// Which corner the causal diagonal ends in, where queries and keys differ in number.
enum class Align {
  bottom_right,  ///< the last query sees every key
  top_left       ///< the first query sees the first key only
};

/// An additive bias on the scores, of float or double. Minus infinity masks; any finite value is only a bias.
class Bias {
 public:
  Bias() = default;
  Bias(const AttentionMap<float>& map) : f32_(map) {}   // NOLINT: implicit, Call{.bias = map}
  Bias(const AttentionMap<double>& map) : f64_(map) {}  // NOLINT
  /// Call{.bias = {pointer, batch, heads, queries, keys}}, as keep.
  template <class T>
  Bias(const T* data, Index batch, Index heads, Index queries, Index keys)
      : Bias(AttentionMap<T>{data, batch, heads, queries, keys}) {}

  template <class T>
  const AttentionMap<T>& as() const {
    if constexpr (std::is_same_v<T, float>)
      return f32_;
    else
      return f64_;
  }
  bool empty() const { return f32_.empty() && f64_.empty(); }

 private:
  AttentionMap<float> f32_;
  AttentionMap<double> f64_;
};

/// A decoder's memory, the encoder's output: any tensor of float or double that norma takes, [batch, memory_tokens,
/// width].
class Memory {
 public:
  Memory() = default;
  template <class E>
  requires(!std::is_same_v<std::remove_cvref_t<E>, Memory>)
      Memory(const E& tensor) {  // NOLINT: implicit, Call{.memory = encoded}
    using T = TensorScalar<E>;
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "norma: memory is a tensor of float or double");
    const auto view = tensor_view<const T>(tensor);
    kind_ = std::is_same_v<T, float> ? Kind::f32 : Kind::f64;
    if constexpr (std::is_same_v<T, float>)
      f32_ = view;
    else
      f64_ = view;
  }
  template <class T>
  const TensorView<const T>& as() const {
    if constexpr (std::is_same_v<T, float>)
      return f32_;
    else
      return f64_;
  }

  bool empty() const { return kind_ == Kind::none; }
  template <class T>
  bool is() const {
    return kind_ == (std::is_same_v<T, float> ? Kind::f32 : Kind::f64);
  }

 private:
  enum class Kind { none, f32, f64 };
  Kind kind_ = Kind::none;
  TensorView<const float> f32_{{0, 0}, {}};
  TensorView<const double> f64_{{0, 0}, {}};
};

class PackedWeights;  // sublayer/packed_weights.hpp

/// What varies by call. Forward records it in the workspace and backward uses the same.
struct Call {
  bool causal = false;                 ///< self-attention: a token sees itself and earlier tokens only
  Align align = Align::bottom_right;   ///< of the causal diagonal
  std::span<const Index> prefix{};     ///< [batch] where causal: the first tokens that every token sees all the same
  std::span<const Index> lengths{};    ///< [batch] tokens that count; the rows after them are padding: y = 0, dx = 0
  AttentionMap<bool> keep{};           ///< of self-attention: true where a query may see a key
  Bias bias{};                         ///< of self-attention: added to the scaled scores; it gets no gradient
  std::span<const Index> positions{};  ///< [tokens] or [batch x tokens], of rotary embeddings; 0, 1, 2, ... if empty
  Memory memory{};                     ///< of cross-attention
  std::span<const Index> memory_lengths{};  ///< [batch] tokens of the memory that count
  AttentionMap<bool> memory_keep{};         ///< of cross-attention: keys are the memory's tokens
  Bias memory_bias{};                       ///< of cross-attention
  const PackedWeights* packed = nullptr;    ///< of the weights, in an inference workspace: network.pack(weights)
  bool training = false;                    ///< dropout acts
  std::uint64_t seed = 0, step = 0;         ///< of dropout: the same pair drops the same elements
};

/// Whether a call points to no values, which may change from pass to pass, but for the packed weights.
inline bool points_to_nothing(const Call& call) {
  // By name, so that a new member is not forgotten here and in PlanKey.
  const auto& [causal, align, prefix, lengths, keep, bias, positions, memory, memory_lengths, memory_keep, memory_bias,
               packed, training, seed, step] = call;
  static_cast<void>(causal), static_cast<void>(align), static_cast<void>(packed), static_cast<void>(training);
  static_cast<void>(seed), static_cast<void>(step);
  return prefix.empty() && lengths.empty() && keep.empty() && bias.empty() && positions.empty() && memory.empty() &&
         memory_lengths.empty() && memory_keep.empty() && memory_bias.empty();
}

/// One pass as the modules see it.
struct Pass {
  Shape shape;
  Call call;
  bool largest = false;       ///< only counting: memory for every kind of call at this shape
  bool memory_owned = false;  ///< an owner above has cleared the memory's padding and carved d_memory
  void* d_memory =
      nullptr;  ///< where cross-attention adds the gradient of the memory: [batch x memory_tokens, width], dense

  bool padded() const { return largest || !call.lengths.empty(); }
  bool memory_padded() const { return largest || !call.memory_lengths.empty(); }
  /// Rotary angles: one row for every row, or one sequence of them for all.
  bool positions_per_row() const {
    return largest || (static_cast<Index>(call.positions.size()) == shape.rows() && shape.batch > 1);
  }
};

/// Stops unless lengths are one per sequence, each 0 to tokens.
inline void check_lengths(const char* name, std::span<const Index> lengths, Index batch, Index tokens) {
  if (lengths.empty()) return;
  if (static_cast<Index>(lengths.size()) != batch)
    fail(std::string(name) + " has " + std::to_string(lengths.size()) + " values, wanted " + std::to_string(batch) +
         ", one per sequence");
  for (std::size_t b = 0; b < lengths.size(); ++b)
    if (lengths[b] < 0 || lengths[b] > tokens)
      fail(std::string(name) + "[" + std::to_string(b) + "] is " + std::to_string(lengths[b]) + ", wanted 0 to " +
           std::to_string(tokens));
}

/// Stops unless a map is absent, or over this problem with batch and heads full or shared.
template <class T>
void check_map(const char* name, const AttentionMap<T>& map, Index batch, Index heads, Index queries, Index keys) {
  if (map.empty()) return;
  if ((map.batch != 1 && map.batch != batch) || (map.heads != 1 && map.heads != heads) || map.queries != queries ||
      map.keys != keys)
    fail(std::string(name) + " has shape " + shape_text({map.batch, map.heads, map.queries, map.keys}) + ", wanted " +
         shape_text({batch, heads, queries, keys}) + ", or 1 for the first or second");
  if (map.data == nullptr) fail(std::string(name) + " has no memory (null)");
}

/// Stops if a call brings a memory, or anything about one, to `whom`, who reads none.
inline void check_no_memory(const char* whom, const Call& call) {
  const auto refuse = [&](bool given, const char* name) {
    if (given) fail(std::string(name) + " is given, but " + whom + " has no cross-attention");
  };
  refuse(!call.memory.empty(), "memory");
  refuse(!call.memory_lengths.empty(), "memory_lengths");
  refuse(!call.memory_keep.empty(), "memory_keep");
  refuse(!call.memory_bias.empty(), "memory_bias");
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
