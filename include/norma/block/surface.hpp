// SPDX-License-Identifier: MIT
// What every network offers its user: weights by name, workspaces, and checked forward and backward on Eigen objects.
#pragma once

#include <memory>

#include <norma/block/workspace.hpp>
#include <norma/core/module.hpp>
#include <norma/core/tensor.hpp>
#include <norma/init/initialize.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// `Core` is a network on views: Scalar, Tape, width_in(), width_out(),
///   Tape plan(Plan&, const Pass&, MatrixView<const T> x, MatrixView<T> y) const
///   void forward(const T* weights, const Tape&) const
///   void backward(const T* weights, MatrixView<const T> dy, MatrixView<T> dx, T* gradients, const Tape&) const
/// A Surface is a copyable value; its const members may run on many threads, each with its own workspace.
template <class Core>
class Surface {
 public:
  using Scalar = typename Core::Scalar;
  using T = Scalar;

  /// Parameters: names, shapes, kinds and initial values.
  const Layout& layout() const { return *layout_; }
  /// Weights drawn by `scheme` from the seed, each parameter from its own stream; the policy's gain included.
  template <class Scheme = XavierNormal>
  Parameters<T> initialize(const Rng& rng, const Scheme& scheme = {}) const {
    return norma::initialize<T>(layout_, rng, scheme);
  }
  /// A zeroed buffer with the layout of the weights: gradients, or an optimiser's moments.
  Parameters<T> gradients() const { return Parameters<T>(layout_); }

  /// Memory for forward and backward at this shape and every smaller one.
  Workspace workspace(Shape shape) const { return make_workspace(Mode::training, shape); }
  /// Memory for forward only: no tape.
  Workspace inference_workspace(Shape shape) const { return make_workspace(Mode::inference, shape); }

  /// y = network(x). x, y: [batch, tokens, width], or [tokens, width] as a batch of one; row-major; y may not overlap x.
  /// x must stay alive and unchanged until backward. Allocates nothing.
  /// \throws Error for a wrong shape, null, overlap, weights of another network, or a workspace that is too small.
  template <class X, class Y>
  void forward(const Parameters<T>& weights, const X& x, Y&& y, Workspace& workspace, const Call& call = {}) const {
    const TensorView<const T> in = tensor_view<const T>(x);
    const TensorView<T> out = tensor_view<T>(y);
    check_tensor("x", in, in.shape, core_.width_in());
    check_tensor("y", out, in.shape, core_.width_out());
    if (overlap(in.matrix, out.matrix)) fail("y overlaps x");
    check_parameters("weights", weights);
    core_.forward(weights.data(), begin(workspace, {in.shape, call}, in.matrix, out.matrix));
    end(workspace);
  }

  /// dx from dy, and the gradients of the parameters, which are added. x is forward's. dx may be dy.
  /// \throws Error without a forward in this workspace before, for another x, and as forward does.
  template <class X, class DY, class DX>
  void backward(const Parameters<T>& weights, const X& x, const DY& dy, DX&& dx, Parameters<T>& gradients,
                Workspace& workspace) const {
    const Typed& t = tape(workspace);
    const TensorView<const T> in = tensor_view<const T>(x), d_out = tensor_view<const T>(dy);
    const TensorView<T> d_in = tensor_view<T>(dx);
    const Shape shape = workspace.pass_.shape;
    check_tensor("x", in, shape, core_.width_in());
    check_tensor("dy", d_out, shape, core_.width_out());
    check_tensor("dx", d_in, shape, core_.width_in());
    if (in.matrix.data != t.x.data || in.matrix.stride != t.x.stride) fail("x is not the tensor that forward was given");
    if (overlap(in.matrix, d_in.matrix)) fail("dx overlaps x");
    const bool same = d_in.matrix.data == d_out.matrix.data && d_in.matrix.stride == d_out.matrix.stride;
    if (!same && overlap(d_out.matrix, d_in.matrix)) fail("dx overlaps dy in part");
    check_parameters("weights", weights);
    check_parameters("gradients", gradients);
    core_.backward(weights.data(), d_out.matrix, d_in.matrix, gradients.data(), t.tape);
  }

