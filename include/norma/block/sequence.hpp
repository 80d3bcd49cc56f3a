// SPDX-License-Identifier: MIT
// Blocks one after another, and what the policy says opens and closes them.
#pragma once

#include <norma/block/body.hpp>
#include <norma/block/surface.hpp>
#include <norma/ends/ports.hpp>

#include <span>
#include <string>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// A whole stack, or a block alone: one matrix in, one matrix out, and nothing opens or closes it. Only a stream of
/// several matrices is closed even then, for there is no other way to make one matrix of it.
enum class Span { stack, block };

template <class BodyType>
class Sequence {
  using Policy = typename BodyType::Policy;
  using Norm = typename BodyType::Norm;
  using Ends = typename BodyType::Ends;
  using Open = decltype(std::declval<Ends>().template get<slot::open>(None{}));
  using Close = decltype(std::declval<Ends>().template get<slot::close>(None{}));
  using AfterStep = decltype(std::declval<Ends>().template get<slot::after_step>(None{}));
  static constexpr int kParts = BodyType::kParts, kBetween = BodyType::kBetween;
  static constexpr bool kReaderCloses = detail::IsReader<Close>;
  static_assert(kBetween == 1 || !std::is_same_v<Close, None>, "norma: a stream of several matrices needs a close()");
  static constexpr bool kCloseFits = [] {
    if constexpr (kReaderCloses)
      return Close::parts == kBetween;
    else
      return true;
  }();
  static_assert(kCloseFits, "norma: with per_block() one matrix runs between the blocks, and close() reads one part");

 public:
  using T = typename BodyType::T;
  using Scalar = T;
  using Arguments = MatrixArguments<T>;
  static constexpr bool kReads = BodyType::kReads;

  struct Tape {
    InputPort<T> input;
    MemoryPort<T> memory;
    MatrixView<T> opened, y, dy;  // after Open and its dropout; the output; dy where a reader closes
    kernels::Dropout drop;
    Stream<kBetween, const T> last;  // the stream after the last block
    Stream<kParts, T> ds;            // gradients of the parts from 1 on; part 0 lives in dx
    typename BodyType::Tape* bodies;
    typename Open::Tape open;
    typename Close::Tape close;
  };

  /// `blocks` blocks, the first at `first`.
  Sequence(const Dimensions& dims, Depth first, int blocks, Span span, const Policy& policy, const Norm& norm,
           Layout& layout)
      : width_(checked_width(dims.width)),
        memory_width_(dims.read_width()),
        drop_rate_(span == Span::stack ? kernels::checked_rate(dims.dropout.input, "dropout.input") : 0),
        drop_name_(layout.full_name("input_dropout")),
        has_open_(span == Span::stack),
        has_close_(span == Span::stack || kBetween > 1),
        open_(ends(policy, first, norm, dims).template get<slot::open>(None{})),
        close_(ends(policy, last_of(first, blocks), norm, dims).template get<slot::close>(None{})),
        after_step_(ends(policy, first, norm, dims).template get<slot::after_step>(None{})),
        first_parameter_(layout.entries().size()) {
    if (dims.memory_width < 0) fail("memory_width is " + std::to_string(dims.memory_width) + ", wanted 0 or more");
    if (span == Span::stack && blocks < 1)
      fail(layout.full_name("layers") + " is " + std::to_string(blocks) + ", wanted at least 1");
    if (blocks < 1 || first.layer < 1 || first.layer + blocks - 1 > first.layers)
      fail("layer " + std::to_string(first.layer) + " of " + std::to_string(first.layers) + ", " +
           std::to_string(blocks) + " blocks: a layer is between 1 and layers");
    layout.begin_stack(first.layers);
    if (has_open_) declare_end(layout, "open", open_);
    bodies_.reserve(static_cast<std::size_t>(blocks));
    for (int i = 0; i < blocks; ++i) {
      Depth depth = first;
      depth.layer += i;
      if (span == Span::stack) {
        Layout::Level level(layout, Layout::block_level(i));
        add_body(policy, norm, dims, depth, layout);
      } else {
        add_body(policy, norm, dims, depth, layout);
      }
    }
    if (has_close_) declare_end(layout, "close", close_);
    parameters_ = layout.entries().size() - first_parameter_;
  }

