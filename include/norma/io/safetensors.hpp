// SPDX-License-Identifier: MIT
// Weights in files of the safetensors format (https://github.com/huggingface/safetensors):
//
//   auto weights = block.initialize(norma::Rng(1));
//   norma::save("block.safetensors", weights);
//   norma::load("block.safetensors", weights);
//
// Needs nlohmann-json, as nothing outside of norma/io does; norma.hpp does not include this file. A file is checked
// whole before anything is taken from it, and weights before any of them is written.
#pragma once

#include <norma/core/float16.hpp>
#include <norma/core/parameters.hpp>
#include <norma/io/safetensors_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {

/// Calls visit(stored) with a value of the type in which this tensor's elements are stored; false where norma has none.
template <class Visit>
bool with_stored_type(DataType type, Visit&& visit) {
  switch (type) {
    case DataType::f16:
      visit(half());
      return true;
    case DataType::bf16:
      visit(bfloat16());
      return true;
    case DataType::f32:
      visit(float());
      return true;
    case DataType::f64:
      visit(double());
      return true;
    default:
      return false;
  }
}

/// Element i; the data may lie on any byte.
template <class Stored>
Stored stored_value(const FileTensor& tensor, Index i) {
  Stored value;
  std::memcpy(&value, tensor.data.data() + i * static_cast<Index>(sizeof value), sizeof value);
  return value;
}

/// A finite number beyond the largest float; by its bits, which -ffast-math leaves alone.
inline bool beyond_float(double value) {
  const auto magnitude = [](double v) { return bits_as<std::uint64_t>(v) & ~(std::uint64_t{1} << 63); };
  return magnitude(value) > magnitude((std::numeric_limits<float>::max)()) &&
         magnitude(value) < magnitude(std::numeric_limits<double>::infinity());
}

/// Why this tensor's values cannot be had as T; empty where they can.
template <class T>
std::string problem_as(const FileTensor& tensor) {
  bool fits = true;
  const bool known = with_stored_type(tensor.type, [&](auto stored) {
    if constexpr (sizeof stored > sizeof(T))
      for (Index i = 0; i < tensor.size(); ++i) fits = fits && !beyond_float(stored_value<double>(tensor, i));
  });
  if (!known) return "has dtype " + std::string(info(tensor.type).name) + ", wanted F16, BF16, F32 or F64";
  return fits ? "" : "has a value that is too large for float";
}

/// The values of a tensor without such a problem.
template <class T>
void copy_values(const FileTensor& tensor, T* to) {
  with_stored_type(tensor.type, [&](auto stored) {
    for (Index i = 0; i < tensor.size(); ++i) to[i] = static_cast<T>(stored_value<decltype(stored)>(tensor, i));
  });
}

/// A file's shape is the parameter's; a parameter of one row may be stored as a vector, one element as a scalar.
inline bool same_shape(const std::vector<Index>& shape, const Parameter& at) {
  switch (shape.size()) {
    case 0:
      return at.rows == 1 && at.columns == 1;
    case 1:
      return at.rows == 1 && at.columns == shape[0];
    case 2:
      return at.rows == shape[0] && at.columns == shape[1];
    default:
      return false;
  }
}

/// What to say where the file has all parameters, under another prefix than they were looked for.
inline std::string prefix_advice(const Safetensors& file, const std::vector<ParameterInfo>& parameters) {
  std::set<std::string_view> names;
  for (const FileTensor& tensor : file.tensors()) names.insert(tensor.name);
  for (const FileTensor& tensor : file.tensors()) {
    if (parameters.empty() || !tensor.name.ends_with(parameters[0].name)) continue;
    const std::string prefix = tensor.name.substr(0, tensor.name.size() - parameters[0].name.size());
    if (!std::all_of(parameters.begin(), parameters.end(),
                     [&](const auto& p) { return names.contains(prefix + p.name); }))
      continue;
    if (prefix.empty()) return " the file's names have no prefix; give none";
    return " the file's names begin with " + in_quotes(prefix) + "; give that as prefix";
  }
  return "";
}

/// What is wrong with the tensors of a file, a line each; of many, the first twenty.
class ProblemList {
 public:
  void add(const std::string& name, const std::string& problem) {
    if (++count_ <= kShown) lines_ += "\n  tensor " + in_quotes(name) + " " + problem;
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return lines_ + (count_ > kShown ? "\n  and " + std::to_string(count_ - kShown) + " more" : "");
  }

 private:
  static constexpr int kShown = 20;
  int count_ = 0;
  std::string lines_;
};

}  // namespace detail

/// The values of a tensor of F16, BF16 or F32, widened, or F64, rounded if T is float. \throws Error for another type,
/// or a finite value that float does not reach.
template <class T>
std::vector<T> values(const FileTensor& tensor) {
  const std::string problem = detail::problem_as<T>(tensor);
  if (!problem.empty()) fail("tensor " + detail::in_quotes(tensor.name) + " " + problem);
  std::vector<T> result(static_cast<std::size_t>(tensor.size()));
  detail::copy_values(tensor, result.data());
  return result;
}

