// SPDX-License-Identifier: MIT
// PyTorch's C++ library on the benchmark's memory, gradients off.
//
// LayerNorm: its CPU kernels, called through their dispatch stubs with outputs allocated beforehand. What a user calls,
// at::native_layer_norm, allocates its outputs every time, and its _out form computes into temporaries and copies them;
// both are slower than what is measured here.
//
// RMSNorm: the CPU has no kernel. at::_fused_rms_norm composes it of elementwise operations and allocates every
// intermediate and both results; its gradient is autograd's of that composition, allocated likewise. Results are copied
// to the benchmark's buffers only for the check.
#include "problem.hpp"

// The published library has these variants of its kernels, and its dispatch functions take them all.
#if defined(__x86_64__)
#define HAVE_AVX2_CPU_DEFINITION
#define HAVE_AVX512_CPU_DEFINITION
#endif
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/native/layer_norm.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <memory>
#include <string>
#include <vector>

namespace norm_benchmark {
namespace {

template <class T>
constexpr at::ScalarType kScalar = std::is_same_v<T, float>    ? at::kFloat
                                   : std::is_same_v<T, double> ? at::kDouble
                                                               : at::kBFloat16;

template <class T>
at::Tensor tensor(const T* p, std::vector<std::int64_t> sizes) {
  return at::from_blob(const_cast<T*>(p), sizes, at::TensorOptions().dtype(kScalar<T>));
}

template <class T>
struct Tensors {
  explicit Tensors(const Buffers<T>& b)
      : rows(b.extent.rows),
        width(b.extent.width),
        x(tensor(b.x, {rows, width})),
        w(tensor(b.w, {rows, width})),
        input(tensor(b.input, {rows, width})),
        dy(tensor(b.dy, {rows, width})),
        ds(tensor(b.ds, {rows, width})),
        gamma(tensor(b.gamma, {width})),
        beta(tensor(b.beta, {width})),
        y(tensor(b.y, {rows, width})),
        s(tensor(b.s, {rows, width})),
        dx(tensor(b.dx, {rows, width})),
        dgamma(tensor(b.dgamma, {width})),
        dbeta(tensor(b.dbeta, {width})),
        mean(at::empty({rows}, gamma.options())),
        rstd(at::empty({rows}, gamma.options())) {}
  std::int64_t rows, width;
  at::Tensor x, w, input, dy, ds, gamma, beta, y, s, dx, dgamma, dbeta, mean, rstd;
};

template <class T>
void layer_norm(Tensors<T>& t, const at::Tensor& x) {
  at::native::LayerNormKernel(at::kCPU, x, t.gamma, t.beta, t.rows, t.width, kEps, &t.y, &t.mean, &t.rstd);
}

template <class T>
Call layer_norm_call(const Operation& operation, const Buffers<T>& b) {
  const auto t = std::make_shared<Tensors<T>>(b);
  if (operation.forward())
    return [t, residual = operation.residual] {
      const at::NoGradGuard no_gradients;
      if (residual) at::add_out(t->s, t->x, t->w);
      layer_norm(*t, residual ? t->s : t->x);
    };
  const at::NoGradGuard no_gradients;
  layer_norm(*t, t->input);
  return [t, residual = operation.residual] {
    const at::NoGradGuard nothing_recorded;
    at::native::LayerNormBackwardKernel(at::kCPU, t->dy, t->input, t->mean, t->rstd, t->gamma, t->rows, t->width,
                                        &t->dx, &t->dgamma, &t->dbeta);
    if (residual) t->dx.add_(t->ds);
  };
}

/// The first call is the one that is checked: it copies. Later calls leave their results where torch allocated them.
template <class T>
Call rms_norm_call(const Operation& operation, const Buffers<T>& b) {
  const auto t = std::make_shared<Tensors<T>>(b);
  const auto first = std::make_shared<bool>(true);
  if (operation.forward())
    return [t, first, residual = operation.residual] {
      const at::NoGradGuard no_gradients;
      if (residual) at::add_out(t->s, t->x, t->w);
      const auto [y, rstd] = at::_fused_rms_norm(residual ? t->s : t->x, {t->width}, t->gamma, kEps);
      if (*first) t->y.copy_(y);
      *first = false;
    };
  const at::Tensor x = t->input.detach().requires_grad_(true), gamma = t->gamma.detach().requires_grad_(true);
  const at::Tensor y = std::get<0>(at::_fused_rms_norm(x, {t->width}, gamma, kEps));
  return [t, first, x, gamma, y, residual = operation.residual] {
    auto d = torch::autograd::grad({y}, {x, gamma}, {t->dy}, /*retain_graph=*/true);
    if (residual) d[0].add_(t->ds);
    if (*first) {
      t->dx.copy_(d[0]);
      t->dgamma.copy_(d[1]);
    }
    *first = false;
  };
}

template <class T>
Call call(const Operation& operation, const Buffers<T>& b) {
  return operation.rms ? rms_norm_call<T>(operation, b) : layer_norm_call<T>(operation, b);
}

}  // namespace

void add_torch(std::vector<Implementation>& implementations, std::string& header) {
  at::set_num_threads(1);
  implementations.push_back({"torch", [](const Operation&) { return true; }, call<float>, call<double>, call<bfloat16>,
                             /*bf16_sums_in_bf16=*/true});
  header += "torch: " TORCH_VERSION ", " + at::get_cpu_capability() + ", " + std::to_string(at::get_num_threads()) +
            " thread; bf16 gradients of gamma and beta are summed in bf16, too inexact to be checked\n";
}

}  // namespace norm_benchmark
