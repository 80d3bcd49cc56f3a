// SPDX-License-Identifier: MIT
// Weights in files of the safetensors format (https://github.com/huggingface/safetensors):
//
//   auto weights = block.initialize(norma::Rng(1));
//   norma::save("block.safetensors", weights);
//   norma::load("block.safetensors", weights);
//   norma::load("gpt2/", weights, kNames);  // a checkpoint of somebody else's; a table of names: core/names.hpp
//
// Needs nlohmann-json, as nothing outside of norma/io does; norma.hpp does not include this file. A file is checked
// whole before anything is taken from it, and weights before any of them is written.
#pragma once

#include <norma/core/named_tensors.hpp>
#include <norma/core/parameters.hpp>
#include <norma/io/checkpoint.hpp>
#include <norma/io/safetensors_file.hpp>
#include <norma/io/safetensors_writer.hpp>
#include <norma/io/values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {

/// What is wrong, a line each; of much, the first twenty.
class ProblemList {
 public:
  void add(const std::string& problem) {
    if (++count_ <= kShown) lines_ += "\n  " + problem;
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

/// A tensor by its name, and whom it is for where that has another name.
inline std::string label(const StoredTensor& tensor) {
  std::string text = "tensor " + in_quotes(tensor.name), parameters;
  if (tensor.pieces.size() == 1 && tensor.name.ends_with(tensor.pieces[0].name)) return text;
  for (const Piece& piece : tensor.pieces) parameters.append(parameters.empty() ? "" : ", ").append(piece.name);
  return text + " (" + parameters + ")";
}

/// What to say where the file has all tensors, under another prefix than they were looked for.
inline std::string prefix_advice(const Safetensors& file, const std::vector<StoredTensor>& wanted,
                                 std::string_view looked_for) {
  const auto name_of = [&](const StoredTensor& tensor) {
    return std::string_view(tensor.name).substr(looked_for.size());
  };
  std::unordered_set<std::string_view> names;
  for (const FileTensor& tensor : file.tensors()) names.insert(tensor.name);
  for (const FileTensor& tensor : file.tensors()) {
    if (wanted.empty() || !tensor.name.ends_with(name_of(wanted[0]))) continue;
    std::string prefix = tensor.name;
    prefix.resize(prefix.size() - name_of(wanted[0]).size());
    if (!std::all_of(wanted.begin(), wanted.end(),
                     [&](const auto& t) { return names.contains(prefix + std::string(name_of(t))); }))
      continue;
    if (prefix.empty()) return " the file's names have no prefix; give none";
    return " the file's names begin with " + in_quotes(prefix) + "; give that as prefix";
  }
  return "";
}

/// Calls visit(element of the flat buffer, value) for all that a tensor holds, in the order of its pieces.
template <class T, class Visit>
void for_each_value(const StoredTensor& tensor, const FileTensor& file, Visit&& visit) {
  with_stored_type(file.type, [&](auto stored) {
    tensor.for_each_element(
        [&](Index from, Index to) { visit(to, static_cast<T>(stored_value<decltype(stored)>(file, from))); });
  });
}
template <class T>
std::vector<T> values_of(const StoredTensor& tensor, const FileTensor& file) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(tensor.size()));
  for_each_value<T>(tensor, file, [&](Index, T value) { values.push_back(value); });
  return values;
}

/// Finds the tensors of a file that are wanted for weights of T, and what is wrong with them.
template <class T>
class Loader {
 public:
  Loader(const Safetensors& file, NamedTensors wanted, std::span<const Name> names, std::string_view prefix)
      : file_(file), wanted_(std::move(wanted)), names_(names), prefix_(prefix) {
    for (const FileTensor& tensor : file.tensors()) left_.emplace(tensor.name, &tensor);
  }

  void load(Parameters<T>& weights) {
    for (const std::string& problem : wanted_.problems) problems_.add(problem);
    std::vector<const FileTensor*> found;
    for (StoredTensor& tensor : wanted_.tensors) found.push_back(find(tensor));
    for (const FileTensor& tensor : file_.tensors()) check_left(tensor);
    if (!problems_.empty()) {
      const bool missing = std::find(found.begin(), found.end(), nullptr) != found.end();
      fail(file_.source() + " does not fit these weights:" +
           (missing ? prefix_advice(file_, wanted_.tensors, prefix_) : "") + problems_.text());
    }
    for (std::size_t i = 0; i < found.size(); ++i)
      for_each_value<T>(wanted_.tensors[i], *found[i], [&](Index to, T value) { weights.data()[to] = value; });
  }

