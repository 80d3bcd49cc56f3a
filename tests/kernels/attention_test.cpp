// SPDX-License-Identifier: MIT
#include <norma/kernels/attention.hpp>

#include <gtest/gtest.h>

#include "kernel_attention.hpp"
#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::kernels::attention_backward;
using norma::kernels::attention_forward;

/// Inputs, outputs and gradients of one call, all strided and guarded.
template <class T>
struct Pass {
  AttentionShape shape;
  Guarded<T> q, k, v, o, lse, d_o, dq, dk, dv;

  explicit Pass(const AttentionShape& s, double size = 1, std::uint64_t seed = 1)
      : shape(s),
        q(s.batch * s.queries, s.heads * s.head_dim, 1, 3),
        k(s.batch * s.keys, s.heads * s.head_dim, 2, 1),
        v(s.batch * s.keys, s.heads * s.head_dim, 3, 2),
        o(q.rows(), q.width(), 1, 5),
        lse(q.rows(), s.heads, 1, 1),
        d_o(q.rows(), q.width()),
        dq(q.rows(), q.width(), 0, 4),
        dk(k.rows(), k.width(), 2),
        dv(k.rows(), k.width(), 1, 1) {
    Random random(seed);
    q.fill([&](Index, Index) { return size * random.normal(); });
    for (auto* m : {&k, &v, &d_o}) m->fill([&](Index, Index) { return random.normal(); });
  }
  void forward() { attention_forward<T>(shape.problem<T>(), q.in(), k.in(), v.in(), o.view(), lse.view()); }
  void backward() {
    attention_backward<T>(shape.problem<T>(), q.in(), k.in(), v.in(), o.in(), lse.in(), d_o.in(), dq.view(), dk.view(),
                          dv.view());
  }
  bool intact() const {
    return q.intact() && k.intact() && v.intact() && o.intact() && lse.intact() && d_o.intact() && dq.intact() &&
           dk.intact() && dv.intact();
  }
};

using Grid = std::vector<std::vector<long double>>;
Grid grid(Index rows, Index columns) {
  return Grid(static_cast<std::size_t>(rows), std::vector<long double>(static_cast<std::size_t>(columns)));
}
long double& at(Grid& g, Index r, Index c) { return g[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]; }

/// The same with the tokens x tokens matrix, in long double.
template <class T>
struct Naive {
  Grid o, dq, dk, dv;
  Grid size_o, size_dq, size_dk, size_dv;  ///< the same sums over |terms|
  double largest_score = 0;                ///< of the sums over |terms|

  explicit Naive(const Pass<T>& p)
      : o(grid(p.q.rows(), p.q.width())),
        dq(o),
        dk(grid(p.k.rows(), p.k.width())),
        dv(dk),
        size_o(o),
        size_dq(o),
        size_dk(dk),
        size_dv(dk) {
    const AttentionShape& s = p.shape;
    for (Index b = 0; b < s.batch; ++b)
      for (Index h = 0; h < s.heads; ++h)
        for (Index i = 0; i < s.queries; ++i) {
          const Index row = b * s.queries + i, first = b * s.keys, c0 = h * s.head_dim;
          std::vector<long double> w(static_cast<std::size_t>(s.keys)), dp(w), size_dp(w);
          long double maximum = -std::numeric_limits<long double>::infinity(), sum = 0, inner = 0, size_inner = 0;
          // Bottom-right: the last query sees every key, the one before it all but one.
          const auto sees = [&](Index j) { return !s.causal || j <= i + s.keys - s.queries; };
          for (Index j = 0; j < s.keys; ++j) {
            if (!sees(j)) continue;
            auto& score = w[static_cast<std::size_t>(j)];
            long double size = 0;
            for (Index c = 0; c < s.head_dim; ++c) {
              const long double term =
                  static_cast<long double>(p.q(row, c0 + c)) * static_cast<long double>(p.k(first + j, c0 + c));
              score += term;
              size += std::fabs(term);
            }
            score *= static_cast<long double>(static_cast<T>(s.scale));
            maximum = std::max(maximum, score);
            largest_score = std::max(largest_score, static_cast<double>(size * s.scale));
          }
          for (Index j = 0; j < s.keys; ++j) {
            auto& weight = w[static_cast<std::size_t>(j)];
            sum += weight = sees(j) ? std::exp(weight - maximum) : 0;
          }
          if (sum == 0) continue;
          for (Index j = 0; j < s.keys; ++j) {
            auto& weight = w[static_cast<std::size_t>(j)];
            weight /= sum;
            for (Index c = 0; c < s.head_dim; ++c) {
              const auto value = static_cast<long double>(p.v(first + j, c0 + c)),
                         d = static_cast<long double>(p.d_o(row, c0 + c));
              at(o, row, c0 + c) += weight * value;
              at(size_o, row, c0 + c) += weight * std::fabs(value);
              dp[static_cast<std::size_t>(j)] += d * value;
              size_dp[static_cast<std::size_t>(j)] += std::fabs(d * value);
              at(dv, first + j, c0 + c) += weight * d;
              at(size_dv, first + j, c0 + c) += weight * std::fabs(d);
            }
            inner += weight * dp[static_cast<std::size_t>(j)];
            size_inner += weight * size_dp[static_cast<std::size_t>(j)];
          }
          for (Index j = 0; j < s.keys; ++j) {
            const long double ds = s.scale * w[static_cast<std::size_t>(j)] * (dp[static_cast<std::size_t>(j)] - inner);
            const long double size =
                s.scale * w[static_cast<std::size_t>(j)] * (size_dp[static_cast<std::size_t>(j)] + size_inner);
            for (Index c = 0; c < s.head_dim; ++c) {
              const auto key = static_cast<long double>(p.k(first + j, c0 + c)),
                         query = static_cast<long double>(p.q(row, c0 + c));
              at(dq, row, c0 + c) += ds * key;
              at(dk, first + j, c0 + c) += ds * query;
              at(size_dq, row, c0 + c) += size * std::fabs(key);
              at(size_dk, first + j, c0 + c) += size * std::fabs(query);
            }
          }
        }
  }
};

