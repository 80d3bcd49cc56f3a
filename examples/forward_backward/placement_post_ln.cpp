// SPDX-License-Identifier: MIT
#include "measure.hpp"
#include "placements.hpp"

Row measure_post_ln(const char* name, const Options& o, const std::string& text, Progress& progress) {
  return measure<norma::PostLN>(name, o, text, progress);
}
