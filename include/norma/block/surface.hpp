// SPDX-License-Identifier: MIT
// Checked forward and backward from a tensor to a tensor.
#pragma once

#include <norma/block/network.hpp>
#include <norma/ends/ports.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// What the caller lends to a network from matrix to matrix.
template <class T>
struct MatrixArguments {
  MatrixView<const T> x;
  MatrixView<T> y;

  PlanKey key(const Pass& pass) const {
    const Call& call = pass.call;
    if (!points_to_nothing(call)) return {};
    return {.x = x.data,
            .y = y.data,
            .x_stride = x.stride,
            .y_stride = y.stride,
            .shape = pass.shape,
            .causal = call.causal,
            .align = call.align,
            .packed = call.packed != nullptr ? call.packed->data() : nullptr,
            .training = call.training,
            .seed = call.seed,
            .step = call.step};
  }
};

/// A network whose `Core` maps a matrix to a matrix: width_in(), width_out(), memory_width(), Arguments =
/// MatrixArguments, kReads (the call's memory), a Tape with `input` and, where it reads one, `memory`,
///   void forward(const T* weights, const Tape&) const
///   void backward(const T* weights, MatrixView<const T> dy, MatrixView<T> dx, T* gradients, const Tape&) const
template <class Core>
class Surface : public Network<Core> {
 public:
  using T = typename Core::Scalar;

  /// y = network(x). x, y: [batch, tokens, width], or [tokens, width] as a batch of one; row-major; y may not overlap
  /// x. x must stay alive and unchanged until backward. Allocates nothing. \throws Error for a wrong shape, null,
  /// overlap, weights of another network, or a workspace that is too small.
  template <class X, class Y>
  void forward(const Parameters<T>& weights, const X& x, Y&& y, Workspace& workspace, const Call& call = {}) const {
    this->core().forward(weights.data(), started(weights, x, y, workspace, call));
    this->end(workspace);
  }
  /// The same pass, in which a policy that measures (Admin) sets its parameters in the weights; others set none. No
  /// backward follows.
  /// \throws Error as forward does, where no row counts, and for a measure that is not finite or is 0: then the weights
  /// hold what was measured before it.
  template <class X, class Y>
  void calibrate(Parameters<T>& weights, const X& x, Y&& y, Workspace& workspace, const Call& call = {}) const {
    const Shape shape = tensor_view<const T>(x).shape;
    this->check_rows_count("x", call.lengths, shape.batch, shape.tokens);
    this->core().calibrate(weights.data(), started(weights, x, y, workspace, call));
    this->end_calibrate(workspace);
  }

  /// dx from dy, and the gradients of the parameters, which are added. x is forward's. dx may be dy; it may not overlap
  /// x or the memory. \throws Error without a forward in this workspace before, for another x, and as forward does.
  template <class X, class DY, class DX>
  void backward(const Parameters<T>& weights, const X& x, const DY& dy, DX&& dx, Parameters<T>& gradients,
                Workspace& workspace) const {
    const typename Core::Tape& tape = this->tape(workspace, "backward");
    const TensorView<const T> in = tensor_view<const T>(x), d_out = tensor_view<const T>(dy);
    const TensorView<T> d_in = tensor_view<T>(dx);
    const Shape shape = this->last_shape(workspace);
    check_tensor("x", in, shape, this->core().width_in());
    check_tensor("dy", d_out, shape, this->core().width_out());
    check_tensor("dx", d_in, shape, this->core().width_in());
    if (in.matrix.data != tape.input.x.data || in.matrix.stride != tape.input.x.stride)
      fail("x is not the tensor that forward was given");
    if (overlap(in.matrix, d_in.matrix)) fail("dx overlaps x");
    if constexpr (Core::kReads)
      if (overlap(tape.memory.memory, d_in.matrix)) fail("dx overlaps the memory");
    const bool same = d_in.matrix.data == d_out.matrix.data && d_in.matrix.stride == d_out.matrix.stride;
    if (!same && overlap(d_out.matrix, d_in.matrix)) fail("dx overlaps dy in part");
    this->check_parameters("weights", weights);
    this->check_gradients_apart(weights, gradients);
    this->core().backward(weights.data(), d_out.matrix, d_in.matrix, gradients.data(), tape);
  }

  /// The same, and the gradient of the memory, assigned: [batch, memory_tokens, width], added over all who read it.
  template <class X, class DY, class DX, class DM>
  requires(Core::kReads) void backward(const Parameters<T>& weights, const X& x, const DY& dy, DX&& dx,
                                       Parameters<T>& gradients, Workspace& workspace, DM&& d_memory) const {
    const TensorView<T> out = tensor_view<T>(d_memory);
    const typename Core::Tape& tape = this->tape(workspace, "backward");
    const Shape shape = this->last_shape(workspace);
    check_tensor("d_memory", out, {shape.batch, shape.memory_tokens}, this->core().memory_width());
    if (overlap(tensor_view<T>(dx).matrix, out.matrix)) fail("d_memory overlaps dx");
    for (const auto& other : {tensor_view<const T>(x).matrix, tensor_view<const T>(dy).matrix, tape.memory.memory})
      if (overlap(other, out.matrix)) fail("d_memory overlaps x, dy or the memory");
    backward(weights, x, dy, dx, gradients, workspace);
    kernels::copy(tape.memory.d_memory, out.matrix);
  }

 protected:
  using Network<Core>::Network;

 private:
  /// Checks a pass and plans it.
  template <class X, class Y>
  const typename Core::Tape& started(const Parameters<T>& weights, const X& x, Y&& y, Workspace& workspace,
                                     const Call& call) const {
    const TensorView<const T> in = tensor_view<const T>(x);
    const TensorView<T> out = tensor_view<T>(y);
    check_tensor("x", in, in.shape, this->core().width_in());
    check_tensor("y", out, in.shape, this->core().width_out());
    if (overlap(in.matrix, out.matrix)) fail("y overlaps x");
    this->check_parameters("weights", weights);
    Shape shape = in.shape;
    if constexpr (Core::kReads)
      shape.memory_tokens = this->checked_memory(call, shape, out.matrix);
    else
      check_no_memory("this network", call);
    return this->begin(workspace, {.shape = shape, .call = call}, {in.matrix, out.matrix});
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