  /// What the policy says of the ends of a stack.
  static Ends ends(const Policy& policy, Depth depth, const Norm& norm, const Dimensions& dims) {
    return policy.slots(At<Role::ends, Norm>{depth, 0, norm, dims, BodyType::kSites});
  }

  Index width_in() const { return width_; }
  Index width_out() const { return width_; }
  Index memory_width() const { return memory_width_; }

  Tape plan(Plan& p, const Pass& pass, const Arguments& arguments) const {
    const auto& [x, y] = arguments;
    const Index rows = pass.shape.rows(), count = static_cast<Index>(bodies_.size());
    Tape t{};
    Pass inner = pass;
    t.y = y;
    t.bodies = p.array<typename BodyType::Tape>(count);
    t.input = InputPort<T>::plan(p, pass, x, width_);
    if constexpr (kReads) t.memory = MemoryPort<T>::plan(p, pass, memory_width_, inner);
    Stream<kBetween, const T> in;
    in.fill(t.input.entered());
    if (pass.call.training && drop_rate_ > 0)
      t.drop = {drop_rate_, Rng(pass.call.seed).stream(drop_name_).substream(pass.call.step)};
    if (opens() || drop_rate_ > 0) {
      t.opened = p.keep<T>(rows, width_);
      in.fill(t.opened);
    }
    for (int i = 1; i < kParts; ++i) t.ds[static_cast<std::size_t>(i)] = p.gradient<T>(rows, width_);
    if constexpr (kReaderCloses)
      if (closes()) t.dy = p.gradient<T>(rows, width_);
    // Without a tape, two sets of streams serve in turn.
    Stream<kBetween, T> set[2];
    if (!p.training())
      for (Index i = 0; i < std::min<Index>(count, 2); ++i) set[i] = carve(p, pass.shape, i);
    for (Index i = 0; i < count; ++i) {
      const BodyType& body = bodies_[static_cast<std::size_t>(i)];
      Stream<kBetween, T> out = p.training() ? carve(p, pass.shape, i) : set[i % 2];
      if (writes_to_caller(i)) out[0] = y;
      const auto tape = p.child(body, inner, in, out);
      if (t.bodies != nullptr) t.bodies[i] = tape;
      in = tape.y;
    }
    t.last = in;
    if (opens()) t.open = p.child(open_, pass);
    if (closes()) t.close = p.child(close_, pass);
    return t;
  }

  template <class Look = detail::LooksAtNothing>
  void forward(const T* weights, const Tape& t, const Look& before_join = {}) const {
    t.input.enter();
    if constexpr (kReads) t.memory.enter();
    if (opens())
      open_.forward(weights, t.input.entered(), t.opened, t.open);
    else if (drop_rate_ > 0)
      kernels::copy(t.input.entered(), t.opened);
    kernels::drop_elements(t.drop, t.opened);
    for (std::size_t i = 0; i < bodies_.size(); ++i) bodies_[i].forward(weights, t.bodies[i], before_join);
    if (closes()) read(close_, weights, t.last, t.y, t.close);
    t.input.leave(t.y);
  }