 private:
  const FileTensor* take(const std::string& name) {
    const auto at = left_.find(name);
    if (at == left_.end()) return nullptr;
    const FileTensor* const tensor = at->second;
    left_.erase(at);
    return tensor;
  }
  /// The tensor's own, or its first copy, which it then becomes.
  const FileTensor* find(StoredTensor& tensor) {
    const std::vector<std::string> copies = std::exchange(tensor.copies, {});
    const FileTensor* found = take(tensor.name);
    bool good = found != nullptr && fits(tensor, *found);
    for (const std::string& name : copies) {
      const FileTensor* const other = take(name);
      if (other == nullptr) continue;
      const StoredTensor copy{name, Stored::as_is, tensor.pieces};
      const bool copy_good = fits(copy, *other);
      if (found == nullptr) {
        tensor = copy;
        found = other;
        good = copy_good;
      } else if (good && copy_good) {
        check_equal(tensor, *found, copy, *other);
      }
    }
    if (found == nullptr) problems_.add(label(tensor) + " is missing");
    return found;
  }
  bool fits(const StoredTensor& tensor, const FileTensor& file) {
    const std::string problem = tensor.fits(file.shape)
                                    ? problem_as<T>(file)
                                    : "has shape " + excerpt(shape_text(file.shape)) + ", wanted " + tensor.wanted();
    if (!problem.empty()) problems_.add(label(tensor) + " " + problem);
    return problem.empty();
  }
  void check_equal(const StoredTensor& tensor, const FileTensor& file, const StoredTensor& copy,
                   const FileTensor& other) {
    const std::vector<T> a = values_of<T>(tensor, file), b = values_of<T>(copy, other);
    if (std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) != 0)
      problems_.add(label(copy) + " is not equal to " + in_quotes(tensor.name));
  }
  /// Nothing is left over that has the prefix, but what a table passes over.
  void check_left(const FileTensor& tensor) {
    if (!tensor.name.starts_with(prefix_) || !left_.contains(tensor.name)) return;
    const std::string_view name = std::string_view(tensor.name).substr(prefix_.size());
    std::string why;
    for (const Name& line : names_) {
      const auto numbers = match(line.stored, name);
      if (!numbers) continue;
      if (line.norma.empty()) return;
      if (!why.empty()) continue;
      // A count says nothing of the layer.
      const bool counted = line.stored.find('#') != line.stored.npos;
      why = counted ? ": these weights have not as many " + in_quotes(line.norma)
                    : ": these weights have no " + in_quotes(filled(line.norma, *numbers));
    }
    problems_.add("tensor " + in_quotes(tensor.name) + " belongs to no parameter" + why);
  }

  const Safetensors& file_;
  NamedTensors wanted_;
  std::span<const Name> names_;
  std::string_view prefix_;
  std::unordered_map<std::string_view, const FileTensor*> left_;  // what nobody took yet
  ProblemList problems_;
};

}  // namespace detail

/// Sets the weights to the tensors of their names. With a prefix, to those of prefix + name; tensors without it are
/// another's. All or nothing. \throws Error with what is wrong: missing tensors, left-over ones, other shapes or types;
/// and for empty weights.
template <class T>
void load(const Safetensors& file, Parameters<T>& weights, std::string_view prefix = "") {
  detail::Loader<T>(file, named_tensors(weights.layout(), prefix), {}, prefix).load(weights);
}
/// By a table of names (core/names.hpp). \throws Error also for copies that are not equal, and as check_names says.
template <class T>
void load(const Safetensors& file, Parameters<T>& weights, std::span<const Name> names, std::string_view prefix = "") {
  detail::Loader<T>(file, named_tensors(weights.layout(), names, prefix), names, prefix).load(weights);
}
/// From a path, read as read_checkpoint does: a file, an index, a directory.
template <class T>
void load(const std::filesystem::path& path, Parameters<T>& weights, std::string_view prefix = "") {
  load(read_checkpoint(path), weights, prefix);
}
template <class T>
void load(const std::filesystem::path& path, Parameters<T>& weights, std::span<const Name> names,
          std::string_view prefix = "") {
  load(read_checkpoint(path), weights, names, prefix);
}

/// Weights as tensors of a file, named prefix + name. Biases and the like become vectors, as in torch. The bytes are
/// the weights'. \throws Error for empty weights.
template <class T>
std::vector<FileTensor> file_tensors(const Parameters<T>& weights, std::string_view prefix = "") {
  std::vector<FileTensor> tensors;
  for (const StoredTensor& tensor : named_tensors(weights.layout(), prefix).tensors)
    tensors.push_back(
        {tensor.name, kDataTypeOf<T>, tensor.shape(),
         std::as_bytes(std::span(weights.data() + tensor.pieces[0].offset, static_cast<std::size_t>(tensor.size())))});
  return tensors;
}
/// By a table of names, as its system stores them; without copies and what is passed over. The bytes are the tensors'
/// own. \throws Error for empty weights, and as check_names says.
template <class T>
std::vector<FileTensor> file_tensors(const Parameters<T>& weights, std::span<const Name> names,
                                     std::string_view prefix = "") {
  const NamedTensors wanted = named_tensors(weights.layout(), names, prefix);
  detail::ProblemList problems;
  for (const std::string& problem : wanted.problems) problems.add(problem);
  if (!problems.empty()) fail("the table of names does not fit these weights:" + problems.text());
  std::vector<FileTensor> tensors;
  for (const StoredTensor& tensor : wanted.tensors) {
    const auto size = static_cast<std::size_t>(tensor.size()) * sizeof(T);
    const std::shared_ptr<std::byte[]> memory(new std::byte[size]);
    tensor.for_each_element([&](Index to, Index from) {
      std::memcpy(memory.get() + to * static_cast<Index>(sizeof(T)), weights.data() + from, sizeof(T));
    });
    tensors.push_back({tensor.name, kDataTypeOf<T>, tensor.shape(), {memory.get(), size}, memory});
  }
  return tensors;
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
template <class T>
void save(const std::filesystem::path& path, const Parameters<T>& weights, std::span<const Name> names,
          std::string_view prefix = "", const Metadata& metadata = {}) {
  write_safetensors(path, file_tensors(weights, names, prefix), metadata);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
