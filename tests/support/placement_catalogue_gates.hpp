// SPDX-License-Identifier: MIT
// The library's placements with gates, several streams and hooks, as cases: see placement_catalogue.hpp.
#pragma once

#include "placement_catalogue.hpp"

namespace placement {

/// Factors of a parameter [1, width] on the columns of a matrix.
inline Matrix scale_columns(const plain::Weights& w, const std::string& name, Matrix m, double times = 1) {
  const auto factor = w[name];
  for (auto& row : m)
    for (std::size_t i = 0; i < row.size(); ++i) row[i] *= times * factor(0, static_cast<Index>(i));
  return m;
}
/// x + b, b one number.
inline Matrix shift(const plain::Weights& w, const std::string& name, Matrix m) {
  for (auto& row : m)
    for (double& v : row) v += w[name + ".shift"](0, 0);
  return m;
}
inline double number(const Network& n, const std::string& name) { return n.weights[name](0, 0); }

/// A stack of alike sites: site(level of the site, its block from 1, the sublayer, x).
template <class F>
Matrix sites(const Network& n, const Matrix& x, F site) {
  return blocks(x, [&](const std::string& at, int l, const Matrix& m) {
    const Sublayers f{n, at};
    const Matrix u = site(
        at + "attention", l, [&](const Matrix& v) { return f.attention(v); }, m);
    return site(
        at + "feed_forward", l, [&](const Matrix& v) { return f.feed_forward(v); }, u);
  });
}
inline std::string block_of(const std::string& site) { return site.substr(0, site.rfind('.') + 1); }

struct ReZeroCase : Case<norma::ReZero>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return sites(n, x, [&](const std::string& at, int, auto f, const Matrix& m) {
      return add(m, f(m), 1, number(n, block_of(at) + "gate"));
    });
  }
  static Names names() { return {"gate[1] = 0"}; }
  static Names ends() { return {}; }
  static Index kept(Index d, Index, Index) { return 3 * d; }  // both branches, the stream between them
};

struct LayerScaleCase : Case<norma::LayerScale>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return n.norm("close", sites(n, x, [&](const std::string& at, int, auto f, const Matrix& m) {
                    return add(m, scale_columns(n.weights, at + ".join.lambda", f(n.norm(at + ".pre", m))));
                  }));
  }
  static Names names() {
    return norm("attention.pre") + Names{"attention.join.lambda[12] = 0.1"} + norm("feed_forward.pre") +
           Names{"feed_forward.join.lambda[12] = 0.1"};
  }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d) + 2 * d; }  // Pre-LN, and both branches
};

struct GatedCrossAttentionCase : Case<norma::GatedCrossAttention>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return n.norm("close", sites(n, x, [&](const std::string& at, int, auto f, const Matrix& m) {
                    return add(m, f(n.norm(at + ".pre", m)), 1, std::tanh(number(n, at + ".gate")));
                  }));
  }
  static Names names() {
    return norm("attention.pre") + Names{"attention.gate[1] = 0"} + norm("feed_forward.pre") +
           Names{"feed_forward.gate[1] = 0"};
  }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d) + 2 * d; }  // Pre-LN, and both branches
};

struct PreLNPerBranchCase : Case<norma::PreLNPerBranch>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return closed(n, x, [&](const std::string& at, int, const Matrix& m) { return plain::pre_ln(n, at, m); });
  }
  static Names names() { return norm("attention.pre") + norm("feed_forward.pre"); }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d); }
};

struct AdminCase : Case<norma::Admin>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& x) {
    return sites(n, x, [&](const std::string& at, int, auto f, const Matrix& m) {
      return n.norm(at + ".out", add(scale_columns(n.weights, at + ".join.omega", m), f(m)));
    });
  }
  static Names names() {
    return Names{"attention.join.omega[12] = 1"} + norm("attention.out") + Names{"feed_forward.join.omega[12] = 1"} +
           norm("feed_forward.out");
  }
  static Names ends() { return {}; }
  static Index kept(Index d, Index, Index) { return norm_floats(2, d); }  // the skip is the stream
};

