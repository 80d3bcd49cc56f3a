// SPDX-License-Identifier: MIT
// The library's placements as cases: the policy, its equations as plain loops, its norms and scales, what it keeps, and
// the gain of its initial weights.
#pragma once

#include "placement_case.hpp"
#include "placement_transcription.hpp"

namespace placement {

using norma::Kind;
using plain::add;
using plain::blocks;
using plain::Matrix;
using plain::Network;
using Names = std::vector<std::string>;

inline Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// The parameters of a LayerNorm as placement_quick.hpp lists them.
inline Names norm(const std::string& name, Index width = 12) {
  const std::string columns = "[" + std::to_string(width) + "]";
  return {name + ".gamma" + columns + " = 1", name + ".beta" + columns + " = 0"};
}
/// What norms and joins of a block keep per token in floats where it has `norms` norms and one matrix between its
/// sites.
inline Index norm_floats(Index norms, Index d) { return norms * (d + 3) + d; }

/// A stack of alike blocks, closed by a norm.
template <class F>
Matrix closed(const Network& n, const Matrix& x, F block) {
  return n.norm("close", blocks(x, block));
}

struct Sublayers {
  const Network& n;
  std::string at;
  Matrix attention(const Matrix& x) const { return n.attention(at, x); }
  Matrix feed_forward(const Matrix& x) const { return n.feed_forward(at, x); }
  Matrix norm(const std::string& name, const Matrix& x) const { return n.norm(at + name, x); }
};

/// Every case: `names` are the parameters of the second block of three that are neither matrices nor their biases, and
/// those at the ends of the stack.
struct CatalogueDefaults {
  static double gain(Kind) { return 1; }
  static Names ends() { return norm("close"); }
};

struct GLMDeepNormCase : Case<norma::GLMDeepNorm>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return blocks(x, [&](const std::string& at, int, const Matrix& m) { return post_ln(n, at, m, std::sqrt(6.0)); });
  }
  static Names names() { return norm("attention.out") + norm("feed_forward.out"); }
  static Names ends() { return {}; }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d); }
  /// 12 layers: 24^(-1/2).
  static double gain(Kind kind) {
    return contains(Kind::value | Kind::output | Kind::up | Kind::down, kind) ? 0.2041241452 : 1;
  }
};

struct SandwichCase : Case<norma::Sandwich>, CatalogueDefaults {
  static Matrix block(const Network& n, const std::string& at, const Matrix& x) {
    const Sublayers f{n, at};
    const Matrix u = add(x, f.norm("attention.post", f.attention(f.norm("attention.pre", x))));
    return add(u, f.norm("feed_forward.post", f.feed_forward(f.norm("feed_forward.pre", u))));
  }
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int, const Matrix& m) { return block(n, at, m); });
  }
  static Names names() {
    return norm("attention.pre") + norm("attention.post") + norm("feed_forward.pre") + norm("feed_forward.post");
  }
  static Index kept(Index d, Index, Index) { return norm_floats(4, d); }
};

struct PeriLNCase : Case<norma::PeriLN>, CatalogueDefaults {
  static norma::PeriLN policy() { return {.embedding_norm = true}; }
  static norma::PeriLN gated() { return policy(); }
  static Matrix stack(const Network& n, const Matrix& x) { return SandwichCase::stack(n, n.norm("open", x)); }
  static Names names() { return SandwichCase::names(); }
  static Names ends() { return norm("open") + norm("close"); }
  static Index kept(Index d, Index, Index) { return norm_floats(4, d); }
};

struct OutputNormCase : Case<norma::OutputNorm>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int, const Matrix& m) {
      const Sublayers f{n, at};
      const Matrix u = add(m, f.norm("attention.post", f.attention(m)));
      return add(u, f.norm("feed_forward.post", f.feed_forward(u)));
    });
  }
  static Names names() { return norm("attention.post") + norm("feed_forward.post"); }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d); }
};

