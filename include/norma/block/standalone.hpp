// SPDX-License-Identifier: MIT
// One module as a network of its own: a LayerNorm, a Linear, an Attention on Eigen tensors.
#pragma once

#include <norma/block/surface.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The core of Standalone: a module between the caller's x and y.
template <class M>
class Single {
  static_assert(Module<M>, "norma: Standalone takes a module, matrix to matrix (see core/module.hpp)");
  static_assert(kInPlace<M> || std::is_base_of_v<Product, M>,
                "norma: Standalone takes a module of products itself, not in when(), either() or then()");

 public:
  using Scalar = typename M::Scalar;
  using T = Scalar;
  using Arguments = MatrixArguments<T>;
  static constexpr bool kReads = kReadsMemory<M>;
  struct Tape {
    InputPort<T> input;
    MemoryPort<T> memory;
    MatrixView<T> y, dy;
    typename M::Tape module;
  };

  Single(M module, Index width, Layout& layout)
      : module_(std::move(module)), width_in_(checked_width(width)), width_out_(width) {
    if constexpr (!kInPlace<M>) width_out_ = module_.outputs();
    module_.declare(layout, width);
  }
  void after_step(const Layout&, T*) const {}
  Index width_in() const { return width_in_; }
  Index width_out() const { return width_out_; }
  Index memory_width() const requires(kReads) { return module_.memory_width(); }
  Tape plan(Plan& p, const Pass& pass, const Arguments& arguments) const {
    Pass inner = pass;
    Tape t{};
    t.y = arguments.y;
    t.input = InputPort<T>::plan(p, pass, arguments.x, width_in_);
    if constexpr (kReads) t.memory = MemoryPort<T>::plan(p, pass, memory_width(), inner);
    t.dy = p.gradient<T>(pass.shape.rows(), width_out_);
    t.module = p.child(module_, inner);
    return t;
  }
  void forward(const T* weights, const Tape& t) const {
    t.input.enter();
    if constexpr (kReads) t.memory.enter();
    if (active(module_))
      module_.forward(weights, t.input.entered(), t.y, t.module);
    else
      kernels::copy(t.input.entered(), t.y);
    t.input.leave(t.y);
  }
  void backward(const T* weights, MatrixView<const T> dy, MatrixView<T> dx, T* gradients, const Tape& t) const {
    if constexpr (kReads) t.memory.enter_backward();
    t.input.enter_backward(dy, t.dy);  // dx may be dy, and a sublayer cannot work in place
    if (active(module_))
      module_.backward(weights, t.input.entered(), MatrixView<const T>(t.dy), dx, Write::assign, gradients, t.module);
    else
      kernels::copy(t.dy, dx);
    t.input.leave(dx);
  }

 private:
  M module_;
  Index width_in_, width_out_;
};

/// A module with weights, workspaces and checked calls: Standalone(LayerNorm<float>{.eps = 1e-6}, 256). `width` is the
/// input's; the output has the same, or what a module of products says (Linear). \throws Error for a width below 1, or
/// another than the sublayer's dimensions say.
template <class M>
class Standalone : public Surface<Single<M>> {
 public:
  Standalone(const M& module, Index width)
      : Surface<Single<M>>([&](Layout& layout) { return Single<M>(module, width, layout); }) {}
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
