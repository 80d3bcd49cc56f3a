// SPDX-License-Identifier: MIT
// Weights and gradients: one flat buffer, and a layout that names its parts.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/core/check.hpp>
#include <norma/core/view.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// What a parameter is for. A bit each, so that a policy can name several: Kind::value | Kind::output.
enum class Kind : unsigned {
  norm = 1u << 0,
  bias = 1u << 1,
  query = 1u << 2,
  key = 1u << 3,
  value = 1u << 4,
  output = 1u << 5,  ///< of attention
  up = 1u << 6,      ///< into the feed-forward's hidden width, its gate too
  down = 1u << 7,    ///< back to the stream
  embedding = 1u << 8,
  head = 1u << 9,      ///< to the vocabulary
  scale = 1u << 10,    ///< gates, residual scales, mixing matrices
  position = 1u << 11  ///< learned positions, biases by distance
};
inline constexpr std::size_t kKinds = 12;
constexpr Kind operator|(Kind a, Kind b) { return Kind(unsigned(a) | unsigned(b)); }
constexpr bool contains(Kind set, Kind k) { return (unsigned(set) & unsigned(k)) != 0; }
/// Both matrices of the feed-forward, and its gate.
inline constexpr Kind kFeedForward = Kind::up | Kind::down;
/// Every matrix of a block.
inline constexpr Kind kMatrices = Kind::query | Kind::key | Kind::value | Kind::output | kFeedForward;
/// The matrices that write to the residual stream.
inline constexpr Kind kResidualOutput = Kind::output | Kind::down;

/// Factors on the initial values of some kinds (DeepNorm's beta).
class Gain {
 public:
  constexpr Gain() { factors_.fill(1); }
  constexpr Gain(double factor, Kind kinds) : Gain() { multiply(factor, kinds); }
  constexpr void multiply(double factor, Kind kinds) {
    for (std::size_t bit = 0; bit < factors_.size(); ++bit)
      if (contains(kinds, Kind(1u << bit))) factors_[bit] *= factor;
  }
  /// Of a kind; of several, the product.
  constexpr double of(Kind kinds) const {
    double product = 1;
    for (std::size_t bit = 0; bit < factors_.size(); ++bit)
      if (contains(kinds, Kind(1u << bit))) product *= factors_[bit];
    return product;
  }

 private:
  std::array<double, kKinds> factors_{};  // a kind's bit is its place
};

/// How far a parameter is shared.
enum class Scope { site, block, stack };

/// Where a parameter lies in the flat buffer: row-major, [rows, columns]; linear weights are [out, in].
struct Parameter {
  Index offset = -1, rows = 0, columns = 0;
  constexpr bool operator==(const Parameter&) const = default;
  template <class T>
  MatrixView<const T> in(const T* weights) const {
    return {weights + offset, rows, columns};
  }
  template <class T>
  MatrixView<T> in(T* gradients) const {
    return {gradients + offset, rows, columns};
  }
  /// The first element, or null for a parameter that was never declared.
  template <class T>
  T* data_in(T* buffer) const {
    return offset < 0 ? nullptr : buffer + offset;
  }
};

/// The value that element (row, column) starts from. Empty: the initialiser decides.
using InitialValue = std::function<double(Index row, Index column)>;
inline InitialValue constant(double value) {
  return [value](Index, Index) { return value; };
}

/// The rows of a weight that belong together in a parameter that holds several: `outputs` rows, in groups of `group`,
/// the first group at row `first`, the groups `stride` rows apart.
struct RowGroups {
  Index first = 0, outputs = 0, group = 0, stride = 0;
  static constexpr RowGroups all(Index outputs) { return {0, outputs, outputs, outputs}; }
  constexpr Index count() const { return group > 0 ? outputs / group : 0; }
  constexpr Index row(Index output) const { return first + output / group * stride + output % group; }
  constexpr bool operator==(const RowGroups&) const = default;
};