struct TFixupCase : Case<norma::TFixup>, CatalogueDefaults {
  /// Nothing norms the stream: with larger weights it saturates the softmax and outgrows finite differences.
  static double perturbation() { return 0.1; }
  static Matrix stack(const Network& n, const Matrix& x) {
    return sites(n, x, [](const std::string&, int, auto f, const Matrix& m) { return add(m, f(m)); });
  }
  static Names names() { return {}; }
  static Names ends() { return {}; }
  static Index kept(Index d, Index, Index) { return d; }  // the stream between the sites
  /// 12 layers: 0.67 12^(-1/4).
  static double gain(Kind kind) {
    return contains(Kind::value | Kind::output | Kind::up | Kind::down, kind) ? 0.3599809272 : 1;
  }
};

struct FixupCase : Case<norma::Fixup>, CatalogueDefaults {
  /// As of T-Fixup.
  static double perturbation() { return 0.1; }
  static Matrix stack(const Network& n, const Matrix& x) {
    const auto& w = n.weights;
    return blocks(x, [&](const std::string& at, int, const Matrix& m) {
      const std::string a = at + "attention", f = at + "feed_forward";
      const auto end = [&](const std::string& site, const Matrix& v) {
        return shift(w, site + ".post.1", plain::scale(v, number(n, site + ".post.0.factor")));
      };
      const Matrix o = shift(w, a + ".before_output", n.heads_of(a, shift(w, a + ".pre", m)));
      const Matrix u = add(m, end(a, plain::linear(w, a + ".output", o)));
      Matrix h = shift(w, f + ".before_activation", plain::linear(w, f + ".up", shift(w, f + ".pre", u)));
      for (auto& row : h)
        for (double& v : row) v = v * 0.5 * (1 + std::erf(v / std::sqrt(2.0)));
      return add(u, end(f, plain::linear(w, f + ".down", shift(w, f + ".hidden_entry", h))));
    });
  }
  static Names names() { return {"attention.post.0.factor[1] = 1", "feed_forward.post.0.factor[1] = 1"}; }
  static Names ends() { return {}; }
  // Per site the shifted input and the branch before its factor, the shifted heads, the stream.
  static Index kept(Index d, Index, Index) { return 2 * 2 * d + d + d; }
  /// 12 layers: 24 branches, 24^(-1/2), and zero.
  static double gain(Kind kind) {
    return contains(Kind::output | Kind::down, kind) ? 0 : contains(Kind::value | Kind::up, kind) ? 0.2041241452 : 1;
  }
};

struct NGPTCase : Case<norma::NGPT>, CatalogueDefaults {
  static Names zero_by_theory() { return {}; }  // the key's norm takes its bias in
  static Matrix unit(Matrix m) {
    for (auto& row : m) {
      double square = 0;
      for (double v : row) square += v * v;
      for (double& v : row) v /= std::sqrt(square);
    }
    return m;
  }
  static Matrix stack(const Network& n, const Matrix& x) {
    const auto& w = n.weights;
    const double root = std::sqrt(12.0);
    const auto step = [&](const std::string& site, const Matrix& h, const Matrix& branch) {
      const auto alpha = w[site + ".join.alpha"];
      Matrix y = unit(branch);
      for (std::size_t r = 0; r < y.size(); ++r)
        for (std::size_t i = 0; i < y[r].size(); ++i) {
          const double a = std::fabs(0.05 * root * alpha(0, static_cast<Index>(i)));
          y[r][i] = h[r][i] + a * (y[r][i] - h[r][i]);
        }
      return unit(y);
    };
    return blocks(x, [&](const std::string& at, int, const Matrix& m) {
      const std::string a = at + "attention", f = at + "feed_forward";
      const auto scaled = [&](const char* name) {
        Matrix q = plain::linear(w, a + "." + name, m);
        const std::size_t n_head = n.head_dim(q);
        q = plain::per_head(q, n_head, [](const Matrix& head) { return unit(head); });
        const auto s_qk = w[a + ".s_qk"];
        for (auto& row : q)
          for (std::size_t i = 0; i < row.size(); ++i)
            row[i] *= root * s_qk(static_cast<Index>(i / n_head), static_cast<Index>(i % n_head));
        return q;
      };
      const Matrix o = n.attend(scaled("query"), scaled("key"), plain::linear(w, a + ".value", m), 2);  // head_dim 4
      const Matrix u = step(a, m, plain::linear(w, a + ".output", o));
      Matrix h = scale_columns(w, f + ".s_v", plain::linear(w, f + ".up", u), root);
      for (auto& row : h)
        for (double& v : row) v = v * 0.5 * (1 + std::erf(v / std::sqrt(2.0)));
      return step(f, u, plain::linear(w, f + ".down", scale_columns(w, f + ".s_u", h)));
    });
  }
  static Names names() {
    return {"attention.s_qk[4] = 0.288675", "attention.join.alpha[12] = 0.288675", "feed_forward.s_v[10] = 1",
            "feed_forward.s_u[10] = 1", "feed_forward.join.alpha[12] = 0.288675"};
  }
  static Names ends() { return {}; }
  // Per site the branch before and after its norm, the sum before its norm, two lengths. q and k before norm and before
  // scale, a length per head each. The hidden row before both scales. The stream.
  static Index kept(Index d, Index h, Index f) { return 2 * (3 * d + 2) + 2 * (2 * d + h) + 2 * f + d; }
  /// Rows or columns of unit length in the stream's 64 channels.
  static double deviation(const norma::ParameterInfo&) { return 0.125; }
};

