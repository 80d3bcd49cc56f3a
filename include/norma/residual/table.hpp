// SPDX-License-Identifier: MIT
// What a policy returns: a table of slots, filled by name. A name that is not a slot is not a member, so a misspelling
// does not compile; presence is decided by type.
#pragma once

#include <norma/core/entries.hpp>
#include <norma/residual/at.hpp>
#include <norma/residual/join.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace slot {
// Around the sublayer, in the order of the site.
struct in {};
struct pre {};
struct post {};
struct join {};
struct out {};
// At the ends of the stream.
struct open {};
struct close {};
struct per_block {};
struct gain {};
struct logits {};
// Hooks.
struct after_step {};
}  // namespace slot

template <int Parts, class... F>
struct Table : Entries<F...> {
  static constexpr int parts = Parts;

  /// Changes part 0 before anything else: S1 = In(S).
  auto in(auto m) const { return with_module<slot::in>(m); }
  /// Reads the stream for the sublayer: u = Pre(S1).
  auto pre(auto m) const { return with_reader<slot::pre>(m); }
  /// On the branch: w = Post(v).
  auto post(auto m) const { return with_module<slot::post>(m); }
  /// Brings the branch back: S2 = Join(S1, w). Without it, part 0 + w.
  template <class J>
  auto join(J j) const {
    static_assert(std::is_same_v<J, None> || Join<J, Parts>,
                  "norma: slot join takes a Join for as many parts as the stream has (see residual/join.hpp)");
    return with<slot::join>(j);
  }
  /// On part 0 after the join: S' = Out(S2).
  auto out(auto m) const { return with_module<slot::out>(m); }
  /// On the input of the stack; every part of the stream starts as its output.
  auto open(auto m) const { return with_module<slot::open>(m); }
  /// From the stream to the output of the stack.
  auto close(auto m) const { return with_reader<slot::close>(m); }
  /// On what the head of a language model gives: width vocabulary.
  auto logits(auto m) const { return with_module<slot::logits>(m); }
  /// hook(const ParameterInfo&, MatrixView<T> values), called for every parameter once the weights are drawn and after
  /// every step of an optimiser: see Network::after_step.
  template <class H>
  auto after_step(H hook) const {
    static_assert(std::is_invocable_v<const H&, const ParameterInfo&, MatrixView<float>>,
                  "norma: after_step takes a function of a parameter's info and its values");
    return with<slot::after_step>(hook);
  }
  /// The stream begins and ends with each block, not with the stack: all parts start as the block's input, part 0
  /// leaves.
  auto per_block() const { return with<slot::per_block>(true); }
  /// A factor on what the initialiser draws for these kinds of parameters. May be said several times: factors multiply.
  /// At the ends of a language model it acts on its embedding and head: the embedding's is asked at the first layer,
  /// the head's at the last. A tied head is the embedding's matrix and has the embedding's gain alone.
  auto gain(double factor, Kind kinds) const {
    if constexpr (Entries<F...>::template has<slot::gain>) {
      Table table = *this;
      static_cast<Filled<slot::gain, Gain>&>(table).value.multiply(factor, kinds);
      return table;
    } else {
      return with<slot::gain>(Gain(factor, kinds));
    }
  }