/// One of several weights, or biases, in one parameter. Its initial values are those that it would have under `name` on
/// its own.
struct Part {
  std::string name;
  Kind kind;
  RowGroups rows;  ///< of a bias, [1, outputs], its columns
  double gain = 1;
};

/// What the columns of a weight of patches are: each channel's pixels, row by row. None: it is another weight.
struct Patch {
  Index channels = 0, height = 0, width = 0;
};

/// Everything known about one parameter.
struct ParameterInfo {
  std::string name;
  Parameter at;
  Kind kind;
  InitialValue initial;
  double gain = 1;            ///< the policy's factor on what the initialiser draws
  int layer = 1;              ///< 1-based depth of its block; 1 outside of blocks
  int layers = 1;             ///< depth of its stack
  std::vector<Part> parts{};  ///< of a fused weight or bias; empty: one weight
  Patch patch{};              ///< of a weight of patches

  bool decays() const {
    return at.rows > 1 && at.columns > 1 && !contains(Kind::norm | Kind::bias | Kind::scale, kind);
  }
};

/// The list of a network's parameters. Modules declare theirs in order; offsets are the same for every scalar type.
class Layout {
 public:
  /// Opens a named level ("layers.0.attention.") for as long as it lives.
  class Level {
   public:
    Level(Layout& layout, std::string_view name) : layout_(layout), length_(layout.prefix_.size()) {
      layout.prefix_.append(name).append(".");
    }
    ~Level() { layout_.prefix_.resize(length_); }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Layout& layout_;
    std::size_t length_;
  };
  /// Opens a named level at a scope's own level, in which whoever asks for a parameter again gets the first one:
  /// modules that stand in different slots of a site, say, and are one.
  class SharedLevel {
   public:
    SharedLevel(Layout& layout, Scope scope, std::string_view name)
        : layout_(layout), prefix_(layout.prefix_), shares_(layout.shares_) {
      layout.prefix_ = layout.level_of(scope).append(name).append(".");
      layout.shares_ = true;
    }
    ~SharedLevel() {
      layout_.prefix_ = prefix_;
      layout_.shares_ = shares_;
    }
    SharedLevel(const SharedLevel&) = delete;
    SharedLevel& operator=(const SharedLevel&) = delete;

   private:
    Layout& layout_;
    std::string prefix_;
    bool shares_;
  };
  /// Names a parameter scope: parameters shared in it are found again by their name.
  void begin_stack(int layers) {
    stack_ = prefix_;
    layers_ = layers;
    end_block();
  }
  void begin_block(int layer) {
    block_ = scope_ = prefix_;
    layer_ = layer;
  }
  /// Of a layer that holds two blocks, one begins here: parameters shared in a block are each one's own.
  void begin_part() { scope_ = prefix_; }
  /// What follows belongs to no block: what opens and closes a stack, a head.
  void end_block() {
    block_ = scope_ = site_ = stack_;
    layer_ = 1;
  }
  void begin_site() { site_ = prefix_; }
  void set_gain(Gain gain) { gain_ = gain; }

