// SPDX-License-Identifier: MIT
// Both norms; residual_norm_full_test.cpp has the other types, because each takes the compiler half a minute.
#include "kernel_residual_tests.hpp"

namespace {

using namespace norma_test;

using Types =
    testing::Types<Normed<Storage<float, float>, Center::mean>, Normed<Storage<norma::bfloat16, float>, Center::none>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Quick, ResidualNorm, Types);

/// sum dy y + sum ds s, by the fused forward.
template <Center C>
double loss(Residual<Storage<double, double>, C> p) {
  p.fused();
  double sum = 0;
  p.each([&](Index r, Index i) { sum += p.dy(r, i) * p.y(r, i) + p.ds(r, i) * p.s(r, i); });
  return sum;
}
template <Center C>
void check_differences(const ResidualCase& c) {
  using Problem = Residual<Storage<double, double>, C>;
  Problem start(c);
  for (auto* m : {&start.dgamma, &start.dbeta, &start.dbias, &start.da, &start.dg})
    m->fill([](Index, Index) { return 0.0; });
  Problem p = start;
  p.fused();
  struct Tensor {
    Guarded<double> Problem::*value;
    const Guarded<double>* gradient;
  };
  for (const Tensor& tensor :
       {Tensor{&Problem::x, &p.dx}, Tensor{&Problem::w, &p.dw}, Tensor{&Problem::gamma, &p.dgamma},
        Tensor{&Problem::beta, &p.dbeta}, Tensor{&Problem::bias, &p.dbias}, Tensor{&Problem::a, &p.da},
        Tensor{&Problem::g, &p.dg}}) {
    double worst = 0, size = 0;
    for (Index r = 0; r < tensor.gradient->rows(); ++r)
      for (Index i = 0; i < c.width; ++i) {
        const auto at = [&](double step) {
          Problem moved = start;
          (moved.*tensor.value)(r, i) += step;
          return loss<C>(moved);
        };
        const double h = 1e-3, numeric = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
        worst = std::max(worst, std::fabs(numeric - (*tensor.gradient)(r, i)));
        size = std::max(size, std::fabs(numeric));
      }
    EXPECT_LE(worst, 1e-6 * size) << c;
    EXPECT_GT(size, 0.01) << c;
  }
}
TEST(ResidualNormDifferences, EveryGradient) {
  for (const Factor factor : {Factor::number, Factor::channel})
    for (const bool from_stored : {false, true})
      for (const bool unit_offset : {false, true}) {
        ResidualCase c{3, 9, true, factor, factor, true};
        c.from_stored = from_stored;
        c.unit_offset = unit_offset;
        check_differences<Center::mean>(c);
      }
}

}  // namespace
