// SPDX-License-Identifier: MIT
// All memory of a pass, planned once for a largest shape and reused for every shape that fits.
#pragma once

#include <norma/core/call.hpp>
#include <norma/core/plan.hpp>

#include <memory>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// All that a plan of inference was made of, where that is all: equal passes have equal plans.
struct PlanKey {
  const void *x = nullptr, *y = nullptr;  ///< null: not such a pass
  Index x_stride = 0, y_stride = 0;
  Shape shape;
  bool causal = false;
  Align align = Align::bottom_right;
  const void* packed = nullptr;
  bool training = false;
  std::uint64_t seed = 0, step = 0;
  bool operator==(const PlanKey&) const = default;
};

/// Tape, scratch and stream gradients of one network, for one pass at a time: one workspace per thread.
class Workspace {
 public:
  /// Without memory, to be assigned later: a member of a class, say.
  Workspace() = default;
  Workspace(Mode mode, Index bytes, const Executor& executor = {}) : memory_(bytes), mode_(mode), executor_(executor) {}
  Workspace(Workspace&&) noexcept = default;
  Workspace& operator=(Workspace&&) noexcept = default;

  Mode mode() const { return mode_; }
  Index bytes() const { return memory_.bytes(); }
  /// The arena itself, for tests and for those who want to see what was planned. Changing it voids the tape; so from
  /// now on every pass is planned anew.
  std::byte* data() {
    lent_ = true;
    return memory_.data();
  }

  /// What the last forward planned.
  struct Usage {
    Index tape_bytes = 0, scratch_bytes = 0, gap_bytes = 0;
  };
  const Usage& usage() const { return usage_; }

 private:
  template <class Core>
  friend class Network;

  Buffer memory_;
  Mode mode_ = Mode::training;
  Executor executor_;
  Usage usage_;
  std::shared_ptr<const void> owner_;  // the layout of the network whose tape is here; null when there is none
  const char* gone_ = nullptr;         // why the last pass's tape is not here
  Shape shape_;                        // of the last forward
  PlanKey key_;                        // of the plan that is here
  bool lent_ = false;                  // the arena is in others' hands
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