struct ResiDualCase : Case<norma::ResiDual>, CatalogueDefaults {
  static norma::ResiDual policy() { return {.alpha = 0.5}; }
  static norma::ResiDual gated() { return policy(); }
  static Matrix stack(const Network& n, const Matrix& x) {
    Matrix dual = x;
    const Matrix y = sites(n, x, [&](const std::string& at, int, auto f, const Matrix& m) {
      const Matrix g = f(m);
      dual = add(dual, g);
      return n.norm(at + ".out", add(m, g));
    });
    return add(y, n.norm("close.part1", dual), 0.5);
  }
  static Names names() { return norm("attention.out") + norm("feed_forward.out"); }
  static Names ends() { return norm("close.part1"); }
  // What Out normalises, and both parts of the stream, after both sites: a stream of two is closed even in a block
  // alone. Three statistics of the closing norm.
  static Index kept(Index d, Index, Index) { return 2 * (d + 3) + 4 * d + 3; }
};

struct SiameseNormCase : Case<norma::SiameseNorm>, CatalogueDefaults {
  static Matrix stack(const Network& n, const Matrix& input) {
    Matrix y = input;
    const Matrix x = sites(n, input, [&](const std::string& at, int l, auto f, const Matrix& m) {
      const Matrix z = n.norm(at + ".in", m);
      const Matrix g = f(n.norm(at + ".pre.1", add(z, n.norm(at + ".pre.0.part1", y))));
      y = add(y, g);
      return add(z, g, 1, 1 / std::sqrt(2.0 * l));
    });
    return n.norm("close.1", add(n.norm("close.0.part0", x), n.norm("close.0.part1", y)));
  }
  static Names at(const std::string& site) {
    return norm(site + ".in") + norm(site + ".pre.0.part1") + norm(site + ".pre.1");
  }
  static Names names() { return at("attention") + at("feed_forward"); }
  static Names ends() { return norm("close.0.part0") + norm("close.0.part1") + norm("close.1"); }
  // Per site: In's output; the sum that the reader's last norm reads, its output, two norms' statistics; both parts.
  // Close: the sum of two norms, and the statistics of three.
  static Index kept(Index d, Index, Index) { return 2 * ((d + 3) + (2 * d + 6) + 2 * d) + (d + 9); }
};

