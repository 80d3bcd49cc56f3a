// SPDX-License-Identifier: MIT
#include "measure.hpp"
#include "placements.hpp"

Row measure_deep_norm(const char* name, const Options& o, const std::string& text, Progress& progress) {
  return measure<norma::DeepNorm>(name, o, text, progress);
}
