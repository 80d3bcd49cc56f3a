// SPDX-License-Identifier: MIT
// The arena: pure arithmetic that turns a shape into views. Without memory behind it, it only counts.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/core/check.hpp>
#include <norma/core/executor.hpp>
#include <norma/core/view.hpp>

#include <new>
#include <type_traits>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Carves views out of one arena. What forward keeps for backward (the tape) grows from the front; scratch grows from
/// the back and is given back when a module ends, so that the modules of a sequence share it. A module carves its own
/// views first and plans its children after: a child's scratch must not overlap its parent's.
class Plan {
 public:
  explicit Plan(Mode mode, std::byte* base = nullptr, Index capacity = 0, const Executor& executor = {})
      : base_(base), capacity_(capacity), executor_(executor), mode_(mode) {}

  /// Lives from forward to backward. In inference nothing outlives its module, and this is scratch.
  template <class T>
  MatrixView<T> keep(Index rows, Index columns) {
    if (!training()) return scratch<T>(rows, columns);
    return {front<T>(rows, columns), rows, columns};
  }
  /// Lives while this module's forward or backward runs.
  template <class T>
  MatrixView<T> scratch(Index rows, Index columns) {
    return {back<T>(rows, columns), rows, columns};
  }
  template <class T>
  MatrixView<T> keep_if(bool condition, Index rows, Index columns) {
    return condition ? keep<T>(rows, columns) : scratch<T>(rows, columns);
  }
  /// Scratch of backward: nothing in inference.
  template <class T>
  MatrixView<T> gradient(Index rows, Index columns) {
    return training() ? scratch<T>(rows, columns) : MatrixView<T>{};
  }
  /// An array of `count` tapes, in the arena itself. Null while only counting.
  template <class Tape>
  Tape* array(Index count) {
    static_assert(std::is_trivially_copyable_v<Tape>,
                  "norma: a Tape is a trivially copyable struct of views and numbers");
    Tape* p = front<Tape>(count, 1);
    if (p != nullptr)
      for (Index i = 0; i < count; ++i) new (p + i) Tape();
    return p;
  }

  /// Plans a child module; its scratch is free again when this returns, for the next child.
  template <class M, class... A>
  auto child(const M& module, const A&... arguments) {
    const Index mark = back_;
    sealed_ = false;
    auto tape = module.plan(*this, arguments...);
    static_assert(std::is_trivially_copyable_v<decltype(tape)>,
                  "norma: a Tape is a trivially copyable struct of views and numbers");
    back_ = mark;
    sealed_ = true;
    return tape;
  }

  bool training() const { return mode_ == Mode::training; }
  Mode mode() const { return mode_; }
  /// Who runs the pass: a module that splits its work keeps a copy in its tape, and carves scratch for every worker.
  const Executor& executor() const { return executor_; }
  Index workers() const { return executor_.workers; }
  Index tape_bytes() const { return front_; }     ///< what lives from forward to backward
  Index scratch_bytes() const { return peak_; }   ///< the deepest overlap of scratch
  Index bytes() const { return front_ + peak_; }  ///< what the workspace must hold
  Index gap_bytes() const { return gaps_; }       ///< part of tape_bytes lost to alignment, under 64 per view
  bool fits() const { return bytes() <= capacity_; }

 private:
  /// Bytes of a view. With what is planned already they stay below the limit.
  template <class T>
  static Index size_of(Index rows, Index columns, Index planned) {
    Index bytes = 0;
    if (rows < 0 || columns < 0 || __builtin_mul_overflow(rows, columns, &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<Index>(sizeof(T)), &bytes) || bytes > kLimit - planned)
      fail("workspace: the shape is too large for this machine's address space");
    return bytes;
  }
  static constexpr Index kLimit = Index(1) << 60;
  static Index round_up(Index n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }
  bool backed() const { return base_ != nullptr && bytes() <= capacity_; }

  template <class T>
  T* front(Index rows, Index columns) {
    const Index bytes = size_of<T>(rows, columns, front_), at = front_;
    front_ += round_up(bytes);
    gaps_ += round_up(bytes) - bytes;
    return backed() ? reinterpret_cast<T*>(base_ + at) : nullptr;
  }
  template <class T>
  T* back(Index rows, Index columns) {
    NORMA_ASSERT(!sealed_, "a module carves its own views before it plans its children");
    back_ += round_up(size_of<T>(rows, columns, back_));
    if (back_ > peak_) peak_ = back_;
    return backed() ? reinterpret_cast<T*>(base_ + (capacity_ - back_)) : nullptr;
  }

  std::byte* base_;
  Index capacity_;
  Executor executor_;
  Index front_ = 0, back_ = 0, peak_ = 0, gaps_ = 0;
  Mode mode_;
  bool sealed_ = false;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