struct ScaledResidualCase : Case<norma::ScaledResidual>, CatalogueDefaults {
  static norma::ScaledResidual policy() { return {.skip = 0.5, .branch = -1.5}; }
  static norma::ScaledResidual gated() { return policy(); }
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int, const Matrix& m) {
      const Sublayers f{n, at};
      const Matrix u = add(m, f.attention(f.norm("attention.pre", m)), 0.5, -1.5);
      return add(u, f.feed_forward(f.norm("feed_forward.pre", u)), 0.5, -1.5);
    });
  }
  static Names names() { return norm("attention.pre") + norm("feed_forward.pre"); }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d); }  // neither constant costs anything
};

struct LayerNormScalingCase : Case<norma::LayerNormScaling>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int l, const Matrix& m) {
      const Sublayers f{n, at};
      const double s = 1 / std::sqrt(double(l));
      const Matrix u = add(m, f.attention(plain::scale(f.norm("attention.pre.0", m), s)));
      return add(u, f.feed_forward(plain::scale(f.norm("feed_forward.pre.0", u), s)));
    });
  }
  static Names names() { return norm("attention.pre.0") + norm("feed_forward.pre.0"); }
  // Scale reads nothing again, so what lies between norm and Scale is scratch.
  static Index kept(Index d, Index, Index) { return norm_floats(2, d); }
};

template <bool kScaleSkip>
struct NormFormerCase : Case<norma::NormFormer>, CatalogueDefaults {
  static norma::NormFormer policy() { return {.scale_skip = kScaleSkip}; }
  static norma::NormFormer gated() { return policy(); }
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int, const Matrix& m) {
      const Sublayers f{n, at};
      Matrix o = n.heads_of(at + "attention", f.norm("attention.pre", m));
      const auto factor = n.weights[at + "attention.head_scale"];
      for (auto& row : o)
        for (std::size_t i = 0; i < row.size(); ++i) row[i] *= factor(0, static_cast<Index>(i) / 4);  // head_dim 4
      const Matrix u = add(m, f.norm("attention.post", plain::linear(n.weights, at + "attention.output", o)));
      const Matrix h = f.norm("feed_forward.hidden_entry", n.hidden(at, f.norm("feed_forward.pre", u)));
      Matrix skip = u;
      if (kScaleSkip)
        for (auto& row : skip)
          for (std::size_t i = 0; i < row.size(); ++i)
            row[i] *= n.weights[at + "feed_forward.join.rho"](0, static_cast<Index>(i));
      return add(skip, plain::linear(n.weights, at + "feed_forward.down", h));
    });
  }
  static Names names() {
    return norm("attention.pre") + Names{"attention.head_scale[3] = 1"} + norm("attention.post") +
           norm("feed_forward.pre") + norm("feed_forward.hidden_entry", 10) +
           (kScaleSkip ? Names{"feed_forward.join.rho[12] = 1"} : Names{});
  }
  // Pre-LN; the branch of attention before its norm; the heads after their scale; the hidden row after its norm. The
  // skip that rho multiplies is the stream.
  static Index kept(Index d, Index, Index f) { return norm_floats(3, d) + d + (f + 3); }
};

struct SubLNCase : Case<norma::SubLN>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int, const Matrix& m) {
      const Sublayers f{n, at};
      const Matrix o = f.norm("attention.before_output", n.heads_of(at + "attention", f.norm("attention.pre", m)));
      const Matrix u = add(m, plain::linear(n.weights, at + "attention.output", o));
      const Matrix h = f.norm("feed_forward.hidden_entry", n.hidden(at, f.norm("feed_forward.pre", u)));
      return add(u, plain::linear(n.weights, at + "feed_forward.down", h));
    });
  }
  static Names names() {
    return norm("attention.pre") + norm("attention.before_output") + norm("feed_forward.pre") +
           norm("feed_forward.hidden_entry", 10);
  }
  // Pre-LN, the heads after their norm, the hidden row after its norm.
  static Index kept(Index d, Index, Index f) { return norm_floats(3, d) + (f + 3); }
  /// 12 layers: sqrt(ln 24).
  static double gain(Kind kind) {
    return contains(Kind::value | Kind::output | Kind::up | Kind::down, kind) ? 1.7827096876 : 1;
  }
};

