// SPDX-License-Identifier: MIT
// What every network offers whatever its inputs are: parameters by name, initial weights, gradients and workspaces.
#pragma once

#include <norma/block/workspace.hpp>
#include <norma/core/module.hpp>
#include <norma/core/tensor.hpp>
#include <norma/init/initialize.hpp>
#include <norma/sublayer/packed_weights.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// `Core` is a network on views: Scalar, Arguments (what the caller lends it for one pass), Tape,
///   Tape plan(Plan&, const Pass&, const Arguments&) const
///   void after_step(const Layout&, T* weights) const               the hooks of its policies
/// A Network is a copyable value; its const members may run on many threads, each with its own workspace.
template <class Core>
class Network {
 public:
  using Scalar = typename Core::Scalar;
  using T = Scalar;

  /// Parameters: names, shapes, kinds and initial values.
  const Layout& layout() const { return *layout_; }
  /// Weights drawn by `scheme` from the seed, each parameter from its own stream; the policy's gain included.
  template <class Scheme = XavierNormal>
  Parameters<T> initialize(const Rng& rng, const Scheme& scheme = {}) const {
    Parameters<T> weights = norma::initialize<T>(layout_, rng, scheme);
    after_step(weights);
    return weights;
  }
  /// What a policy asks for after every step of an optimiser, such as nGPT's matrices of unit length; nothing for most.
  /// \throws Error for weights of another network.
  void after_step(Parameters<T>& weights) const {
    check_parameters("weights", weights);
    core_.after_step(*layout_, weights.data());
  }
  /// A zeroed buffer with the layout of the weights: gradients, or an optimiser's moments.
  Parameters<T> gradients() const { return Parameters<T>(layout_); }
  /// The matrices of the weights in the order in which products read them, for Call::packed: small batches of inference
  /// need not pack them again in each pass. \throws Error for weights of another network.
  PackedWeights pack(const Parameters<T>& weights) const {
    check_parameters("weights", weights);
    return PackedWeights(layout_, weights.data());
  }

  /// Memory for forward and backward at this shape and every smaller one; the executor runs its passes.
  Workspace workspace(Shape shape, const Executor& executor = {}) const {
    return make_workspace(Mode::training, shape, executor);
  }
  /// Memory for forward only: no tape.
  Workspace inference_workspace(Shape shape, const Executor& executor = {}) const {
    return make_workspace(Mode::inference, shape, executor);
  }

 protected:
  /// Builds the core with make(layout).
  template <class Make>
  explicit Network(Make&& make) : Network(std::make_shared<Layout>(), make) {}

  const Core& core() const { return core_; }

  /// Checks this pass and plans it in the workspace, which then holds no tape until end(), or finds its plan there.
  /// \throws Error before anything of the caller's is written; in training an earlier forward's tape stays.
  const typename Core::Tape& begin(Workspace& workspace, const Pass& pass,
                                   const typename Core::Arguments& arguments) const {
    check_lengths("lengths", pass.call.lengths, pass.shape.batch, pass.shape.tokens);
    check_lengths("memory_lengths", pass.call.memory_lengths, pass.shape.batch, pass.shape.memory_tokens);
    check_packed(pass.call.packed, workspace.mode_);
    PlanKey key;
    if constexpr (requires { arguments.key(pass); })
      if (workspace.mode_ == Mode::inference && !workspace.lent_) key = arguments.key(pass);
    // The same pass again, of a stream or a control loop: its plan is here.
    if (key.x != nullptr && workspace.owner_ == layout_ && workspace.key_ == key) return root(workspace);
    // Training plans once without memory: what a call is refused for leaves the tape as it was. Inference, which has
    // none to lose, saves that time, a good part of a small block's: what does not fit is planned, not touched.
    if (workspace.mode_ == Mode::training) {
      Plan count(workspace.mode_, nullptr, workspace.memory_.bytes(), workspace.executor_);
      plan(count, pass, arguments);
      check_fits(count, pass.shape, workspace);
    }
    leave_none(workspace, "the last call in this workspace was refused");
    Plan p(workspace.mode_, workspace.memory_.data(), workspace.memory_.bytes(), workspace.executor_);
    auto* const planned = plan(p, pass, arguments);
    check_fits(p, pass.shape, workspace);
    workspace.gone_ = nullptr;
    workspace.usage_ = {p.tape_bytes(), p.scratch_bytes(), p.gap_bytes()};
    workspace.shape_ = pass.shape;
    workspace.key_ = key;
    return *planned;
  }
  /// Stops a pass that measures where no row counts.
  static void check_rows_count(const char* name, std::span<const Index> lengths, Index batch, Index tokens) {
    const bool some = std::any_of(lengths.begin(), lengths.end(), [](Index length) { return length > 0; });
    if (lengths.empty() ? batch * tokens == 0 : !some)
      fail("calibrate: no row of " + std::string(name) + " counts, so there is nothing to measure");
  }

  /// Forward is done.
  void end(Workspace& workspace) const { workspace.owner_ = layout_; }
  /// The tape is used up: a second backward needs another forward.
  static void spend(Workspace& workspace) {
    leave_none(workspace, "the last forward in this workspace is spent; a backward used it up");
  }
  /// A pass that measures is done.
  static void end_calibrate(Workspace& workspace) {
    leave_none(workspace, "the last pass in this workspace was calibrate, which leaves no tape");
  }