/// Sets the weights to the tensors of their names. With a prefix, to those of prefix + name; tensors without it are
/// another's. All or nothing. \throws Error with what is wrong: missing tensors, left-over ones, other shapes or types;
/// and for empty weights.
template <class T>
void load(const Safetensors& file, Parameters<T>& weights, std::string_view prefix = "") {
  detail::ProblemList problems;
  bool missing = false;
  std::vector<const FileTensor*> taken;
  for (const ParameterInfo& parameter : weights.layout().entries()) {
    const std::string name = std::string(prefix) + parameter.name;
    const FileTensor* const tensor = file.find(name);
    taken.push_back(tensor);
    missing = missing || tensor == nullptr;
    std::string problem;
    if (tensor == nullptr)
      problem = "is missing";
    else if (!detail::same_shape(tensor->shape, parameter.at))
      problem = "has shape " + detail::excerpt(shape_text(tensor->shape)) + ", wanted " +
                shape_text({parameter.at.rows, parameter.at.columns});
    else
      problem = detail::problem_as<T>(*tensor);
    if (!problem.empty()) problems.add(name, problem);
  }
  for (const FileTensor& tensor : file.tensors())
    if (tensor.name.starts_with(prefix) && std::find(taken.begin(), taken.end(), &tensor) == taken.end())
      problems.add(tensor.name, "belongs to no parameter");
  if (!problems.empty())
    fail(file.source() + " does not fit these weights:" +
         (missing ? detail::prefix_advice(file, weights.layout().entries()) : "") + problems.text());

  auto next = taken.begin();
  weights.for_each_parameter([&](const ParameterInfo&, auto map) { detail::copy_values(**next++, map.data()); });
}
template <class T>
void load(const std::filesystem::path& path, Parameters<T>& weights, std::string_view prefix = "") {
  load(Safetensors::read(path), weights, prefix);
}

/// Weights as tensors of a file, named prefix + name. One row becomes a vector, as in torch. The bytes are the
/// weights'. \throws Error for empty weights.
template <class T>
std::vector<FileTensor> file_tensors(const Parameters<T>& weights, std::string_view prefix = "") {
  std::vector<FileTensor> tensors;
  for (const ParameterInfo& parameter : weights.layout().entries()) {
    const auto& at = parameter.at;
    tensors.push_back(
        {std::string(prefix) + parameter.name, kDataTypeOf<T>,
         at.rows == 1 ? std::vector<Index>{at.columns} : std::vector<Index>{at.rows, at.columns},
         std::as_bytes(std::span(at.data_in(weights.data()), static_cast<std::size_t>(at.rows * at.columns)))});
  }
  return tensors;
}

/// The bytes of a file. They depend on the tensors and the metadata alone, not on their order: wider types come first,
/// so that every tensor is aligned, and then the alphabet. \throws Error for two tensors of one name, a name that is
/// reserved, or data that type and shape do not have.
inline std::vector<std::byte> safetensors_bytes(std::vector<FileTensor> tensors, const Metadata& metadata = {}) {
  std::sort(tensors.begin(), tensors.end(), [](const FileTensor& a, const FileTensor& b) {
    return std::tie(b.type, a.name) < std::tie(a.type, b.name);
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t size = 0;
  for (const FileTensor& tensor : tensors) {
    const std::size_t end = size + tensor.data.size();
    if (header.contains(tensor.name))
      fail("safetensors: the name " + detail::in_quotes(tensor.name) + " stands there twice");
    header[tensor.name] = {{"dtype", info(tensor.type).name}, {"shape", tensor.shape}, {"data_offsets", {size, end}}};
    size = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the data is aligned as it is in the file
  const auto length = static_cast<std::uint64_t>(text.size());

  std::vector<std::byte> bytes;
  bytes.reserve(sizeof length + text.size() + size);
  const auto append = [&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); };
  append(std::as_bytes(std::span(&length, 1)));
  append(std::as_bytes(std::span(text)));
  for (const FileTensor& tensor : tensors) append(tensor.data);

  // What is read back is what was given: shapes fit the data, names are UTF-8.
  const auto written = Safetensors::parse(bytes);
  for (const FileTensor& tensor : tensors)
    if (written.find(tensor.name) == nullptr)
      fail("safetensors: a name is not UTF-8: " + detail::in_quotes(tensor.name));
  if (written.metadata() != metadata) fail("safetensors: the metadata is not UTF-8");
  return bytes;
}

/// Writes a file, whole or not at all: what was there before stays until its successor is complete, which grows in a
/// new file beside it, <path>.partial, .partial1, ... That is so for whoever reads, and where the program ends on the
/// way (the partial file then stays); where the machine does, nothing is promised: no fsync. \throws Error where it
/// cannot be written, and as safetensors_bytes does.
inline void write_safetensors(const std::filesystem::path& path, std::vector<FileTensor> tensors,
                              const Metadata& metadata = {}) {
  const auto bytes = safetensors_bytes(std::move(tensors), metadata);
  std::filesystem::path partial;
  std::FILE* file = nullptr;
  std::error_code error;
  int others = 0;
  do {
    partial = path;
    partial += ".partial" + (others == 0 ? "" : std::to_string(others));
    file = std::fopen(partial.string().c_str(), "wbx");  // x: fails where it exists
    ++others;
  } while (file == nullptr && std::filesystem::exists(std::filesystem::symlink_status(partial, error)));
  if (file == nullptr) fail(path.string() + ": cannot be written");
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (whole && closed) std::filesystem::rename(partial, path, error);
  if (!whole || !closed || error) {
    std::filesystem::remove(partial, error);
    fail(path.string() + ": cannot be written");
  }
}

/// Writes weights, gradients or an optimiser's moments to a file, named prefix + name. \throws Error as file_tensors
/// and write_safetensors do.
template <class T>
void save(const std::filesystem::path& path, const Parameters<T>& weights, std::string_view prefix,
          const Metadata& metadata = {}) {
  write_safetensors(path, file_tensors(weights, prefix), metadata);
}
template <class T>
void save(const std::filesystem::path& path, const Parameters<T>& weights, const Metadata& metadata = {}) {
  save(path, weights, "", metadata);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
