// SPDX-License-Identifier: MIT
// The placements of the table, each compiled in a file of its own.
#pragma once

#include <string>

#include "options.hpp"
#include "progress.hpp"
#include "row.hpp"

using Measure = Row (*)(const char* name, const Options&, const std::string& text, Progress&);

Row measure_post_ln(const char* name, const Options&, const std::string& text, Progress&);
Row measure_pre_ln(const char* name, const Options&, const std::string& text, Progress&);
Row measure_deep_norm(const char* name, const Options&, const std::string& text, Progress&);

struct Placement {
  const char* name;
  Measure measure;
};
inline constexpr Placement kPlacements[] = {
    {"PostLN", measure_post_ln},
    {"PreLN", measure_pre_ln},
    {"DeepNorm", measure_deep_norm},
};
