// SPDX-License-Identifier: MIT
// oneDNN's layer_normalization primitive, statistics kept (forward_training); a residual is its binary addition and
// then its norm. Memory is the benchmark's; primitives are made before the timing.
//
// The library is loaded at run time through its C interface, version 3, because there may be two of them: the newest
// Python package has RMSNorm but hands every primitive to a SYCL queue, which costs microseconds a call; the last
// package built for OpenMP is older, has no RMSNorm, and calls its kernel directly. Both are measured.
#include "problem.hpp"

#include <oneapi/dnnl/dnnl.h>

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace norm_benchmark {
namespace {

/// The functions used here, each under its own name without dnnl_.
#define NORM_BENCHMARK_ONEDNN_FUNCTIONS(X)              \
  X(version)                                            \
  X(engine_create)                                      \
  X(stream_create)                                      \
  X(stream_wait)                                        \
  X(memory_desc_create_with_tag)                        \
  X(memory_desc_destroy)                                \
  X(memory_create)                                      \
  X(memory_destroy)                                     \
  X(binary_primitive_desc_create)                       \
  X(layer_normalization_forward_primitive_desc_create)  \
  X(layer_normalization_backward_primitive_desc_create) \
  X(primitive_desc_destroy)                             \
  X(primitive_create)                                   \
  X(primitive_destroy)                                  \
  X(primitive_execute)

struct Library {
#define X(f) decltype(&::dnnl_##f) f = nullptr;
  NORM_BENCHMARK_ONEDNN_FUNCTIONS(X)
#undef X
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  bool has_rms = false;
};

void must(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) throw std::runtime_error(std::string("oneDNN: ") + what + " failed");
}

/// Loads, and makes an engine. Throws where it cannot be used.
void load(Library& library, const std::filesystem::path& path) {
  // SYCL finds the processor through this driver, which the packages put beside the library.
  if (const auto driver = path.parent_path() / "libintelocl.so"; std::filesystem::exists(driver))
    setenv("OCL_ICD_FILENAMES", driver.c_str(), 0);
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("DPCPP_CPU_NUM_CUS", "1", 1);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
#define X(f)                                                                    \
  library.f = reinterpret_cast<decltype(library.f)>(dlsym(handle, "dnnl_" #f)); \
  if (library.f == nullptr) throw std::runtime_error("no function dnnl_" #f);
  NORM_BENCHMARK_ONEDNN_FUNCTIONS(X)
#undef X
  const dnnl_version_t& version = *library.version();
  if (version.major != 3) throw std::runtime_error("its interface is not version 3");
  library.has_rms = version.minor >= DNNL_VERSION_MINOR;  // the headers are of the newest
  must(library.engine_create(&library.engine, dnnl_cpu, 0), "engine");
  must(library.stream_create(&library.stream, library.engine, dnnl_stream_default_flags), "stream");
}

struct Argument {
  int name;
  std::vector<Index> extent;
  dnnl_data_type_t type;
  void* data;
};

/// Descriptors, memories and primitives of one call, freed with it.
class Program {
 public:
  explicit Program(const Library& library) : library_(library) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    for (const Step& step : steps_) library_.primitive_destroy(step.primitive);
    for (auto* d : primitive_descriptors_) library_.primitive_desc_destroy(d);
    for (auto* m : memories_) library_.memory_destroy(m);
    for (auto* d : descriptors_) library_.memory_desc_destroy(d);
  }

  dnnl_memory_desc_t descriptor(const std::vector<Index>& extent, dnnl_data_type_t type) {
    dnnl_dims_t dims{};
    for (std::size_t i = 0; i < extent.size(); ++i) dims[i] = extent[i];
    dnnl_memory_desc_t d = nullptr;
    must(library_.memory_desc_create_with_tag(&d, static_cast<int>(extent.size()), dims, type,
                                              extent.size() == 2 ? dnnl_ab : dnnl_a),
         "memory descriptor");
    descriptors_.push_back(d);
    return d;
  }
  dnnl_primitive_desc_t own(dnnl_primitive_desc_t d) {
    primitive_descriptors_.push_back(d);
    return d;
  }
  void add(dnnl_primitive_desc_t d, const std::vector<Argument>& arguments) {
    Step step{};
    must(library_.primitive_create(&step.primitive, d), "primitive");
    for (const Argument& a : arguments) {
      dnnl_memory_t m = nullptr;
      must(library_.memory_create(&m, descriptor(a.extent, a.type), library_.engine, a.data), "memory");
      memories_.push_back(m);
      step.arguments.push_back({a.name, m});
    }
    steps_.push_back(std::move(step));
  }
  void run() const {
    for (const Step& step : steps_)
      must(library_.primitive_execute(step.primitive, library_.stream, static_cast<int>(step.arguments.size()),
                                      step.arguments.data()),
           "execution");
    must(library_.stream_wait(library_.stream), "waiting");
  }

 private:
  struct Step {
    dnnl_primitive_t primitive;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  const Library& library_;
  std::vector<dnnl_memory_desc_t> descriptors_;
  std::vector<dnnl_primitive_desc_t> primitive_descriptors_;
  std::vector<dnnl_memory_t> memories_;
  std::vector<Step> steps_;
};

template <class T>
class Builder {
 public:
  Builder(const Library& library, const Operation& operation, const Buffers<T>& b)
      : library_(library),
        operation_(operation),
        b_(b),
        matrix_{b.extent.rows, b.extent.width},
        vector_{b.extent.width},
        column_{b.extent.rows},
        mean_(std::make_shared<std::vector<float>>(b.extent.rows)),
        variance_(std::make_shared<std::vector<float>>(b.extent.rows)),
        program_(std::make_shared<Program>(library)) {}

  Call build() {
    if (operation_.forward()) {
      if (operation_.residual) sum(b_.x, b_.w, b_.s);
      forward(*program_, operation_.residual ? b_.s : b_.x);
    } else {
      Program statistics(library_);
      dnnl_primitive_desc_t hint = forward(statistics, b_.input);
      statistics.run();
      backward(hint);
      if (operation_.residual) sum(b_.dx, b_.ds, b_.dx);
    }
    return [program = program_, mean = mean_, variance = variance_] { program->run(); };
  }

 private:
  static constexpr dnnl_data_type_t kType = std::is_same_v<T, float> ? dnnl_f32 : dnnl_bf16;
  unsigned flags() const {
    return operation_.rms ? static_cast<unsigned>(dnnl_use_scale) | static_cast<unsigned>(dnnl_rms_norm)
                          : static_cast<unsigned>(dnnl_use_scale) | static_cast<unsigned>(dnnl_use_shift);
  }
  template <class U>
  static void* pointer(U* p) {
    return const_cast<std::remove_const_t<U>*>(p);
  }

  void sum(const T* p, const T* q, T* to) {
    dnnl_primitive_desc_t d = nullptr;
    const auto m = program_->descriptor(matrix_, kType);
    must(library_.binary_primitive_desc_create(&d, library_.engine, dnnl_binary_add, m, m, m, nullptr), "addition");
    program_->add(program_->own(d), {{DNNL_ARG_SRC_0, matrix_, kType, pointer(p)},
                                     {DNNL_ARG_SRC_1, matrix_, kType, pointer(q)},
                                     {DNNL_ARG_DST, matrix_, kType, to}});
  }
  std::vector<Argument> with_statistics(std::vector<Argument> arguments) const {
    if (!operation_.rms) arguments.push_back({DNNL_ARG_MEAN, column_, dnnl_f32, mean_->data()});
    arguments.push_back({DNNL_ARG_VARIANCE, column_, dnnl_f32, variance_->data()});
    arguments.push_back({DNNL_ARG_SCALE, vector_, dnnl_f32, pointer(b_.gamma)});
    return arguments;
  }
  dnnl_primitive_desc_t forward(Program& program, const T* x) {
    dnnl_primitive_desc_t d = nullptr;
    const auto m = program.descriptor(matrix_, kType);
    must(library_.layer_normalization_forward_primitive_desc_create(&d, library_.engine, dnnl_forward_training, m, m,
                                                                    program.descriptor(column_, dnnl_f32),
                                                                    static_cast<float>(kEps), flags(), nullptr),
         "layer_normalization forward");
    auto arguments =
        with_statistics({{DNNL_ARG_SRC, matrix_, kType, pointer(x)}, {DNNL_ARG_DST, matrix_, kType, b_.y}});
    if (!operation_.rms) arguments.push_back({DNNL_ARG_SHIFT, vector_, dnnl_f32, pointer(b_.beta)});
    program.add(program.own(d), arguments);
    return d;
  }
  void backward(dnnl_primitive_desc_t hint) {
    dnnl_primitive_desc_t d = nullptr;
    const auto m = program_->descriptor(matrix_, kType);
    must(library_.layer_normalization_backward_primitive_desc_create(&d, library_.engine, dnnl_backward, m, m, m,
                                                                     program_->descriptor(column_, dnnl_f32),
                                                                     static_cast<float>(kEps), flags(), hint, nullptr),
         "layer_normalization backward");
    auto arguments = with_statistics({{DNNL_ARG_SRC, matrix_, kType, pointer(b_.input)},
                                      {DNNL_ARG_DIFF_DST, matrix_, kType, pointer(b_.dy)},
                                      {DNNL_ARG_DIFF_SRC, matrix_, kType, b_.dx},
                                      {DNNL_ARG_DIFF_SCALE, vector_, dnnl_f32, b_.dgamma}});
    if (!operation_.rms) {
      arguments.push_back({DNNL_ARG_SHIFT, vector_, dnnl_f32, pointer(b_.beta)});  // 3.2 refuses to run without it
      arguments.push_back({DNNL_ARG_DIFF_SHIFT, vector_, dnnl_f32, b_.dbeta});
    }
    program_->add(program_->own(d), arguments);
  }

  const Library& library_;
  const Operation operation_;
  const Buffers<T> b_;
  const std::vector<Index> matrix_, vector_, column_;
  std::shared_ptr<std::vector<float>> mean_, variance_;
  std::shared_ptr<Program> program_;
};

// An Implementation holds plain functions, so each library has a template instance of its own.
template <int Which>
Library& library() {
  static Library one;
  return one;
}
template <int Which, class T>
Call call(const Operation& operation, const Buffers<T>& b) {
  return Builder<T>(library<Which>(), operation, b).build();
}
/// RMSNorm's backward is left out: all kernels of 3.13 subtract mean(dy gamma) from it, as for LayerNorm, though the
/// mean of x is no part of RMSNorm and so has no derivative. The check against the equations found it.
template <int Which>
bool has(const Operation& operation) {
  return !operation.rms || (library<Which>().has_rms && operation.forward());
}

template <int Which>
void add(const char* name, const char* path, std::vector<Implementation>& implementations, std::string& header) {
  header += std::string(name) + ": ";
  try {
    Library& l = library<Which>();
    load(l, path);
    const dnnl_version_t& v = *l.version();
    header += "oneDNN " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) +
              (v.cpu_runtime == DNNL_RUNTIME_OMP ? ", OpenMP, OMP_NUM_THREADS=1"
                                                 : ", SYCL queue over TBB, one processor to run on") +
              (l.has_rms ? "; its RMSNorm backward is wrong and left out" : ", without RMSNorm") + "\n";
    implementations.push_back({name, has<Which>, call<Which, float>, nullptr, call<Which, bfloat16>});
  } catch (const std::exception& e) {
    header += std::string("not usable: ") + e.what() + "\n";
  }
}

}  // namespace

void add_onednn(std::vector<Implementation>& implementations, std::string& header) {
#if defined(NORM_BENCHMARK_ONEDNN_NEWEST)
  add<0>("onednn", NORM_BENCHMARK_ONEDNN_NEWEST, implementations, header);
#endif
#if defined(NORM_BENCHMARK_ONEDNN_OPENMP)
  add<1>("onednn_openmp", NORM_BENCHMARK_ONEDNN_OPENMP, implementations, header);
#endif
}

}  // namespace norm_benchmark