  /// dx: assigned; it carries the gradient of part 0 all the way. May be dy. The memory's gradient is left in the
  /// tape's port.
  void backward(const T* weights, MatrixView<const T> dy, MatrixView<T> dx, T* gradients, const Tape& t) const {
    Stream<kParts, T> ds = t.ds;
    ds[0] = dx;
    for (int i = 1; i < kParts; ++i) kernels::fill(ds[static_cast<std::size_t>(i)], T(0));
    if constexpr (kReads) t.memory.enter_backward();
    if (!closes()) {
      t.input.enter_backward(dy, dx);
    } else if constexpr (kReaderCloses) {
      t.input.enter_backward(dy, t.dy);
      kernels::fill(dx, T(0));
      read_backward(close_, weights, t.last, MatrixView<const T>(t.dy), first_parts(ds), gradients, t.close);
    } else {
      t.input.enter_backward(dy, dx);
      close_.backward(weights, t.last[0], MatrixView<const T>(dx), dx, Write::assign, gradients, t.close);
    }
    for (std::size_t i = bodies_.size(); i-- > 0;) bodies_[i].backward(weights, ds, gradients, t.bodies[i]);
    if constexpr (!BodyType::kPerBlock) join_parts(ds);
    kernels::drop_elements(t.drop, dx);
    if (opens())
      open_.backward(weights, t.input.entered(), MatrixView<const T>(dx), dx, Write::assign, gradients, t.open);
    t.input.leave(dx);
  }

  /// Forward, in which joins that measure set their parameters, each before it joins.
  void calibrate(T* weights, const Tape& t) const {
    if constexpr (BodyType::kCalibrates) {
      Calibration calibration{.lengths = t.input.padding.lengths, .tokens = t.input.padding.tokens};
      forward(weights, t, [&](const auto& join, const auto& s, MatrixView<const T> w) {
        detail::calibrate_join(join, weights, s, w, calibration);
      });
    } else {
      forward(weights, t);
    }
  }
  /// The policy's hook after a step, on some parameters.
  void after_step(std::span<const ParameterInfo> parameters, T* weights) const {
    if constexpr (!std::is_same_v<AfterStep, None>)
      for (const ParameterInfo& parameter : parameters) after_step_(parameter, parameter.at.in(weights));
  }
  /// On its own.
  void after_step(const Layout& layout, T* weights) const {
    after_step(std::span(layout.entries()).subspan(first_parameter_, parameters_), weights);
  }

  /// The stream after block i (0-based), part 0, as forward left it in a training workspace.
  MatrixView<const T> stream(const Tape& t, Index i) const {
    const auto count = static_cast<Index>(bodies_.size());
    if (i < 0 || i >= count) fail("stream: no block " + std::to_string(i) + ", there are " + std::to_string(count));
    return t.bodies[i].y[0];
  }

 private:
  static Depth last_of(Depth first, int blocks) {
    first.layer += blocks - 1;
    return first;
  }
  bool opens() const { return has_open_ && active(open_); }
  bool closes() const { return has_close_ && active(close_); }

  template <class E>
  void declare_end(Layout& layout, const char* name, E& end) {
    Layout::Level level(layout, name);
    end.declare(layout, width_);
  }
  void add_body(const Policy& policy, const Norm& norm, const Dimensions& dims, Depth depth, Layout& layout) {
    layout.begin_block(depth.layer);
    bodies_.emplace_back(policy, norm, dims, depth, layout);
    layout.end_block();
  }
  /// Nothing closes the stream: part 0 of the last block is the output.
  bool writes_to_caller(Index i) const { return !closes() && i + 1 == static_cast<Index>(bodies_.size()); }
  /// Streams of block i, but for what goes to the caller.
  Stream<kBetween, T> carve(Plan& p, Shape shape, Index i) const {
    return bodies_[static_cast<std::size_t>(i)].carve(p, shape, writes_to_caller(i) ? 1 : 0);
  }
  static Stream<kBetween, T> first_parts(const Stream<kParts, T>& s) {
    Stream<kBetween, T> r;
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = s[i];
    return r;
  }

  Index width_, memory_width_;
  double drop_rate_;
  std::string drop_name_;
  bool has_open_, has_close_;
  Open open_;
  Close close_;
  AfterStep after_step_;
  std::size_t first_parameter_, parameters_ = 0;
  std::vector<BodyType> bodies_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
