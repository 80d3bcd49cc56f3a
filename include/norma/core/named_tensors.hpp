// SPDX-License-Identifier: MIT
// What a table of names (names.hpp) makes of a network: the tensors of a file, and which of their elements are which of
// the weights'.
#pragma once

#include <norma/core/names.hpp>
#include <norma/core/parameters.hpp>
#include <norma/core/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// What one tensor holds of one parameter: all of it, or a part.
struct Piece {
  std::string_view name;  ///< the layout's
  Index offset = 0;       ///< of the parameter
  RowGroups rows;         ///< of a vector, its elements
  Index columns = 1;
  bool vector = false;
  Patch patch{};  ///< of a weight of patches

  /// Where an element lies in the flat buffer.
  Index at(Index row, Index column) const { return offset + rows.row(row) * columns + column; }
};

/// A tensor of a file, and what of a network's weights it holds: rows of the same width, or parts of a vector.
struct StoredTensor {
  std::string name;
  Stored how = Stored::as_is;
  std::vector<Piece> pieces;
  std::vector<std::string> copies{};  ///< other names under which the file may hold the same, as it is

  Index rows() const {
    Index sum = 0;
    for (const Piece& piece : pieces) sum += piece.rows.outputs;
    return sum;
  }
  Index columns() const { return pieces.front().columns; }
  bool vector() const { return pieces.front().vector; }
  Index size() const { return rows() * columns(); }
  /// The shape in the file.
  std::vector<Index> shape() const;
  /// Whether a tensor of this shape, whose size is an Index, can be this one. Of as_is, one row may be a vector, and
  /// one element a scalar.
  bool fits(const std::vector<Index>& shape) const;
  /// For messages: the shapes that fit.
  std::string wanted() const;
  /// Calls visit(element of the tensor, element of the flat buffer) for all of them.
  template <class Visit>
  void for_each_element(Visit&& visit) const {
    const Index all_rows = rows(), across = how == Stored::transposed ? all_rows : 1;
    const Index down = how == Stored::transposed ? 1 : columns();
    const Index step = how == Stored::interleaved ? static_cast<Index>(pieces.size()) : 1;
    Index first = 0;
    for (const Piece& piece : pieces) {
      for (Index r = 0; r < piece.rows.outputs; ++r)
        for (Index c = 0; c < piece.columns; ++c) visit((first + r * step) * down + c * across, piece.at(r, c));
      first += how == Stored::interleaved ? 1 : piece.rows.outputs;
    }
  }

 private:
  static std::vector<Index> without_leading_ones(std::vector<Index> shape) {
    shape.erase(shape.begin(), std::find_if(shape.begin(), shape.end(), [](Index size) { return size != 1; }));
    return shape;
  }
};

inline std::vector<Index> StoredTensor::shape() const {
  const std::vector<Index> matrix = vector() ? std::vector<Index>{rows()} : std::vector<Index>{rows(), columns()};
  if (how == Stored::batch_of_one)
    return vector() ? std::vector<Index>{1, 1, rows()} : std::vector<Index>{1, rows(), columns()};
  if (how == Stored::transposed && !vector()) return {columns(), rows()};
  const Patch& patch = pieces.front().patch;
  if (how == Stored::patches) return {rows(), patch.channels, patch.height, patch.width};
  return matrix;
}
inline bool StoredTensor::fits(const std::vector<Index>& other) const {
  if (how == Stored::patches || how == Stored::batch_of_one || (how == Stored::transposed && !vector()))
    return other == shape();
  return other.size() <= 2 && without_leading_ones(other) == without_leading_ones(shape());
}
inline std::string StoredTensor::wanted() const {
  return shape_text(shape()) + (how == Stored::transposed && !vector() ? ", transposed" : "");
}

namespace detail {

inline Piece whole(const ParameterInfo& parameter) {
  // One row of a matrix is still a matrix; any other parameter of one row is a vector.
  const auto& at = parameter.at;
  if (at.rows > 1 || contains(kMatrices | Kind::head, parameter.kind))
    return {parameter.name, at.offset, RowGroups::all(at.rows), at.columns, false, parameter.patch};
  return {parameter.name, at.offset, RowGroups::all(at.columns), 1, true};
}
inline Piece part_of(const ParameterInfo& parameter, const Part& part) {
  Piece piece = whole(parameter);
  piece.name = part.name;
  piece.rows = part.rows;
  return piece;
}

}  // namespace detail