/// Both forms; the static one has no dynamic part.
template <int N, bool kDynamic>
struct HyperConnectionsBase : CatalogueDefaults {
  /// scale tanh(norm(s_p) . column c of W), zero in the static form.
  static double dynamic(const Network& n, const std::string& at, const Matrix& normed, std::size_t r,
                        const std::string& matrix, const std::string& scale, Index c) {
    if (!kDynamic) return 0;
    const auto w = n.weights[at + matrix];
    double sum = 0;
    for (std::size_t i = 0; i < normed[r].size(); ++i) sum += normed[r][i] * w(c, static_cast<Index>(i));
    return number(n, at + scale) * std::tanh(sum);
  }
  static Matrix stack(const Network& n, const Matrix& input) {
    std::vector<Matrix> h(N, input);
    sites(n, input, [&](const std::string& at, int, auto f, const Matrix& m) {
      const auto am = n.weights[at + ".pre.0.a_m"], ar = n.weights[at + ".join.a_r"], b = n.weights[at + ".join.b"];
      std::vector<Matrix> normed = h;
      if (kDynamic)
        for (auto& part : normed) part = n.norm(at + ".mix_norm", part);
      Matrix u = plain::scale(input, 0);
      for (std::size_t p = 0; p < N; ++p)
        for (std::size_t r = 0; r < u.size(); ++r)
          for (std::size_t i = 0; i < u[r].size(); ++i)
            u[r][i] +=
                (am(0, static_cast<Index>(p)) + dynamic(n, at, normed[p], r, ".pre.0.w_m", ".s_a", 0)) * h[p][r][i];
      const Matrix v = f(n.norm(at + ".pre.1", u));
      const auto old = h;
      for (std::size_t q = 0; q < N; ++q)
        for (std::size_t r = 0; r < v.size(); ++r) {
          const double share = b(0, static_cast<Index>(q)) + dynamic(n, at, normed[q], r, ".join.w_b", ".s_b", 0);
          for (std::size_t i = 0; i < v[r].size(); ++i) h[q][r][i] = share * v[r][i];
          for (std::size_t p = 0; p < N; ++p) {
            const double mix = ar(static_cast<Index>(p), static_cast<Index>(q)) +
                               dynamic(n, at, normed[p], r, ".join.w_r", ".s_a", static_cast<Index>(q));
            for (std::size_t i = 0; i < v[r].size(); ++i) h[q][r][i] += mix * old[p][r][i];
          }
        }
      return m;
    });
    Matrix sum = plain::scale(input, 0);
    for (const Matrix& part : h) sum = add(sum, part);
    return n.norm("close.1", sum);
  }
  /// The first coefficient of A_m is one where the site, here 2 or 3, is a multiple of N.
  static Names at(const std::string& site, int index) {
    const std::string parts = "[" + std::to_string(N) + "]";
    const Names reader{site + ".pre.0.a_m" + parts + " = " + (index % N == 0 ? "1" : "0")};
    const Names join{site + ".join.a_r" + parts + " = 1", site + ".join.b" + parts + " = 1"};
    if (!kDynamic) return reader + norm(site + ".pre.1") + join;
    return reader + norm(site + ".mix_norm") + Names{site + ".s_a[1] = 0.01", site + ".pre.0.w_m[12] = 0"} +
           norm(site + ".pre.1") + join +
           Names{site + ".join.w_r[12] = 0", site + ".s_b[1] = 0.01", site + ".join.w_b[12] = 0"};
  }
  static Names names() { return at("attention", 2) + at("feed_forward", 3); }
  static Names ends() { return norm("close.1"); }
  // Per site: the mix, its norm, the branch, and N parts. Close: the sum of the parts, its norm's statistics. Dynamic,
  // per site and for reader and join: N norms' statistics, and a tanh per coefficient.
  static Index kept(Index d, Index, Index) {
    const Index dynamic_floats = kDynamic ? 2 * (2 * 3 * N + N + N * (N + 1)) : 0;
    return 2 * (d + (d + 3) + d + N * d) + (d + 3) + dynamic_floats;
  }
};
template <int N>
struct HyperConnectionsCase : Case<norma::HyperConnections<N>>, HyperConnectionsBase<N, false> {};
template <int N>
struct DynamicHyperConnectionsCase : Case<norma::DynamicHyperConnections<N>>, HyperConnectionsBase<N, true> {
  /// tanh of large sums bends too much for the differences' step: at half the step the error is a sixteenth.
  static double perturbation() { return 0.1; }
};

}  // namespace placement