/// Largest difference, each over the size of its terms; weights below the smallest normal number have steps in place of
/// digits.
template <class T>
double difference(const Guarded<T>& given, Grid right, Grid size) {
  double worst = 0;
  for (Index r = 0; r < given.rows(); ++r)
    for (Index c = 0; c < given.width(); ++c) {
      const long double error = std::fabs(static_cast<long double>(given(r, c)) - at(right, r, c));
      const auto d = static_cast<double>(error / (at(size, r, c) + std::numeric_limits<T>::min() / kUnit<T>));
      if (!(d <= worst)) worst = d;
    }
  return worst;
}

template <class T>
void check(const AttentionShape& s, double size = 1) {
  Pass<T> p(s, size);
  p.forward();
  p.backward();
  ASSERT_TRUE(p.intact());
  const Naive<T> right(p);
  // A score is rounded before the exponential, and the log-sum-exp after it: the relative error of a weight grows with
  // their size. Beside it, sums of head_dim and of keys terms. Measured over all cases and levels: 0.73 of this.
  const double unit = kUnit<T> * (4 + right.largest_score + std::sqrt(static_cast<double>(s.head_dim + s.keys)));
  for (const double d : {difference(p.o, right.o, right.size_o), difference(p.dq, right.dq, right.size_dq),
                         difference(p.dk, right.dk, right.size_dk), difference(p.dv, right.dv, right.size_dv)}) {
    EXPECT_LE(d, unit) << "batch " << s.batch << " queries " << s.queries << " keys " << s.keys << " heads " << s.heads
                       << " head_dim " << s.head_dim << " causal " << s.causal << " size " << size;
  }
}

template <class T>
struct AttentionKernel : testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionKernel, Scalars);

TYPED_TEST(AttentionKernel, AgainstNaive) {
  for (const Index head_dim : {1, 3, 7, 16, 20})
    for (const Index keys : {1, 2, 63, 64, 65, 130})
      for (const Index queries : {Index(1), Index(3), keys})
        for (const bool causal : {false, true})
          check<TypeParam>({2, queries, keys, 2, head_dim, 1 / std::sqrt(static_cast<double>(head_dim)), causal});
}

TYPED_TEST(AttentionKernel, LargeScores) {
  for (const bool causal : {false, true})
    for (const double size : {30.0, 300.0}) check<TypeParam>({2, 70, 70, 1, 16, 0.25, causal}, size);
}

// More queries than keys: the first ones see nothing. Zeros, and no gradient from them.
TYPED_TEST(AttentionKernel, QueriesThatSeeNoKey) {
  using T = TypeParam;
  const AttentionShape s{2, 5, 3, 2, 3, 0.5, true};
  check<T>(s);
  Pass<T> p(s);
  p.forward();
  p.backward();
  for (const Index b : {0, 1})
    for (Index i = 0; i < 2; ++i)
      for (Index c = 0; c < 6; ++c) {
        EXPECT_EQ(bits(p.o(b * 5 + i, c)), bits(T(0)));
        EXPECT_EQ(bits(p.dq(b * 5 + i, c)), bits(T(0)));
      }
  // Their d_o has no part in dk and dv.
  Pass<T> other(s);
  for (const Index b : {0, 1})
    for (Index i = 0; i < 2; ++i)
      for (Index c = 0; c < 6; ++c) other.d_o(b * 5 + i, c) = T(1e6);
  other.forward();
  other.backward();
  for (Index r = 0; r < 6; ++r)
    EXPECT_TRUE(same_bits(p.dk.row(r), other.dk.row(r), 6) && same_bits(p.dv.row(r), other.dv.row(r), 6));
  // No keys at all.
  check<T>({2, 4, 0, 1, 3, 1, true});
  check<T>({2, 4, 0, 1, 3, 1, false});
  check<T>({0, 4, 4, 1, 3, 1, false});
}

