// SPDX-License-Identifier: MIT
// Images on their way into the stream: a row for every patch (Dosovitskiy et al., arXiv 2010.11929, equation 1).
#pragma once

#include <norma/ends/head.hpp>

#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Images, row-major [batch, channels, height, width]: a row-major Eigen tensor of rank 4, or a pointer and sizes. They
/// are the caller's, and read by forward alone.
template <class T>
struct Images {
  const T* data = nullptr;
  Index batch = 0, channels = 0, height = 0, width = 0;

  Images() = default;
  Images(const T* d, Index b, Index c, Index h, Index w) : data(d), batch(b), channels(c), height(h), width(w) {}
  template <class E>
  requires(detail::TensorLike<const E>) Images(const E& e)  // NOLINT: implicit, as every tensor
      : data(e.data()), batch(e.dimension(0)), channels(e.dimension(1)), height(e.dimension(2)), width(e.dimension(3)) {
    static_assert(static_cast<int>(E::NumDimensions) == 4,
                  "norma: images are a tensor of rank 4 [batch, channels, height, width]");
    static_assert(static_cast<int>(E::Layout) == 1,
                  "norma: tensors are row-major; declare yours as Eigen::Tensor<T, 4, Eigen::RowMajor>");
  }
  Index size() const { return channels * height * width; }
};

/// The ends of a model of images.
///
///   x = [class token; patches W^T + b] + P
struct Patches {
  Index height = 224, width = 224, patch = 16, channels = 3;
  bool class_token = true;
  bool bias = true;
  Head head{};

  constexpr Index count() const { return height / patch * (width / patch); }
  constexpr Index tokens() const { return count() + (class_token ? 1 : 0); }
};

/// Parameters: class_token [1, width]; patches.weight [width, channels x patch x patch], each row a channel after the
/// other, and patches.bias; positions.weight [tokens, width].
template <class T>
class PatchInput {
 public:
  using Scalar = T;
  using Options = Patches;
  using Given = Images<T>;
  static constexpr bool kHasGradient = true;
  struct Tape {
    Images<T> images;
    MatrixView<T> patches, d_patches, x;  // d_patches: where the images' gradient is asked for
    typename Linear<T>::Tape projection;
  };

  PatchInput(const Patches& options, const Dimensions& dims)
      : options_(checked(options)), width_(dims.width), projection_(dims.width, Kind::embedding, options.bias) {}

  Head head() const {
    Head head = options_.head;
    if (!head.reads && options_.class_token) head.reads = Reads::first_token;
    if (head.outputs == Head::kVocabulary) head.outputs = 0;
    return head;
  }
  bool causal() const { return false; }
  const Parameter* tied() const { return nullptr; }
  Index patch_size() const { return options_.channels * options_.patch * options_.patch; }

  void declare(Layout& layout) {
    if (options_.class_token) class_token_ = layout.add("class_token", 1, width_, Kind::embedding);
    {
      Layout::Level level(layout, "patches");
      projection_.declare(layout, patch_size());
      layout.set_patch("weight", {options_.channels, options_.patch, options_.patch});
    }
    Layout::Level level(layout, "positions");
    positions_ = layout.add("weight", options_.tokens(), width_, Kind::position);
  }

  Shape shape(const Images<T>& given) const { return {given.batch, options_.tokens()}; }
  Shape shape(Shape largest) const { return {largest.batch, options_.tokens(), largest.memory_tokens}; }
  /// \throws Error for another shape, or null.
  void validate(const char* name, const Images<T>& given, const Call&) const {
    if (given.channels != options_.channels || given.height != options_.height || given.width != options_.width)
      fail(std::string(name) + " has shape " + shape_text({given.batch, given.channels, given.height, given.width}) +
           ", wanted " + shape_text({given.batch, options_.channels, options_.height, options_.width}));
    if (given.batch < 0)
      fail(std::string(name) + " has shape " + shape_text({given.batch, given.channels, given.height, given.width}) +
           ", wanted a batch of 0 or more");
    if (given.data == nullptr && given.batch > 0) fail(std::string(name) + " has no memory (null)");
  }
  const Call& inside(const Call& call) const { return call; }

