// SPDX-License-Identifier: MIT
// What a named system is: the sizes and options of a network, its initial weights and its checkpoint's names, as they
// were published. A system adds no mathematics.
//
//   auto model = norma::models::build(norma::models::GPT2::medium());
//   auto weights = model.initialize(norma::Rng(42));                  // drawn as published
//   norma::load("model.safetensors", weights, model.names());         // or those of a checkpoint: io/safetensors.hpp
//
//   struct GPT2 {
//     Index width = 768; ...                          an aggregate: sizes that a user may change
//     static constexpr GPT2 medium();                 the published sizes, by name
//     template <class T> auto network() const;        the network
//     auto init() const;                              the scheme of its initial weights
//     static constexpr Name kNames[] = {...};         what its checkpoints call the parameters, where there are some
//   };
#pragma once

#include <norma/block/block.hpp>
#include <norma/block/model.hpp>
#include <norma/core/names.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// A system's network with what was published about it.
template <class System, class T = float>
class Built : public decltype(std::declval<const System&>().template network<T>()) {
  using Network = decltype(std::declval<const System&>().template network<T>());

 public:
  explicit Built(const System& system) : Network(system.template network<T>()), system_(system) {}

  const System& system() const { return system_; }
  /// Weights as the system's were drawn at first; by another scheme where one is given.
  Parameters<T> initialize(const Rng& rng) const { return Network::initialize(rng, system_.init()); }
  using Network::initialize;
  /// What its checkpoints call the parameters.
  static constexpr std::span<const Name> names() { return System::kNames; }

 private:
  System system_;
};

/// The network of a system: build(BERT::base()), build<double>(GPT2{.width = 15, .heads = 3}).
template <class T = float, class System>
Built<System, T> build(const System& system) {
  return Built<System, T>(system);
}

/// A table that begins as another: what several networks of a system share.
template <std::size_t N, std::size_t M>
constexpr std::array<Name, N + M> joined(const std::array<Name, N>& first, const std::array<Name, M>& rest) {
  std::array<Name, N + M> all;
  std::copy(rest.begin(), rest.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}

/// The same tensors as nothing to load: those of another network in the same file.
template <std::size_t N>
constexpr std::array<Name, N> passed_over(std::array<Name, N> names) {
  for (Name& name : names) name = {"", name.stored};
  return names;
}

/// A published size, and how many parameters norma's network has.
template <class System>
struct Size {
  const char* name;  ///< of the function of System that gives it
  System system;
  Index parameters;
};
/// The published sizes of a system; `inline constexpr auto kSizes<GPT2> = std::array{...}` beside it.
template <class System>
inline constexpr std::array<Size<System>, 0> kSizes{};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