  Parameter add(std::string_view name, Index rows, Index columns, Kind kind, InitialValue initial = {}) {
    return make(prefix_ + std::string(name), rows, columns, kind, std::move(initial));
  }
  /// A parameter that holds several weights. A part's name is the full name that it would have on its own. Initial
  /// values, if given, are the whole parameter's.
  Parameter add_fused(std::string_view name, Index rows, Index columns, Kind kind, std::vector<Part> parts,
                      InitialValue initial = {}) {
    const std::size_t count = entries_.size();
    const Parameter at = make(prefix_ + std::string(name), rows, columns, kind, std::move(initial));
    if (entries_.size() == count) return at;  // shared
    for (auto& part : parts) part.gain = gain_.of(part.kind);
    entries_.back().parts = std::move(parts);
    return at;
  }
  /// Says that the columns of a parameter at this level are those of a patch.
  void set_patch(std::string_view name, Patch patch) {
    const std::string full = full_name(name);
    if (find(full).at.columns != patch.channels * patch.height * patch.width)
      fail("parameter \"" + full + "\" has no rows of such a patch");
    entries_[by_name_.at(full)].patch = patch;
  }
  /// The full name of a parameter at this level.
  std::string full_name(std::string_view name) const { return prefix_ + std::string(name); }
  /// The name of dropout's random stream at this level. A block alone has the names that it has in a stack, so that
  /// blocks stacked by hand drop what those of a stack drop, each its own. (Initial weights go by full_name instead.)
  std::string stream_name(std::string_view name) const {
    return stack_ + block_level(layer_ - 1) + "." + prefix_.substr(block_.size()) + std::string(name);
  }
  /// The name of the level of a stack's block, counted from 0.
  static std::string block_level(int index) { return "layers." + std::to_string(index); }

  /// The first to ask in this scope makes the parameter, the others get the same one; their gradients add up.
  Parameter shared(Scope scope, std::string_view name, Index rows, Index columns, Kind kind,
                   InitialValue initial = {}) {
    std::string full = level_of(scope).append(name);
    if (const ParameterInfo* const first = look_up(full)) return same_shape(*first, rows, columns);
    return make(std::move(full), rows, columns, kind, std::move(initial));
  }

  const std::vector<ParameterInfo>& entries() const { return entries_; }
  /// The same names, shapes and offsets.
  bool operator==(const Layout& other) const {
    return entries_.size() == other.entries_.size() && size_ == other.size_ &&
           std::equal(entries_.begin(), entries_.end(), other.entries_.begin(),
                      [](const ParameterInfo& a, const ParameterInfo& b) { return a.name == b.name && a.at == b.at; });
  }
  Index size() const { return size_; }    ///< elements of the flat buffer, padding included
  Index count() const { return count_; }  ///< parameters, padding not counted

  /// The parameter of this name, or null.
  const ParameterInfo* look_up(std::string_view name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &entries_[at->second];
  }
  /// \throws Error where there is none.
  const ParameterInfo& find(std::string_view name) const {
    if (const ParameterInfo* const entry = look_up(name)) return *entry;
    fail("no parameter is called \"" + std::string(name) + "\"");
  }

 private:
  // 16 elements: a cache line of float, two of double, so that one layout serves both.
  static constexpr Index kGranule = 16;
  static constexpr Index kLimit = Index(1) << 57;  // elements; no machine holds as many

  /// Finds a std::string_view among strings without making a string of it.
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };

  static Parameter same_shape(const ParameterInfo& entry, Index rows, Index columns) {
    if (entry.at.rows != rows || entry.at.columns != columns)
      fail("parameter " + entry.name + " is shared with two different shapes");
    return entry.at;
  }
  std::string level_of(Scope scope) const {
    return scope == Scope::stack ? stack_ : scope == Scope::block ? scope_ : site_;
  }

  Parameter make(std::string name, Index rows, Index columns, Kind kind, InitialValue initial) {
    if (const ParameterInfo* const first = look_up(name)) {
      if (!shares_) fail("two parameters are called \"" + name + "\"");
      return same_shape(*first, rows, columns);
    }
    const auto refuse = [&](const char* why) {
      fail("parameter \"" + name + "\" of shape [" + std::to_string(rows) + ", " + std::to_string(columns) + "]" + why);
    };
    if (rows < 1 || columns < 1) refuse(": wanted at least one row and one column");
    Index elements = 0;
    if (__builtin_mul_overflow(rows, columns, &elements) || elements > kLimit - size_) refuse(" is too large");
    const Parameter at{size_, rows, columns};
    size_ += (elements + kGranule - 1) / kGranule * kGranule;
    count_ += elements;
    by_name_.emplace(name, entries_.size());
    entries_.push_back({std::move(name), at, kind, std::move(initial), gain_.of(kind), layer_, layers_});
    return at;
  }

  std::vector<ParameterInfo> entries_;
  std::unordered_map<std::string, std::size_t, NameHash, std::equal_to<>> by_name_;  // places in entries_
  std::string prefix_, stack_, block_, scope_, site_;
  Gain gain_;
  bool shares_ = false;
  int layer_ = 1, layers_ = 1;
  Index size_ = 0, count_ = 0;
};