/// q, k, v of one layer, each through a function of name and matrix, then attention and its output projection.
template <class F>
Matrix attention_with(const Network& n, const std::string& at, const Matrix& x, double score_scale, F entry) {
  const auto projected = [&](const char* name) {
    return entry(std::string("attention.") + name + "_entry", plain::linear(n.weights, at + "attention." + name, x));
  };
  const Matrix q = projected("query"), k = projected("key"), v = projected("value");
  return plain::linear(n.weights, at + "attention.output", n.attend(q, k, v, score_scale));
}
inline Matrix norm_per_head(const Network& n, const std::string& name, const Matrix& x) {
  return plain::per_head(x, n.head_dim(x), [&](const Matrix& head) { return n.norm(name, head); });
}
inline constexpr double kUsualScale = 0.5;  // head_dim 4

template <bool kStarred>
struct HybridNormCase : Case<norma::HybridNorm>, CatalogueDefaults {
  static norma::HybridNorm policy() { return {.starred = kStarred}; }
  static norma::HybridNorm gated() { return policy(); }
  static Names zero_by_theory() { return {"key_entry.beta"}; }
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int l, const Matrix& m) {
      const Sublayers f{n, at};
      const bool first = kStarred && l == 1;
      const Matrix u = add(
          m, attention_with(n, at, first ? f.norm("attention.pre", m) : m, kUsualScale,
                            [&](const std::string& name, const Matrix& q) { return norm_per_head(n, at + name, q); }));
      if (first) return add(u, f.feed_forward(f.norm("feed_forward.pre", u)));
      const Matrix v = f.norm("feed_forward.in", u);
      return add(v, f.feed_forward(v));
    });
  }
  static Names names() {
    return norm("attention.query_entry", 4) + norm("attention.key_entry", 4) + norm("attention.value_entry", 4) +
           norm("feed_forward.in");
  }
  // q, k and v before their norms, three statistics per head each; one norm of the stream.
  static Index kept(Index d, Index h, Index) { return norm_floats(1, d) + 3 * (d + 3 * h); }
};

struct B2TCase : Case<norma::B2T>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return blocks(x, [&](const std::string& at, int, const Matrix& m) {
      const Sublayers f{n, at};
      const Matrix u = f.norm("attention.out", add(m, f.attention(m)));
      return f.norm("feed_forward.out", add(add(m, u), f.feed_forward(u)));
    });
  }
  static Names names() { return norm("attention.out") + norm("feed_forward.out"); }
  static Names ends() { return {}; }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d); }  // part 1 is the view of the block's input
  /// 12 layers: 12^(-1/2), on every matrix.
  static double gain(Kind) { return 0.2886751346; }
};

struct KeelCase : Case<norma::Keel>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return blocks(x, [&](const std::string& at, int l, const Matrix& m) {
      if (l == 1) return pre_ln(n, at, m);
      const Sublayers f{n, at};
      const double alpha = 6;  // sublayers of three blocks
      const Matrix u = f.norm("attention.out", add(m, f.attention(f.norm("attention.pre", m)), alpha));
      return f.norm("feed_forward.out", add(u, f.feed_forward(f.norm("feed_forward.pre", u)), alpha));
    });
  }
  static Names names() {
    return norm("attention.pre") + norm("attention.out") + norm("feed_forward.pre") + norm("feed_forward.out");
  }
  static Names ends() { return {}; }
  static Index kept(Index d, Index, Index) { return norm_floats(4, d); }
};

