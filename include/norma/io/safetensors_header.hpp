// SPDX-License-Identifier: MIT
// The header of a safetensors file: JSON of one shape only,
//
//   {"__metadata__": {"key": "text", ...},
//    "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//
// read token by token. So nothing is stored that the format does not have, and a header that is nested, repeats a name
// or holds another kind of number stops at that token.
#pragma once

#include <norma/core/check.hpp>
#include <norma/core/shape.hpp>
#include <norma/io/data_type.hpp>

#if !__has_include(<nlohmann/json.hpp>)
#error \
    "norma/io/safetensors.hpp needs nlohmann-json: install nlohmann-json3-dev (Debian), or put it on the include path"
#endif
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// What a file says about itself, text by key.
using Metadata = std::map<std::string, std::string>;

namespace detail {

/// A file's text for messages: at most 80 bytes of it, in whole letters, with control characters as \xHH.
inline std::string excerpt(std::string_view text) {
  std::size_t length = (std::min)(text.size(), std::size_t{80});
  while (length > 0 && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0u) == 0x80u) --length;
  std::string shown;
  for (const char c : text.substr(0, length)) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7F)
      shown += c;
    else
      shown.append("\\x").append(1, "0123456789ABCDEF"[code / 16]).append(1, "0123456789ABCDEF"[code % 16]);
  }
  return shown + (length < text.size() ? "..." : "");
}
inline std::string in_quotes(std::string_view text) { return '"' + excerpt(text) + '"'; }

/// One tensor as the header tells it; the numbers are not checked yet.
struct HeaderEntry {
  std::string name;
  DataType type;
  std::vector<Index> shape;
  std::uint64_t begin, end;  // bytes of the data
};

/// Receives the tokens of a header. A member that returns false ends the parse; `problem` then says why.
class HeaderReader {
 public:
  std::vector<HeaderEntry> entries;
  Metadata metadata;
  std::string problem;

  bool start_object(std::size_t) {
    if (state_ == State::start) return to(State::name);
    if (state_ == State::entry) return to(name_ == "__metadata__" ? State::metadata_key : State::field);
    return unexpected("an object");
  }
  bool end_object() {
    if (state_ == State::name) return to(State::end);
    if (state_ == State::metadata_key) return to(State::name);
    for (const char* field : {"dtype", "shape", "data_offsets"})
      if (!fields_.contains(field)) return stop(std::string("has no ") + field);
    if (offsets_.size() != 2) return stop("has " + std::to_string(offsets_.size()) + " data_offsets, wanted 2");
    entries.push_back({name_, *type_, shape_, offsets_[0], offsets_[1]});
    return to(State::name);
  }
  bool key(std::string& text) {
    if (state_ == State::name) {
      name_ = text;
      if (!names_.insert(text).second) return stop("stands there twice");
      fields_.clear();
      shape_.clear();
      offsets_.clear();
      return to(State::entry);
    }
    if (state_ == State::metadata_key) {
      metadata_key_ = text;
      return metadata.contains(text) ? stop("has " + in_quotes(text) + " twice") : to(State::metadata_value);
    }
    if (!fields_.insert(text).second) return stop("has " + text + " twice");
    if (text == "dtype") return to(State::dtype);
    if (text == "shape") return to(State::shape);
    if (text == "data_offsets") return to(State::offsets);
    return stop("has " + in_quotes(text) + ", which the format does not know");
  }
  bool string(std::string& text) {
    if (state_ == State::metadata_value) {
      metadata[metadata_key_] = text;
      return to(State::metadata_key);
    }
    if (state_ != State::dtype) return unexpected("a string");
    type_ = data_type(text);
    return type_ ? to(State::field) : stop("has the unknown dtype " + in_quotes(text));
  }
  bool start_array(std::size_t) {
    if (state_ == State::shape) return to(State::dimension);
    if (state_ == State::offsets) return to(State::offset);
    return unexpected("an array");
  }
  bool end_array() { return to(State::field); }
  bool number_unsigned(std::uint64_t value) {
    if (state_ == State::dimension) {
      if (value > static_cast<std::uint64_t>((std::numeric_limits<Index>::max)()))
        return stop("has the dimension " + std::to_string(value));
      shape_.push_back(static_cast<Index>(value));
      return true;
    }
    if (state_ != State::offset) return unexpected("a number");
    if (offsets_.size() == 2) return stop("has more than 2 data_offsets");
    offsets_.push_back(value);
    return true;
  }
  bool number_integer(std::int64_t value) { return unexpected("the negative number " + std::to_string(value)); }
  bool number_float(double, const std::string& text) { return unexpected("the number " + excerpt(text)); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool null() { return unexpected("null"); }
  bool binary(std::vector<std::uint8_t>&) { return unexpected("bytes"); }
  template <class Exception>
  bool parse_error(std::size_t position, const std::string& token, const Exception&) {
    problem = "the header is not JSON at its byte " + std::to_string(position) +
              (token.empty() ? "" : ", after " + in_quotes(token));
    return false;
  }

 private:
  /// What comes next.
  enum class State {
    start,
    name,   // of a tensor, or the end of the header
    entry,  // the object of that name
    field,  // of a tensor, or its end
    dtype,  // the values of its fields
    shape,
    dimension,
    offsets,
    offset,
    metadata_key,  // or the end of the metadata
    metadata_value,
    end
  };
  bool to(State next) {
    state_ = next;
    return true;
  }
  bool stop(const std::string& what) {
    problem = (name_ == "__metadata__" ? "the metadata " : "tensor " + in_quotes(name_) + " ") + what;
    return false;
  }
  bool unexpected(const std::string& token) {
    if (state_ != State::start) return stop("has " + token + " where the format has none");
    problem = "the header is not an object";
    return false;
  }

  State state_ = State::start;
  std::set<std::string> names_, fields_;
  std::string name_, metadata_key_;
  std::optional<DataType> type_;
  std::vector<Index> shape_;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace detail
}  // namespace norma::inline v0_1::inline NORMA_TARGET