  Tape plan(Plan& p, const Pass& pass, const Images<T>& given, MatrixView<T> x) const {
    Tape t{};
    t.x = x;
    t.images = given;
    const Index rows = pass.shape.batch * options_.count();
    t.patches = p.keep<T>(rows, patch_size());
    t.d_patches = p.gradient<T>(rows, patch_size());
    t.projection = p.child(projection_, Pass{.shape = {1, options_.count()}, .call = {}});
    return t;
  }

  void forward(const T* weights, const Tape& t) const {
    for_each_pixel_row(t.images.batch, [&](Index image, Index patch) {
      std::copy_n(t.images.data + image, options_.patch, t.patches.data + patch);
    });
    const MatrixView<const T> positions = positions_.in(weights);
    for (Index b = 0; b < t.images.batch; ++b) {
      const MatrixView<T> x = t.x.middle_rows(b * options_.tokens(), options_.tokens());
      if (options_.class_token) std::copy_n(class_token_.in(weights).data, width_, x.row(0));
      projection_.forward(weights, patches_of(t.patches, b), x.middle_rows(first(), options_.count()), t.projection);
      kernels::add<T>(x, positions, x);
    }
  }
  /// d_images: assigned, or null.
  void backward(const T* weights, MatrixView<T> dx, T* gradients, const Tape& t, T* d_images = nullptr) const {
    for (Index b = 0; b < t.images.batch; ++b) {
      const MatrixView<T> d = dx.middle_rows(b * options_.tokens(), options_.tokens());
      const MatrixView<T> d_positions = positions_.in(gradients);
      kernels::add<T>(d, d_positions, d_positions);
      if (options_.class_token) {
        const MatrixView<T> d_class = class_token_.in(gradients);
        kernels::add<T>(d.middle_rows(0, 1), d_class, d_class);
      }
      projection_.backward(weights, patches_of(t.patches, b), d.middle_rows(first(), options_.count()),
                           d_images != nullptr ? patches_of(t.d_patches, b) : MatrixView<T>{}, Write::assign, gradients,
                           t.projection);
    }
    if (d_images == nullptr) return;
    for_each_pixel_row(t.images.batch, [&](Index image, Index patch) {
      std::copy_n(t.d_patches.data + patch, options_.patch, d_images + image);
    });
  }

 private:
  static Patches checked(const Patches& o) {
    if (o.patch < 1 || o.channels < 1 || o.height < 1 || o.width < 1)
      fail("patches: height, width, patch and channels are " + shape_text({o.height, o.width, o.patch, o.channels}) +
           ", wanted at least 1 each");
    if (o.height % o.patch != 0 || o.width % o.patch != 0)
      fail("patches: a patch of " + std::to_string(o.patch) + " does not divide height " + std::to_string(o.height) +
           " and width " + std::to_string(o.width));
    return o;
  }
  Index first() const { return options_.class_token ? 1 : 0; }
  template <class U>
  MatrixView<U> patches_of(MatrixView<U> m, Index b) const {
    return m.middle_rows(b * options_.count(), options_.count());
  }
  /// f(offset in the images, offset in the patches) of every row of pixels that lies in one patch.
  template <class F>
  void for_each_pixel_row(Index batch, const F& f) const {
    const Index size = options_.patch, pixels = options_.height * options_.width;
    Index patch = 0;
    for (Index b = 0; b < batch; ++b)
      for (Index y = 0; y < options_.height; y += size)
        for (Index x = 0; x < options_.width; x += size)
          for (Index c = 0; c < options_.channels; ++c)
            for (Index r = 0; r < size; ++r, patch += size)
              f((b * options_.channels + c) * pixels + (y + r) * options_.width + x, patch);
  }

  Patches options_;
  Index width_;
  Linear<T> projection_;
  Parameter class_token_{}, positions_{};
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