// Under a causal mask a query must not notice what later keys and values hold, be it NaN.
TYPED_TEST(AttentionKernel, LaterKeysDoNotLeak) {
  using T = TypeParam;
  for (const Index tokens : {3, 66}) {
    const AttentionShape s{2, tokens, tokens, 2, 5, 0.4, true};
    Pass<T> clean(s), dirty(s);
    for (const Index b : {0, 1})
      for (Index c = 0; c < 10; ++c) {
        dirty.k(b * tokens + tokens - 1, c) = std::numeric_limits<T>::quiet_NaN();
        dirty.v(b * tokens + tokens - 1, c) =
            c % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
      }
    clean.forward(), clean.backward(), dirty.forward(), dirty.backward();
    for (const Index b : {0, 1})
      for (Index i = 0; i < tokens; ++i) {
        const Index r = b * tokens + i;
        if (i + 1 < tokens) {
          EXPECT_TRUE(same_bits(clean.o.row(r), dirty.o.row(r), 10));
          EXPECT_TRUE(same_bits(clean.lse.row(r), dirty.lse.row(r), 2));
          EXPECT_TRUE(same_bits(clean.dq.row(r), dirty.dq.row(r), 10));
        } else {
          for (Index c = 0; c < 10; ++c) EXPECT_TRUE(std::isnan(dirty.o(r, c)));
        }
      }
  }
}

// A query with NaN spoils its own row, and an infinite score does not pass for a finite one.
TYPED_TEST(AttentionKernel, NanComesThrough) {
  using T = TypeParam;
  const AttentionShape s{1, 4, 70, 1, 3, 1, false};
  Pass<T> clean(s), dirty(s);
  dirty.q(2, 1) = std::numeric_limits<T>::quiet_NaN();
  clean.forward(), dirty.forward();
  for (Index i = 0; i < 4; ++i)
    for (Index c = 0; c < 3; ++c) {
      if (i == 2) {
        EXPECT_TRUE(std::isnan(dirty.o(i, c)));
      } else {
        EXPECT_EQ(bits(dirty.o(i, c)), bits(clean.o(i, c)));
      }
    }
  // NaN in one key, every other score minus infinity: not a row that sees nothing.
  const T infinity = std::numeric_limits<T>::infinity();
  for (const Index where : {0, 1, 63, 64, 69}) {
    Pass<T> p({1, 1, 70, 1, 1, 1, false});
    p.q.fill([](Index, Index) { return 1; });
    p.k.fill([&](Index r, Index) {
      return r == where ? std::numeric_limits<double>::quiet_NaN() : -static_cast<double>(infinity);
    });
    p.forward();
    EXPECT_TRUE(std::isnan(p.o(0, 0))) << where;
  }
}

// A row alone has the bits that it has among others: batch mates, and other queries of the same sequence.
TYPED_TEST(AttentionKernel, BitsDependOnTheSequenceAlone) {
  using T = TypeParam;
  const AttentionShape many{3, 66, 66, 2, 7, 0.4, true};
  Pass<T> all(many, 1, 5);
  all.forward(), all.backward();
  Pass<T> one({1, 66, 66, 2, 7, 0.4, true}, 1, 9);
  for (Index r = 0; r < 66; ++r)
    for (Index c = 0; c < 14; ++c) {
      one.q(r, c) = all.q(66 + r, c), one.k(r, c) = all.k(66 + r, c), one.v(r, c) = all.v(66 + r, c);
      one.d_o(r, c) = all.d_o(66 + r, c);
    }
  one.forward(), one.backward();
  for (Index r = 0; r < 66; ++r)
    EXPECT_TRUE(same_bits(one.o.row(r), all.o.row(66 + r), 14) && same_bits(one.dq.row(r), all.dq.row(66 + r), 14) &&
                same_bits(one.dk.row(r), all.dk.row(66 + r), 14) && same_bits(one.dv.row(r), all.dv.row(66 + r), 14))
        << r;
  // The last query alone.
  Pass<T> last({1, 1, 66, 2, 7, 0.4, true}, 1, 9);
  last.k = one.k, last.v = one.v;
  for (Index c = 0; c < 14; ++c) last.q(0, c) = one.q(65, c);
  last.forward();
  EXPECT_TRUE(same_bits(last.o.row(0), one.o.row(65), 14));
}

}  // namespace