/// The tensors of a network's files by a table, in the order of the layout, and what is wrong with the table.
struct NamedTensors {
  std::vector<StoredTensor> tensors;
  std::vector<std::string> problems;
};

namespace detail {

/// Goes through a layout once and finds each of its pieces in a table.
class NameReader {
 public:
  NameReader(std::span<const Name> names, std::string_view prefix)
      : names_(names), prefix_(prefix), counts_(names.size()) {
    for (const Name& name : names) {
      const auto rest = name.stored.find("**");
      if (name.stored.empty())
        problem("a line for \"" + std::string(name.norma) + "\" names no tensor");
      else if (name.norma.find("**") != name.norma.npos ||
               (rest != name.stored.npos && (!name.norma.empty() || rest + 2 != name.stored.size())))
        problem("\"" + std::string(name.stored) + "\": ** stands at the end of what is passed over alone");
      else if (!name.norma.empty() && stars(name.norma) != stars(name.stored))
        problem("\"" + std::string(name.norma) + "\" has not as many stars as \"" + std::string(name.stored) + "\"");
    }
  }

  NamedTensors read(const Layout& layout) {
    for (const ParameterInfo& parameter : layout.entries()) {
      const Lines lines = lines_of(parameter.name);
      // Its own line; else one for each of its parts.
      if (lines.first != nullptr || parameter.parts.empty()) {
        add(whole(parameter), lines);
        if (lines.first != nullptr && !same_order(parameter, lines.first->how)) problem_of_order(parameter.name);
      }
      for (const Part& part : parameter.parts) {
        const Lines of_part = lines_of(part.name);
        if (lines.first == nullptr) add(part_of(parameter, part), of_part);
        if (of_part.first == nullptr) continue;
        if (of_part.first->how == Stored::per_head) problem_of_order(part.name);
        if (lines.first != nullptr)
          problem("parameter \"" + part.name + "\" has a line, and so has \"" + parameter.name +
                  "\", which it is part of");
      }
    }
    for (StoredTensor& tensor : result_.tensors) finish(tensor);
    return std::move(result_);
  }

 private:
  /// What a table says of one piece.
  struct Lines {
    const Name* first = nullptr;
    std::string stored;
    std::vector<std::string> copies;
  };

  static std::ptrdiff_t stars(std::string_view pattern) {
    return std::count_if(pattern.begin(), pattern.end(), [](char c) { return c == '*' || c == '#'; });
  }
  void problem(std::string text) { result_.problems.push_back(std::move(text)); }

