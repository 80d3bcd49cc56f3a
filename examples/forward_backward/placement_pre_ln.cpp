// SPDX-License-Identifier: MIT
#include "measure.hpp"
#include "placements.hpp"

Row measure_pre_ln(const char* name, const Options& o, const std::string& text, Progress& progress) {
  return measure<norma::PreLN>(name, o, text, progress);
}