 protected:
  /// Builds the core with make(layout).
  template <class Make>
  explicit Surface(Make&& make) : Surface(std::make_shared<Layout>(), make) {}

  /// The last forward's tape, for what a network wants to show of it. \throws Error where there is none.
  const typename Core::Tape& last_tape(Workspace& workspace) const { return tape(workspace).tape; }
  const Core& core() const { return core_; }

 private:
  /// What lies at the front of the arena.
  struct Typed {
    typename Core::Tape tape;
    MatrixView<const T> x;
  };

  template <class Make>
  Surface(std::shared_ptr<Layout> layout, Make& make) : core_(make(*layout)), layout_(std::move(layout)) {}

  Typed lay_out(Plan& p, const Pass& pass, MatrixView<const T> x, MatrixView<T> y, Typed*& at) const {
    at = p.array<Typed>(1);
    return {p.child(core_, pass, x, y), x};
  }
  Workspace make_workspace(Mode mode, Shape shape) const {
    if (shape.batch < 0 || shape.tokens < 0) fail("workspace: batch and tokens may not be negative");
    Plan p(mode);
    Typed* at = nullptr;
    const Index rows = shape.rows();
    lay_out(p, {shape, {}}, {nullptr, rows, core_.width_in()}, {nullptr, rows, core_.width_out()}, at);
    return Workspace(mode, p.bytes());
  }
  const typename Core::Tape& begin(Workspace& workspace, const Pass& pass, MatrixView<const T> x, MatrixView<T> y) const {
    Plan p(workspace.mode_, workspace.memory_.data(), workspace.memory_.bytes());
    workspace.owner_ = nullptr;
    Typed* at = nullptr;
    const Typed typed = lay_out(p, pass, x, y, at);
    if (!p.fits())
      fail("workspace holds " + std::to_string(workspace.bytes()) + " bytes, wanted " + std::to_string(p.bytes()) +
           " for shape " + detail::shape_text({pass.shape.batch, pass.shape.tokens, core_.width_in()}));
    *at = typed;
    workspace.usage_ = {p.tape_bytes(), p.scratch_bytes(), p.gap_bytes()};
    workspace.pass_ = pass;
    return at->tape;
  }
  void end(Workspace& workspace) const {
    if (workspace.mode_ == Mode::training) workspace.owner_ = layout_.get();
  }
  const Typed& tape(Workspace& workspace) const {
    if (workspace.mode_ == Mode::inference) fail("backward needs workspace(shape); this is an inference_workspace, without a tape");
    if (workspace.owner_ == nullptr) fail("backward without forward: this workspace holds no tape");
    if (workspace.owner_ != layout_.get()) fail("backward: the tape in this workspace is another network's");
    return *std::launder(reinterpret_cast<const Typed*>(workspace.memory_.data()));
  }
  void check_parameters(const char* name, const Parameters<T>& given) const {
    if (given.size() == 0 && layout_->size() == 0) return;
    if (given.size() == 0) fail(std::string(name) + " is empty; make it with initialize() or gradients()");
    if (&given.layout() != layout_.get() && !same_layout(given.layout(), *layout_))
      fail(std::string(name) + " belongs to another network: " + std::to_string(given.count()) + " parameters, wanted " +
           std::to_string(layout_->count()));
  }
  static bool same_layout(const Layout& a, const Layout& b) {
    if (a.size() != b.size() || a.entries().size() != b.entries().size()) return false;
    for (std::size_t i = 0; i < a.entries().size(); ++i) {
      const auto &p = a.entries()[i], &q = b.entries()[i];
      if (p.name != q.name || p.at.offset != q.at.offset || p.at.rows != q.at.rows || p.at.columns != q.at.columns) return false;
    }
    return true;
  }

  Core core_;
  std::shared_ptr<const Layout> layout_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
