// SPDX-License-Identifier: MIT
// PyTorch's encoder layer, GELU, no dropout, no mask. The C++ library's nn::TransformerEncoderLayer has no norm_first
// and still computes attention in separate products; so this is what Python's layer calls, in ATen functions: in
// training linear, scaled_dot_product_attention, gelu and layer_norm with autograd (`torch`); in inference the same
// without gradients, and the one function of the layer's fast path (`torch_fused`).
#include "numbers.hpp"
#include "problem.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <memory>

namespace block_benchmark {
namespace {

at::Tensor tensor(const std::string& name, const std::vector<std::int64_t>& sizes) {
  at::Tensor t = at::empty(sizes, at::kFloat);
  fill(name, t.data_ptr<float>(), sizes.size() > 1 ? sizes[0] : 1, sizes.back());
  return t;
}

std::vector<float> values(const at::Tensor& t) {
  const at::Tensor c = t.detach().contiguous();
  return {c.data_ptr<float>(), c.data_ptr<float>() + c.numel()};
}

class Layer {
 public:
  Layer(const Extent& e, bool norm_first, bool training)
      : e_(e),
        norm_first_(norm_first),
        in_weight_(fused("weight", {e.width, e.width})),
        in_bias_(fused("bias", {e.width})),
        out_weight_(tensor("attention.output.weight", {e.width, e.width})),
        out_bias_(tensor("attention.output.bias", {e.width})),
        up_weight_(tensor("feed_forward.up.weight", {e.hidden, e.width})),
        up_bias_(tensor("feed_forward.up.bias", {e.hidden})),
        down_weight_(tensor("feed_forward.down.weight", {e.width, e.hidden})),
        down_bias_(tensor("feed_forward.down.bias", {e.width})),
        gamma1_(tensor(norm("attention", "gamma"), {e.width})),
        beta1_(tensor(norm("attention", "beta"), {e.width})),
        gamma2_(tensor(norm("feed_forward", "gamma"), {e.width})),
        beta2_(tensor(norm("feed_forward", "beta"), {e.width})),
        x_(tensor("x", {e.rows(), e.width}).view({e.batch, e.tokens, e.width})),
        dy_(tensor("dy", {e.rows(), e.width}).view({e.batch, e.tokens, e.width})) {
    if (training)
      for (at::Tensor& t : inputs()) t.requires_grad_(true);
  }

  void forward() {
    const c10::InferenceMode no_gradients;
    y_ = block(x_);
  }
  void forward_fused() {
    const c10::InferenceMode no_gradients;
    y_ = at::_transformer_encoder_layer_fwd(x_, e_.width, e_.heads, in_weight_, in_bias_, out_weight_, out_bias_,
                                            /*use_gelu=*/true, norm_first_, kEps, gamma1_, beta1_, gamma2_, beta2_,
                                            up_weight_, up_bias_, down_weight_, down_bias_);
  }
  void forward_backward() {
    y_ = block(x_);
    gradients_ = torch::autograd::grad({y_}, inputs(), {dy_});
  }

  Tensors<float> results() const {
    Tensors<float> all{{"y", values(y_)}};
    if (gradients_.empty()) return all;
    const std::string names[] = {"dx",
                                 "",
                                 "",
                                 "attention.output.weight",
                                 "attention.output.bias",
                                 "feed_forward.up.weight",
                                 "feed_forward.up.bias",
                                 "feed_forward.down.weight",
                                 "feed_forward.down.bias",
                                 norm("attention", "gamma"),
                                 norm("attention", "beta"),
                                 norm("feed_forward", "gamma"),
                                 norm("feed_forward", "beta")};
    for (std::size_t i = 0; i < gradients_.size(); ++i)
      if (!names[i].empty()) all[names[i]] = values(gradients_[i]);
    for (std::size_t part = 0; part < 3; ++part)
      for (std::size_t i = 0; i < 2; ++i)
        all[part_name(part, i == 0 ? "weight" : "bias")] = values(gradients_[1 + i].chunk(3)[part]);
    return all;
  }