/// A flat, 64-byte aligned buffer with the layout of a network: its weights, its gradients, an optimiser's moments.
/// Padding between parameters is zero and stays so.
template <class T>
class Parameters {
 public:
  using Map = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  using ConstMap = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

  Parameters() = default;
  explicit Parameters(std::shared_ptr<const Layout> layout)
      : layout_(std::move(layout)), buffer_(layout_->size() * static_cast<Index>(sizeof(T))) {}

  /// The parameter of this name, [rows, columns]. \throws Error if there is none.
  Map operator[](std::string_view name) { return map(find(name)); }
  ConstMap operator[](std::string_view name) const { return map(find(name)); }

  /// Calls visit(const ParameterInfo&, Map) for every parameter, in the order of the flat buffer.
  template <class F>
  void for_each_parameter(F&& visit) {
    if (layout_ == nullptr) return;
    for (const auto& entry : layout_->entries()) visit(entry, map(entry));
  }
  template <class F>
  void for_each_parameter(F&& visit) const {
    if (layout_ == nullptr) return;
    for (const auto& entry : layout_->entries()) visit(entry, map(entry));
  }

  T* data() { return reinterpret_cast<T*>(buffer_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(buffer_.data()); }
  Index size() const { return layout_ ? layout_->size() : 0; }    ///< elements of the buffer, padding included
  Index count() const { return layout_ ? layout_->count() : 0; }  ///< parameters, padding not counted
  std::span<T> flat() { return {data(), static_cast<std::size_t>(size())}; }
  std::span<const T> flat() const { return {data(), static_cast<std::size_t>(size())}; }
  /// \throws Error if these were default-constructed.
  const Layout& layout() const {
    if (layout_ == nullptr) fail("the weights are empty; make them with initialize() or gradients()");
    return *layout_;
  }

  void set_zero() {
    for (T& v : flat()) v = T(0);
  }
  /// The same values in another precision.
  template <class U>
  Parameters<U> cast() const {
    if (layout_ == nullptr) return {};
    Parameters<U> r(layout_);
    for (Index i = 0; i < size(); ++i) r.data()[i] = static_cast<U>(data()[i]);
    return r;
  }

 private:
  const ParameterInfo& find(std::string_view name) const {
    if (layout_ == nullptr) fail("no parameter is called \"" + std::string(name) + "\": these parameters are empty");
    return layout_->find(name);
  }
  Map map(const ParameterInfo& entry) { return {data() + entry.at.offset, entry.at.rows, entry.at.columns}; }
  ConstMap map(const ParameterInfo& entry) const { return {data() + entry.at.offset, entry.at.rows, entry.at.columns}; }

  std::shared_ptr<const Layout> layout_;
  Buffer buffer_;
};

/// Sets what `to` has under the same name and in the same shape to the values of `from`: a pretrained stack under a new
/// head. Returns the names of `to` that are as they were.
template <class T, class U>
std::vector<std::string> copy_common(const Parameters<U>& from, Parameters<T>& to) {
  std::vector<std::string> left;
  to.for_each_parameter([&](const ParameterInfo& entry, auto map) {
    const ParameterInfo* const source = from.layout().look_up(entry.name);
    if (source == nullptr || source->at.rows != entry.at.rows || source->at.columns != entry.at.columns)
      left.push_back(entry.name);
    else
      map = from[entry.name].template cast<T>();
  });
  return left;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
