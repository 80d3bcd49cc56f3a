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

/// Normal with this std before it is cut at +-2 std (so 0.88 of it after); matrices that write to the residual stream
/// times 1 / sqrt(2 L), L the depth of their stack (Radford et al., GPT-2, 2019, section 2.3).
struct TruncatedNormal {
  double std = 0.02;
  bool scale_residual_outputs = true;

  double draw(const ParameterInfo& p, const Rng& rng, std::uint64_t i) const {
    // Redrawn until inside: attempt k of element i is element i of stream k.
    double z = rng.normal(i);
    for (std::uint64_t attempt = 1; std::fabs(z) > 2; ++attempt) z = rng.substream(attempt).normal(i);
    const bool output = scale_residual_outputs && contains(kResidualOutput, p.kind);
    return std * (output ? 1 / std::sqrt(2.0 * p.layers) : 1.0) * z;
  }
};

/// Normal with one std for every matrix.
struct Normal {
  double std = 0.02;
  double draw(const ParameterInfo&, const Rng& rng, std::uint64_t i) const { return std * rng.normal(i); }
};

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
