// SPDX-License-Identifier: MIT
// Initial weights. A scheme draws one element; the policy's gain multiplies it. A parameter that says its own initial
// value (gamma = 1, a gate = 0) takes that.
//
// Every parameter draws from the stream of its name, element by element: the same seed gives the same weights for float
// and double, whatever else the network holds.
#pragma once

#include <norma/core/parameters.hpp>
#include <norma/core/rng.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Normal with std sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010, equation 12).
struct XavierNormal {
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return std::sqrt(2.0 / static_cast<double>(p.at.rows + p.at.columns)) * rng.normal(i);
  }
};

/// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010, equation 16).
struct XavierUniform {
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return std::sqrt(6.0 / static_cast<double>(p.at.rows + p.at.columns)) * (2 * rng.uniform(i) - 1);
  }
};

/// Normal with one std for every matrix; where they are scaled, those that write to the residual stream times
/// 1 / sqrt(2 L), L the depth of their stack (Radford et al., GPT-2, 2019, section 2.3).
struct Normal {
  double std = 0.02;
  bool scale_residual_outputs = false;

  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    const bool output = scale_residual_outputs && contains(kResidualOutput, p.kind);
    return std * (output ? 1 / std::sqrt(2.0 * p.layers) : 1.0) * rng.normal(i);
  }
};

/// Another scheme of normal values, each redrawn until it is within 2 std; so 0.88 of its std is left.
template <class Scheme = Normal>
struct Truncated {
  Scheme scheme{};
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    // Attempt k of element i is element i of stream k.
    Rng stream = rng;
    for (std::uint64_t attempt = 1; std::fabs(stream.normal(i)) > 2; ++attempt) stream = rng.substream(attempt);
    return scheme.draw(p, stream, i);
  }
};
template <class Scheme>
Truncated(Scheme) -> Truncated<Scheme>;

/// Normal with its options, truncated.
struct TruncatedNormal {
  double std = 0.02;
  bool scale_residual_outputs = true;

  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return Truncated{Normal{std, scale_residual_outputs}}.draw(p, rng, i);
  }
};

/// Normal with std sqrt(1 / fan_in) (LeCun et al., "Efficient BackProp", 1998, section 4.6).
struct LeCunNormal {
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return std::sqrt(1.0 / static_cast<double>(p.at.columns)) * rng.normal(i);
  }
};

/// Normal with std sqrt(2 / (5 fan_in)): Xavier's for a matrix [4 width, width] (Nguyen and Salazar, arXiv 1910.05895,
/// section 2.2, "SmallInit").
struct SmallInit {
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return std::sqrt(0.4 / static_cast<double>(p.at.columns)) * rng.normal(i);
  }
};

/// Normal with std 2 / (L sqrt(fan_out)), L the depth of the stack: for what writes to the residual stream, whose
/// width is the fan_out (Wang and Komatsuzaki, GPT-J-6B, 2021, the authors' code).
struct WangInit {
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return 2 / (p.layers * std::sqrt(static_cast<double>(p.at.rows))) * rng.normal(i);
  }
};

/// One scheme for these kinds of parameters, another for the rest:
///
///   ForKinds{Kind::position, Normal{0.01}, Normal{0.02}}
template <class Scheme, class Rest>
struct ForKinds {
  Kind kinds;
  Scheme scheme{};
  Rest rest{};

  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return contains(kinds, p.kind) ? scheme.draw(p, rng, i) : rest.draw(p, rng, i);
  }
};
template <class Scheme, class Rest>
ForKinds(Kind, Scheme, Rest) -> ForKinds<Scheme, Rest>;

/// Normal with std gain * sqrt(2 / fan_in) (He et al., arXiv 1502.01852, equation 10).
struct KaimingNormal {
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return std::sqrt(2.0 / static_cast<double>(p.at.columns)) * rng.normal(i);
  }
};

/// Uniform in +-sqrt(6 / fan_in) (the same variance).
struct KaimingUniform {
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return std::sqrt(6.0 / static_cast<double>(p.at.columns)) * (2 * rng.uniform(i) - 1);
  }
};

/// Another scheme's values times a factor.
template <class Scheme = XavierNormal>
struct Small {
  double factor = 0.1;
  Scheme scheme{};
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const { return factor * scheme.draw(p, rng, i); }
};

/// Another scheme's values times 1 / sqrt(layer), layer from 1 (Zhang, Titov and Sennrich, DS-Init, arXiv 1908.11365,
/// eq. 7).
template <class Scheme = XavierUniform>
struct DepthScaled {
  Scheme scheme{};
  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    return scheme.draw(p, rng, i) / std::sqrt(static_cast<double>(p.layer));
  }
};

template <class T, class Scheme>
Parameters<T> initialize(const std::shared_ptr<const Layout>& layout, const Rng& rng, const Scheme& scheme) {
  Parameters<T> weights(layout);
  weights.for_each_parameter([&](const ParameterInfo& entry, auto map) {
    const auto fill = [&](const ParameterInfo& part, RowGroups rows) {
      const Rng stream = rng.stream(part.name);
      for (Index r = 0; r < rows.outputs; ++r)
        for (Index c = 0; c < part.at.columns; ++c) {
          const auto i = static_cast<std::uint64_t>(r * part.at.columns + c);
          map(rows.row(r), c) =
              static_cast<T>(part.initial ? part.initial(r, c) : part.gain * scheme.draw(part, stream, i));
        }
    };
    if (entry.parts.empty() || entry.initial) return fill(entry, RowGroups::all(entry.at.rows));
    // A part draws what it would draw as a weight of its own: the same fan, the same gain, the same stream.
    for (const Part& part : entry.parts) {
      ParameterInfo alone = entry;
      alone.name = part.name;
      alone.kind = part.kind;
      alone.gain = part.gain;
      alone.at.rows = part.rows.outputs;
      fill(alone, part.rows);
    }
  });
  return weights;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