 private:
  static std::string part_name(std::size_t part, const std::string& what) {
    return std::string("attention.") + (part == 0 ? "query" : part == 1 ? "key" : "value") + "." + what;
  }
  static at::Tensor fused(const std::string& what, const std::vector<std::int64_t>& sizes) {
    return at::cat(
        {tensor(part_name(0, what), sizes), tensor(part_name(1, what), sizes), tensor(part_name(2, what), sizes)});
  }
  std::string norm(const std::string& site, const std::string& what) const {
    return site + (norm_first_ ? ".pre." : ".out.") + what;
  }
  std::vector<at::Tensor> inputs() const {
    return {x_,           in_weight_, in_bias_, out_weight_, out_bias_, up_weight_, up_bias_,
            down_weight_, down_bias_, gamma1_,  beta1_,      gamma2_,   beta2_};
  }
  at::Tensor attention(const at::Tensor& x) const {
    const std::int64_t d = e_.width / e_.heads;
    const auto parts = at::linear(x, in_weight_, in_bias_)
                           .view({e_.batch, e_.tokens, 3, e_.heads, d})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    const at::Tensor mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
    return at::linear(mixed.transpose(1, 2).reshape({e_.batch, e_.tokens, e_.width}), out_weight_, out_bias_);
  }
  at::Tensor feed_forward(const at::Tensor& x) const {
    return at::linear(at::gelu(at::linear(x, up_weight_, up_bias_)), down_weight_, down_bias_);
  }
  at::Tensor norm1(const at::Tensor& x) const { return at::layer_norm(x, {e_.width}, gamma1_, beta1_, kEps); }
  at::Tensor norm2(const at::Tensor& x) const { return at::layer_norm(x, {e_.width}, gamma2_, beta2_, kEps); }
  at::Tensor block(const at::Tensor& x) const {
    if (norm_first_) {
      const at::Tensor s = x + attention(norm1(x));
      return s + feed_forward(norm2(s));
    }
    const at::Tensor s = norm1(x + attention(x));
    return norm2(s + feed_forward(s));
  }

  Extent e_;
  bool norm_first_;
  at::Tensor in_weight_, in_bias_, out_weight_, out_bias_, up_weight_, up_bias_, down_weight_, down_bias_;
  at::Tensor gamma1_, beta1_, gamma2_, beta2_, x_, dy_, y_;
  std::vector<at::Tensor> gradients_;
};

using Pass = void (Layer::*)();

Job job(const std::string& variant, const Extent& extent, int threads, Pass pass) {
  at::set_num_threads(threads);
  const bool training = pass == &Layer::forward_backward;
  const auto layer = std::make_shared<Layer>(extent, variant == "PreLN", training);
  return {[layer, pass] { ((*layer).*pass)(); }, [=] { return wrong(layer->results(), variant, extent, training); }};
}

}  // namespace

void add_torch(std::vector<Row>& rows, std::string& header) {
  for (const char* variant : {"PreLN", "PostLN"})
    for (const int threads : kThreads) {
      const auto add = [&](const char* operation, const char* name, const Extent& e, double flop, Pass pass) {
        rows.push_back(
            {operation, name, variant, threads, e.name(), flop, [=] { return job(variant, e, threads, pass); }});
      };
      for (const Extent& e : kExtents) {
        add("block_forward", "torch", e, e.forward_flop(), &Layer::forward);
        add("block_forward", "torch_fused", e, e.forward_flop(), &Layer::forward_fused);
        add("block_forward_backward", "torch", e, 3 * e.forward_flop(), &Layer::forward_backward);
      }
    }
  header += "torch: " TORCH_VERSION ", " + at::get_cpu_capability() + ", as many threads as the row says\n";
}

}  // namespace block_benchmark
