// SPDX-License-Identifier: MIT
// One module as a network of its own: a LayerNorm, a Linear, an Attention on Eigen tensors.
#pragma once

#include <norma/block/surface.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The core of Standalone: a module between the caller's x and y.
template <class M>
class Single {
 public:
  using Scalar = typename M::Scalar;
  using T = Scalar;
  using Arguments = MatrixArguments<T>;
  struct Tape {
    MatrixView<const T> x;
    MatrixView<T> y, dy;
    typename M::Tape module;
  };

  Single(M module, Index width_in, Index width_out, Layout& layout)
      : module_(std::move(module)), width_in_(width_in), width_out_(width_out) {
    module_.declare(layout, width_in);
  }
  Index width_in() const { return width_in_; }
  Index width_out() const { return width_out_; }
  Tape plan(Plan& p, const Pass& pass, const Arguments& arguments) const {
    Tape t{arguments.x, arguments.y, p.gradient<T>(pass.shape.rows(), width_out_), {}};
    t.module = p.child(module_, pass);
    return t;
  }
  void forward(const T* weights, const Tape& t) const { module_.forward(weights, t.x, t.y, t.module); }
  void backward(const T* weights, MatrixView<const T> dy, MatrixView<T> dx, T* gradients, const Tape& t) const {
    kernels::copy(dy, t.dy);  // dx may be dy, and a sublayer cannot work in place
    module_.backward(weights, t.x, MatrixView<const T>(t.dy), dx, Write::assign, gradients, t.module);
  }

 private:
  M module_;
  Index width_in_, width_out_;
};

/// A module with weights, workspaces and checked calls: Standalone(LayerNorm<float>{.eps = 1e-6}, 256).
template <class M>
class Standalone : public Surface<Single<M>> {
 public:
  explicit Standalone(const M& module, Index width) : Standalone(module, width, width) {}
  Standalone(const M& module, Index width_in, Index width_out)
      : Surface<Single<M>>([&](Layout& layout) { return Single<M>(module, width_in, width_out, layout); }) {}
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
