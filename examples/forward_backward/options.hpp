// SPDX-License-Identifier: MIT
// The command line of forward_backward.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

enum class InputKind { text, noise };
enum class Precision { f32, f64 };

struct Options {
  InputKind input = InputKind::text;
  std::string file;  // text only
  long layers = 12, width = 128, heads = 4, tokens = 128, batch = 4, seeds = 1;
  Precision precision = Precision::f32;
  std::vector<std::string> placements;  // in the order of the table
  std::string csv;                      // empty: no file
  bool help = false;
};

/// Something the user typed that cannot be; what() is one sentence.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Names of placements: of the default table, in this program, and in the library.
struct Names {
  std::vector<std::string> usual, here, all;
};

/// \throws UsageError
Options parse_options(int argc, char** argv, const Names& names);
std::string help_text(const Names& names);