/// floor(0.4 x 3) = 1 block is Post-LN.
struct MixLNCase : Case<norma::MixLN>, CatalogueDefaults {
  static norma::MixLN policy() { return {.share = 0.4}; }
  static norma::MixLN gated() { return policy(); }
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int l, const Matrix& m) {
      return l == 1 ? plain::post_ln(n, at, m, 1) : plain::pre_ln(n, at, m);
    });
  }
  static Names names() { return norm("attention.pre") + norm("feed_forward.pre"); }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d); }  // nothing for the norms that are absent
};

/// Other norms and other placements at other depths, in one stack: DeepNorm with RMSNorm, then Sandwich-LN.
using DeepNormThenSandwich = norma::Mix<norma::WithNorm<norma::DeepNorm, norma::RMSNorm>, norma::Sandwich>;
struct MixCase : Case<DeepNormThenSandwich>, CatalogueDefaults {
  static DeepNormThenSandwich policy() { return {.share = 0.4}; }
  static DeepNormThenSandwich gated() { return policy(); }
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int l, const Matrix& m) {
      if (l > 1) return SandwichCase::block(n, at, m);
      const double alpha = std::pow(6.0, 0.25);  // of three layers
      const auto rms = [&](const std::string& name, const Matrix& s) {
        return plain::rms_norm(n.weights, at + name, s);
      };
      const Matrix u = rms("attention.out", add(m, n.attention(at, m), alpha));
      return rms("feed_forward.out", add(u, n.feed_forward(at, u), alpha));
    });
  }
  static Names names() { return SandwichCase::names(); }
  static Index kept(Index d, Index, Index) { return norm_floats(4, d); }
  /// The last of 12 blocks is Sandwich-LN's, which scales nothing.
};

/// Pre-LN with normed queries and keys; `kExtra` counts per-head statistics.
template <class QKNorm>
struct QKNormCase : Case<norma::WithQKNorm<norma::PreLN, QKNorm>>, CatalogueDefaults {
  static constexpr bool kCosine = std::is_same_v<QKNorm, norma::CosineQKNorm>;
  static constexpr bool kWhole = std::is_same_v<QKNorm, norma::WholeQKNorm>;
  static Names zero_by_theory() { return kCosine ? Names{} : Names{"key_entry.beta"}; }
  static Matrix l2(const Matrix& x, double g) {
    Matrix y = x;
    for (auto& row : y) {
      double square = 0;
      for (double v : row) square += v * v;
      for (double& v : row) v *= g / std::sqrt(square);
    }
    return y;
  }
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int, const Matrix& m) {
      const Sublayers f{n, at};
      const auto entry = [&](const std::string& name, const Matrix& q) {
        if (name == "attention.value_entry") return q;
        if constexpr (kCosine) {
          const double g = name == "attention.query_entry" ? n.weights[at + name + ".g"](0, 0) : 1;
          return plain::per_head(q, n.head_dim(q), [&](const Matrix& head) { return l2(head, g); });
        } else {
          return kWhole ? n.norm(at + name, q) : norm_per_head(n, at + name, q);
        }
      };
      const Matrix u = add(m, attention_with(n, at, f.norm("attention.pre", m), kCosine ? 1 : kUsualScale, entry));
      return add(u, f.feed_forward(f.norm("feed_forward.pre", u)));
    });
  }
  static Names names() {
    const Index width = kWhole ? 12 : 4;
    const Names inside = kCosine ? Names{"attention.query_entry.g[1] = 17.997179"}  // log2(512^2 - 512)
                                 : norm("attention.query_entry", width) + norm("attention.key_entry", width);
    return norm("attention.pre") + inside + norm("feed_forward.pre");
  }
  // q and k before their norms; per head, or per token, three statistics each; of the cosine form one.
  static Index kept(Index d, Index h, Index) {
    return norm_floats(2, d) + 2 * (d + (kCosine ? h : kWhole ? 3 : 3 * h));
  }
};

/// The case as PlacementRuns asks for it.
template <class C>
struct Full : C {
  static Index tape_floats(Index d, Index h, Index f) { return C::kept(d, h, f) + attention_floats(d, h) + 2 * f; }
};

}  // namespace placement
