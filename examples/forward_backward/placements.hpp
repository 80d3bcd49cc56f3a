// SPDX-License-Identifier: MIT
// The placements of the library, each compiled in a file of its own that the build writes: see example.cmake.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "progress.hpp"
#include "row.hpp"

struct Placement {
  const char* name;
  Row (*measure)(const char* name, const Options&, const std::string& text, Progress&);  // null: not in this program
};

/// All of the library; those of the default table come first.
const std::vector<Placement>& placements();