  /// On queries, keys, values after their projection, per head: width head_dim.
  auto query(auto m) const { return with_module<slot::query>(m); }
  auto key(auto m) const { return with_module<slot::key>(m); }
  /// On queries and keys after their rotary positions, per head.
  auto rotated_query(auto m) const { return with_module<slot::rotated_query>(m); }
  auto rotated_key(auto m) const { return with_module<slot::rotated_key>(m); }
  auto value(auto m) const { return with_module<slot::value>(m); }
  /// On queries, on keys, all heads together: width heads x head_dim, kv_heads x head_dim. In place of those per head.
  auto whole_query(auto m) const { return with_module<slot::whole_query>(m); }
  auto whole_key(auto m) const { return with_module<slot::whole_key>(m); }
  /// In place of 1 / sqrt(head_dim).
  auto score_scale(auto factor) const { return with_number<slot::score_scale>(factor); }
  /// A learned factor for every head before the output projection, with its initial value.
  auto head_scale(auto initial) const { return with_number<slot::head_scale>(initial); }
  /// On the heads together, before the output projection: width heads x head_dim.
  auto before_output(auto m) const { return with_module<slot::before_output>(m); }
  /// On the feed-forward's up and gate projections, before the activation: width hidden.
  auto up(auto m) const { return with_module<slot::up>(m); }
  auto gate(auto m) const { return with_module<slot::gate>(m); }
  /// On the activation's argument, whichever of the two it is: width hidden. Fill this or that one.
  auto before_activation(auto m) const { return with_module<slot::before_activation>(m); }
  /// After the activation, before the down projection: width hidden.
  auto hidden(auto m) const { return with_module<slot::hidden>(m); }

  /// At Role::parallel: on what each sublayer of a parallel block reads, one for each of them.
  auto branch(auto m) const { return with_module<slot::branch>(m); }

 private:
  template <class S, class M>
  auto with_module(M m) const {
    static_assert(Module<M>,
                  "norma: this slot takes a module, matrix to matrix (see core/module.hpp); its backward counts too");
    return with<S>(m);
  }
  template <class S, class M>
  auto with_reader(M m) const {
    static_assert(
        Reader<M, Parts>,
        "norma: this slot takes a module, or a reader of as many parts as the stream has (see core/module.hpp)");
    return with<S>(m);
  }
  /// A number, or nothing at this role: at.only(attention, 1.0).
  template <class S, class V>
  auto with_number(V value) const {
    static_assert(std::is_same_v<V, None> || std::is_convertible_v<V, double>, "norma: this slot takes a number");
    if constexpr (std::is_same_v<V, None>)
      return with<S>(value);
    else
      return with<S>(static_cast<double>(value));
  }
  template <class S, class V>
  auto with(V value) const {
    static_assert(!Entries<F...>::template has<S>, "norma: a policy fills this slot twice");
    static_assert(kInPlace<V>, "norma: slots work in place, which a module of products (Linear, Attention) cannot");
    if constexpr (std::is_same_v<V, None>)
      return *this;
    else
      return Table<Parts, F..., Filled<S, V>>{{static_cast<const F&>(*this)..., {value}}};
  }
};

/// An empty table for a stream of several matrices: the sublayer's output is added, nothing is normalised.
template <int Parts = 1>
Table<Parts> place() {
  return {};
}

namespace detail {

template <class T>
inline constexpr bool kIsTable = false;
template <int Parts, class... F>
inline constexpr bool kIsTable<Table<Parts, F...>> = true;

/// The inner entries among F.
template <class Kept, class... F>
struct InnerOf {
  using Type = Kept;
};
template <class... Kept, class First, class... Rest>
struct InnerOf<Entries<Kept...>, First, Rest...> {
  static constexpr bool kIsInner = std::is_base_of_v<slot::Inner, typename First::Slot>;
  using Type = typename InnerOf<std::conditional_t<kIsInner, Entries<Kept..., First>, Entries<Kept...>>, Rest...>::Type;
};
template <class... Kept, class Table>
Entries<Kept...> select(const Entries<Kept...>*, const Table& table) {
  return {static_cast<const Kept&>(table)...};
}

}  // namespace detail

/// The inner entries of a table alone: policies without any share the sublayer's code.
template <int Parts, class... F>
auto inner_entries(const Table<Parts, F...>& table) {
  using Kept = typename detail::InnerOf<Entries<>, F...>::Type;
  return detail::select(static_cast<const Kept*>(nullptr), table);
}

/// A placement: `slots(at)` returns a Table at every role.
template <class P, class Norm>
concept Policy = requires(const P& policy, const At<Role::attention, Norm>& at, const At<Role::ends, Norm>& ends) {
  requires detail::kIsTable<decltype(policy.slots(at))>;
  requires detail::kIsTable<decltype(policy.slots(ends))>;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