  /// A part of the network has run alone.
  static void end_alone(Workspace& workspace) {
    leave_none(workspace, "the last pass in this workspace ran one side alone, which leaves no tape");
  }

  /// What the last forward in this workspace laid out. \throws Error where there is none.
  const typename Core::Tape& last(Workspace& workspace, const char* caller) const {
    if (workspace.gone_ != nullptr) fail(std::string(caller) + ": " + workspace.gone_);
    if (workspace.owner_ == nullptr)
      fail(std::string(caller) + " without a forward before it: nothing is in this workspace");
    if (workspace.owner_ != layout_)
      fail(std::string(caller) + ": the last forward in this workspace was another network's");
    return root(workspace);
  }
  /// The same where it must outlive forward.
  const typename Core::Tape& tape(Workspace& workspace, const char* caller) const {
    if (workspace.mode_ == Mode::inference)
      fail(std::string(caller) + " needs workspace(shape); this is an inference_workspace, which keeps no tape");
    return last(workspace, caller);
  }
  static Shape last_shape(const Workspace& workspace) { return workspace.shape_; }

  /// Stops unless `given` has this network's layout.
  void check_parameters(const char* name, const Parameters<T>& given) const {
    if (given.size() == 0 && layout_->size() == 0) return;
    if (given.size() == 0) fail(std::string(name) + " is empty; make it with initialize() or gradients()");
    if (&given.layout() != layout_.get() && !(given.layout() == *layout_))
      fail(std::string(name) + " belongs to another network: " + std::to_string(given.count()) +
           " parameters, wanted " + std::to_string(layout_->count()));
  }

  /// Tokens of the memory. Stops unless it is there, fits, and lies apart from what the pass writes.
  Index checked_memory(const Call& call, Shape shape, const MatrixView<T>& y = {}) const {
    const TensorView<const T>& memory = call.memory.template as<T>();
    if (call.memory.empty()) fail("memory is missing: give it in the call, Call{.memory = encoded}");
    if (memory.matrix.data == nullptr && memory.matrix.size() != 0) fail("memory has no memory (null)");
    if (!call.memory.template is<T>()) fail("memory is of another scalar type than the network");
    check_tensor("memory", memory, {shape.batch, memory.shape.tokens}, core_.memory_width());
    if (overlap(memory.matrix, y)) fail("y overlaps the memory");
    return memory.shape.tokens;
  }

  /// The same for gradients, which are not the weights themselves.
  void check_gradients_apart(const Parameters<T>& weights, const Parameters<T>& gradients) const {
    check_parameters("gradients", gradients);
    if (weights.data() == gradients.data() && weights.size() > 0) fail("gradients are the weights themselves");
  }

 private:
  static const typename Core::Tape& root(Workspace& workspace) {
    return *std::launder(reinterpret_cast<const typename Core::Tape*>(workspace.memory_.data()));
  }
  template <class Make>
  Network(std::shared_ptr<Layout> layout, Make& make) : core_(make(*layout)), layout_(std::move(layout)) {}

  static void leave_none(Workspace& workspace, const char* why) {
    workspace.owner_ = nullptr;
    workspace.gone_ = why;
    workspace.key_ = {};
  }
  static void check_fits(const Plan& planned, const Shape& shape, const Workspace& workspace) {
    if (!planned.fits())
      fail("workspace holds " + std::to_string(workspace.bytes()) + " bytes, wanted " +
           std::to_string(planned.bytes()) + " for batch " + std::to_string(shape.batch) + " and tokens " +
           std::to_string(shape.tokens) +
           (shape.memory_tokens > 0 ? " and memory_tokens " + std::to_string(shape.memory_tokens) : ""));
  }
  void check_packed(const PackedWeights* packed, Mode mode) const {
    if (packed == nullptr) return;
    if (mode != Mode::inference) fail("packed is for an inference_workspace: a backward would read the weights");
    packed->template check_layout<T>(*layout_);
  }
  /// The root tape, at the front of the arena; null where the plan only counts.
  typename Core::Tape* plan(Plan& p, const Pass& pass, const typename Core::Arguments& arguments) const {
    auto* const root = p.array<typename Core::Tape>(1);
    const auto tape = p.child(core_, pass, arguments);
    if (root != nullptr) *root = tape;
    return root;
  }
  Workspace make_workspace(Mode mode, Shape shape, const Executor& executor) const {
    if (executor.workers < 1) fail("workspace: an executor has at least one worker");
    if (executor.workers > 1 && executor.run == nullptr)
      fail("workspace: an executor of " + std::to_string(executor.workers) + " workers has no run");
    if (shape.batch < 0 || shape.tokens < 0 || shape.memory_tokens < 0)
      fail("workspace: batch and tokens may not be negative");
    Plan p(mode, nullptr, 0, executor);
    plan(p, Pass{.shape = shape, .call = {}, .largest = true}, {});
    return Workspace(mode, p.bytes(), executor);
  }

  Core core_;
  std::shared_ptr<const Layout> layout_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
