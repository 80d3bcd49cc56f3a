// SPDX-License-Identifier: MIT
// With -ffast-math: the cases on NaN, infinity, constant rows and masks, by their numbers.
#include <kernel_attention.hpp>
#include <norma/kernels/activation.hpp>
#include <norma/kernels/attention.hpp>
#include <norma/kernels/norm.hpp>
#include <norma/kernels/softmax.hpp>
#include <plain_check.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#if !defined(__FAST_MATH__)
#error "this unit is compiled with -ffast-math"
#endif

void test_norms();
void test_blocks();

namespace {

using norma::Index;
using norma::kernels::Center;
using Floats = std::vector<float>;

// This unit's own tests of NaN are on bits too. The values come through a volatile, or the compiler would fold them.
volatile std::uint32_t nan_bits = 0x7FC00000u, infinity_bits = 0x7F800000u, minus_infinity_bits = 0xFF800000u;
float from(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
bool is_nan(float x) { return (bits(x) & 0x7FFFFFFFu) > 0x7F800000u; }
bool is_finite(float x) { return (bits(x) & 0x7F800000u) != 0x7F800000u; }
bool near(float x, double right, double tolerance) {
  const double difference = static_cast<double>(x) - right;
  return is_finite(x) && difference <= tolerance && difference >= -tolerance;
}
bool near(const float* x, const std::vector<double>& right, double tolerance) {
  for (std::size_t i = 0; i < right.size(); ++i)
    if (!near(x[i], right[i], tolerance)) {
      std::printf("element %zu is %.9g, wanted %.9g\n", i, static_cast<double>(x[i]), right[i]);
      return false;
    }
  return true;
}
bool same_bits(const float* a, const float* b, int n) {
  for (int i = 0; i < n; ++i)
    if (bits(a[i]) != bits(b[i])) return false;
  return true;
}

template <Center C>
struct Norm {
  Index width;
  Floats x, gamma{}, beta{};
  double eps = C == Center::mean ? 1e-5 : 1e-6;
  Floats y{}, dx{}, dgamma{}, dbeta{}, hi{}, lo{}, rstd{};

  Norm& forward() {
    const auto rows = x.size() / static_cast<std::size_t>(width);
    y.assign(x.size(), 99), hi.assign(rows, 99), lo.assign(rows, 99), rstd.assign(rows, 99);
    norma::kernels::norm_forward<C, float>({x.data(), static_cast<Index>(rows), width}, data(gamma), data(beta), eps,
                                           {y.data(), static_cast<Index>(rows), width},
                                           {hi.data(), lo.data(), rstd.data()});
    return *this;
  }
  Norm& backward(const Floats& dy) {
    const auto n = static_cast<std::size_t>(width);
    const Index rows = static_cast<Index>(x.size() / n);
    dx.assign(x.size(), 99), dgamma.assign(n, 0), dbeta.assign(n, 0);
    Floats partial(2 * n);
    std::vector<double> total(2 * n);
    norma::kernels::norm_backward<C, float>({x.data(), rows, width}, {dy.data(), rows, width}, data(gamma), eps,
                                            {hi.data(), lo.data(), rstd.data()}, {dx.data(), rows, width},
                                            norma::Write::assign, dgamma.data(), dbeta.data(),
                                            {partial.data(), total.data(), 2 * width});
    return *this;
  }

 private:
  static float* data(Floats& v) { return v.empty() ? nullptr : v.data(); }
};
using LayerNorm = Norm<Center::mean>;
using RMSNorm = Norm<Center::none>;

void a_accumulation() {
  LayerNorm a01{16, Floats(16)};
  for (int i = 0; i < 16; ++i) a01.x[static_cast<std::size_t>(i)] = static_cast<float>(10000 + 0.001 * i);
  a01.forward();
  for (int i = 0; i < 16; ++i) CHECK(near(a01.y[static_cast<std::size_t>(i)], -1.331333 + 0.177511 * i, 2e-3));

  // A03, A05: beta to the bit; also where the row is redone in double (1e30), and one channel wide.
  struct Constant {
    float value;
    Index width;
  };
  for (const auto& c : {Constant{1234.0f, 256},
                        {1000.1f, 256},
                        {4097.3f, 1024},
                        {0.1f, 7},
                        {1e30f, 257},
                        {3e38f, 64},
                        {-7.7f, 1},
                        {1e30f, 1}}) {
    LayerNorm a{c.width, Floats(static_cast<std::size_t>(3 * c.width), c.value)};
    a.gamma.assign(static_cast<std::size_t>(c.width), 1.7f), a.beta.assign(static_cast<std::size_t>(c.width), 0.3f);
    a.forward();
    for (const float y : a.y)
      if (!CHECK(bits(y) == bits(0.3f))) break;
  }
}

void b_range() {
  RMSNorm a{8, Floats(8, 1e20f)};
  a.forward().backward({1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(near(a.y.data(), std::vector<double>(8, 1.0), 1e-4));
  LayerNorm b{64, Floats(64)};
  Floats dy(64);
  for (std::size_t i = 0; i < 64; ++i) b.x[i] = i % 2 == 0 ? 1e19f : 2e19f, dy[i] = static_cast<float>(i % 5);
  b.forward().backward(dy);
  for (std::size_t i = 0; i < 64; ++i) CHECK(near(b.y[i], i % 2 == 0 ? -1 : 1, 1e-4));
  for (const auto& d : {a.dx, b.dx, a.dgamma, b.dgamma})
    for (const float v : d) CHECK(is_finite(v));
}

void c_constant_row_backward() {
  LayerNorm a{4, {5, 5, 5, 5}};
  a.forward().backward({1, 2, 3, 4});
  CHECK(near(a.dx.data(), {-474.341649, -158.113883, 158.113883, 474.341649}, 1e-4));
  CHECK(near(a.dgamma.data(), {0, 0, 0, 0}, 0));
  CHECK(near(a.dbeta.data(), {1, 2, 3, 4}, 0));
}

void d_bad_row() {
  for (const float bad : {from(nan_bits), from(infinity_bits), from(minus_infinity_bits)}) {
    LayerNorm clean{4, {1, 2, 3, 4, 1, 1, 3, 4, 2, 4, 6, 8}}, dirty = clean;
    dirty.x[5] = bad;
    const Floats dy{1, 2, 3, 4, 4, 3, 2, 1, 1, 3, 2, 4};
    clean.forward().backward(dy), dirty.forward().backward(dy);
    CHECK(near(dirty.y.data(), {-1.3416354, -0.4472118, 0.4472118, 1.3416354}, 1e-6));
    CHECK(near(dirty.y.data() + 8, {-1.3416394, -0.4472131, 0.4472131, 1.3416394}, 1e-6));
    for (const int row : {0, 8}) {
      CHECK(same_bits(clean.y.data() + row, dirty.y.data() + row, 4));
      CHECK(same_bits(clean.dx.data() + row, dirty.dx.data() + row, 4));
    }
    for (std::size_t i = 4; i < 8; ++i) CHECK(is_nan(dirty.y[i]) && is_nan(dirty.dx[i]));

    RMSNorm rms_clean{4, clean.x}, rms{4, dirty.x};
    rms_clean.forward().backward(dy), rms.forward().backward(dy);
    for (const int row : {0, 8}) {
      CHECK(same_bits(rms_clean.y.data() + row, rms.y.data() + row, 4));
      CHECK(same_bits(rms_clean.dx.data() + row, rms.dx.data() + row, 4));
    }
    CHECK(is_nan(rms.y[5]) && is_nan(rms.dx[5]));
    for (const std::size_t i : {4u, 6u, 7u}) CHECK(is_nan(rms.y[i]) || rms.y[i] == 0);

    Floats s = dirty.x;
    for (int row : {0, 4, 8}) norma::kernels::softmax(s.data() + row, 4);
    CHECK(near(s.data(), {0.0320586, 0.0871443, 0.2368828, 0.6439142}, 1e-6));
    if (bits(bad) == minus_infinity_bits) {  // a mask to a softmax
      CHECK(s[5] == 0 && near(s.data() + 6, {0.2594965, 0.7053845}, 1e-6));
    } else {
      CHECK(is_nan(s[5]));
    }
  }
  Floats masked(5, from(minus_infinity_bits));
  norma::kernels::softmax(masked.data(), 5);
  for (const float p : masked) CHECK(bits(p) == 0);

  // Activations let NaN through.
  namespace activation = norma::activation;
  const float nan = from(nan_bits);
  CHECK(is_nan(activation::value<activation::GELU>(nan)) && is_nan(activation::derivative<activation::GELU>(nan)));
  CHECK(is_nan(activation::value<activation::SiLU>(nan)) && is_nan(activation::derivative<activation::SiLU>(nan)));
  CHECK(is_nan(activation::value<activation::ReLU>(nan)) && is_nan(activation::derivative<activation::ReLU>(nan)));
  CHECK(is_nan(activation::value<activation::Tanh>(nan)) && is_nan(activation::derivative<activation::Tanh>(nan)));
}

struct Attention {
  norma::kernels::AttentionProblem<float> problem;
  Floats q, k, v;
  Floats o{}, lse{}, dq{}, dk{}, dv{};

  Attention& run(const Floats& d_o) {
    const Index dim = problem.head_dim, queries = problem.queries, keys = problem.keys;
    o.assign(q.size(), 99), lse.assign(static_cast<std::size_t>(queries), 99);
    dq.assign(q.size(), 99), dk.assign(k.size(), 99), dv.assign(v.size(), 99);
    norma::kernels::attention_forward<float>(norma_test::with_packing(problem), {q.data(), queries, dim},
                                             {k.data(), keys, dim}, {v.data(), keys, dim}, {o.data(), queries, dim},
                                             {lse.data(), queries, 1});
    norma::kernels::attention_backward<float>(
        norma_test::with_packing(problem), {q.data(), queries, dim}, {k.data(), keys, dim}, {v.data(), keys, dim},
        {o.data(), queries, dim}, {lse.data(), queries, 1}, {d_o.data(), queries, dim}, {dq.data(), queries, dim},
        {dk.data(), keys, dim}, {dv.data(), keys, dim});
    return *this;
  }
};

void g_masks() {
  // G01: row 0 free, row 1 fully masked; by booleans, and by a bias of minus infinity.
  const bool keep[] = {true, true, false, false};
  const float bias[] = {0, 0, from(minus_infinity_bits), from(minus_infinity_bits)};
  for (const bool boolean : {true, false}) {
    Attention g01{{1, 2, 2, 1, 1, 2, 1 / std::sqrt(2.0)}, {1, 0, 0, 1}, {1, 1, 0, 2}, {2, 0, 4, 6}};
    if (boolean)
      g01.problem.keep = {keep, 1, 1, 2, 2};
    else
      g01.problem.bias = {bias, 1, 1, 2, 2};
    g01.run({1, 2, 3, 4});
    CHECK(near(g01.o.data(), {2.660477, 1.981431, 0, 0}, 1e-5));
    CHECK(bits(g01.o[2]) == 0 && bits(g01.o[3]) == 0);
    CHECK(bits(g01.dq[2]) == 0 && bits(g01.dq[3]) == 0);
    // What row 0 alone gives: p = (0.6697615, 0.3302385), ds = p (dp - sum p dp) / sqrt(2), dp = (2, 16).
    const double p = 0.6697615493266569, ds = p * (1 - p) * (2 - 16) / std::sqrt(2.0);
    CHECK(near(g01.dq.data(), {ds, ds * (1 - 2), 0, 0}, 1e-5));
    CHECK(near(g01.dk.data(), {ds, 0, -ds, 0}, 1e-5));
    CHECK(near(g01.dv.data(), {p, 2 * p, 1 - p, 2 * (1 - p)}, 1e-5));
  }
  // Garbage in masked keys and values (D03).
  const bool first[] = {true, false};
  Attention d03{{1, 1, 2, 1, 1, 2, 1.0},
                {1, 0},
                {1, 1, from(nan_bits), from(nan_bits)},
                {2, 3, from(nan_bits), from(infinity_bits)}};
  d03.problem.keep = {first, 1, 1, 1, 2};
  d03.run({1, 1});
  CHECK(near(d03.o.data(), {2, 3}, 0));
  CHECK(near(d03.dq.data(), {0, 0}, 0) && near(d03.dv.data(), {1, 1, 0, 0}, 0) && near(d03.dk.data() + 2, {0, 0}, 0));
  // NaN in a key that is seen comes out, and only in the row that sees it.
  Attention seen{{1, 2, 2, 1, 1, 1, 1.0, true}, {1, 1}, {1, from(nan_bits)}, {2, 3}};
  seen.run({1, 1});
  CHECK(near(seen.o[0], 2, 0) && is_nan(seen.o[1]));

  // G05: causal and padding together; key 0 is padding.
  const bool padding[] = {false, true, true, false, true, true, false, true, true};
  Attention g05{{1, 3, 3, 1, 1, 1, 1.0, true}, {0, 0, 0}, {1, 2, 3}, {1, 2, 4}};
  g05.problem.keep = {padding, 1, 1, 3, 3};
  g05.run({1, 1, 1});
  CHECK(near(g05.o.data(), {0, 2, 3}, 1e-6) && bits(g05.o[0]) == 0);
  CHECK(near(g05.dv.data(), {0, 1.5, 0.5}, 1e-6) && bits(g05.dv[0]) == 0);
  // Row 2: p = (1/2, 1/2) on keys 2 and 3, dp = (2, 4), ds = (-1/2, 1/2).
  CHECK(near(g05.dq.data(), {0, 0, 0.5}, 1e-6) && bits(g05.dq[0]) == 0);
  CHECK(near(g05.dk.data(), {0, 0, 0}, 1e-6));
}

}  // namespace

int main() {
  a_accumulation();
  b_range();
  c_constant_row_backward();
  d_bad_row();
  g_masks();
  test_norms();
#if !defined(KERNELS_ONLY)
  test_blocks();
#endif
  return plain::report("fast_math");
}