  Lines lines_of(std::string_view piece) {
    Lines lines;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Name& name = names_[i];
      if (name.norma.empty()) continue;
      const auto numbers = match(name.norma, piece);
      if (!numbers) continue;
      std::string stored = std::string(prefix_) + filled(name.stored, *numbers, counts_[i]++);
      if (name.how == Stored::copy) {
        lines.copies.push_back(std::move(stored));
      } else if (lines.first == nullptr) {
        lines.first = &name;
        lines.stored = std::move(stored);
      } else {
        problem("parameter \"" + std::string(piece) + "\" has two lines, \"" + lines.stored + "\" and \"" + stored +
                "\"");
      }
    }
    return lines;
  }
  void add(const Piece& piece, const Lines& lines) {
    if (lines.first == nullptr)
      return problem("parameter \"" + std::string(piece.name) + "\" has no line" +
                     (lines.copies.empty() ? "" : " but a copy's"));
    const auto [at, is_new] = places_.emplace(lines.stored, result_.tensors.size());
    if (is_new) {
      result_.tensors.push_back({lines.stored, lines.first->how, {}});
      order_.emplace_back();
    }
    // The pieces of a tensor lie in it in the order of their lines.
    StoredTensor& tensor = result_.tensors[at->second];
    auto& order = order_[at->second];
    const auto after = std::upper_bound(order.begin(), order.end(), lines.first) - order.begin();
    tensor.pieces.insert(tensor.pieces.begin() + after, piece);
    order.insert(order.begin() + after, lines.first);
    tensor.copies.insert(tensor.copies.end(), lines.copies.begin(), lines.copies.end());
    if (lines.first->how != tensor.how) problem("tensor \"" + tensor.name + "\" is stored in two ways");
  }
  /// Whether a line for a parameter as a whole, which is about one order of its rows, is about the network's.
  static bool same_order(const ParameterInfo& parameter, Stored how) {
    if (parameter.parts.empty()) return how != Stored::per_head;
    const RowGroups& rows = parameter.parts.front().rows;
    if (how == Stored::per_head) return rows.count() * rows.stride == whole(parameter).rows.outputs;
    return how != Stored::interleaved && rows.count() == 1;
  }
  void problem_of_order(const std::string& parameter) {
    problem("parameter \"" + parameter +
            "\" has not the order of rows that its line says: see Dimensions::projections");
  }
  void finish(StoredTensor& tensor) {
    const auto quoted = "tensor \"" + tensor.name + "\"";
    const Piece& first = tensor.pieces.front();
    for (const Piece& piece : tensor.pieces)
      if (piece.columns != first.columns || piece.vector != first.vector ||
          (tensor.how == Stored::interleaved && piece.rows.outputs != first.rows.outputs))
        problem(quoted + " cannot hold both \"" + std::string(first.name) + "\" and \"" + std::string(piece.name) +
                "\": they differ in size");
    const auto& order = order_[places_.at(tensor.name)];
    if (std::adjacent_find(order.begin(), order.end()) != order.end())
      problem(quoted + " has one line for both \"" + std::string(first.name) + "\" and another parameter");
    const bool alone =
        tensor.how != Stored::as_is && tensor.how != Stored::transposed && tensor.how != Stored::interleaved;
    if (tensor.pieces.size() > 1 && (alone || !tensor.copies.empty()))
      problem(quoted + " holds several parameters, and so can have neither copies nor be stored like this");
    if (tensor.how == Stored::patches && first.patch.channels == 0)
      problem(quoted + " is stored as patches, which \"" + std::string(first.name) + "\" is no weight of");
    // A tied head's copy of the embedding is a weight of its own where the head is not tied.
    std::erase_if(tensor.copies, [&](const std::string& copy) { return places_.contains(copy); });
    for (const std::string& copy : tensor.copies)
      if (!copies_.insert(copy).second) problem("tensor \"" + copy + "\" is a copy of two parameters");
    for (const Name& name : names_)
      if (name.norma.empty() && match(name.stored, std::string_view(tensor.name).substr(prefix_.size())))
        problem(quoted + " is passed over by one line and named by another");
  }

  std::span<const Name> names_;
  std::string_view prefix_;
  std::vector<std::size_t> counts_;  // of each line, the pieces that it has been for
  NamedTensors result_;
  std::unordered_map<std::string, std::size_t> places_;  // of the tensors by name
  std::vector<std::vector<const Name*>> order_;          // of a tensor's pieces, their lines
  std::unordered_set<std::string> copies_;
};

}  // namespace detail

/// What a table makes of a layout: every tensor of a file, named prefix + name. A line that matches no parameter is
/// about another network of its system (one with biases, say) and does nothing. The views are the layout's.
inline NamedTensors named_tensors(const Layout& layout, std::span<const Name> names, std::string_view prefix = "") {
  return detail::NameReader(names, prefix).read(layout);
}
/// The same by norma's own names.
inline NamedTensors named_tensors(const Layout& layout, std::string_view prefix = "") {
  NamedTensors result;
  for (const ParameterInfo& parameter : layout.entries())
    result.tensors.push_back({std::string(prefix) + parameter.name, Stored::as_is, {detail::whole(parameter)}});
  return result;
}

/// What is wrong with a table for a network of this layout; empty: nothing. A parameter without a line, or with two of
/// which none is a copy; sides with different stars; parameters that one tensor cannot hold; a fused order that the
/// network does not have.
inline std::vector<std::string> check_names(const Layout& layout, std::span<const Name> names) {
  return named_tensors(layout, names).problems;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
