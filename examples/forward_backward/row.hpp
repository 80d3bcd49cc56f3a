// SPDX-License-Identifier: MIT
// One row of the table, and its two forms.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "options.hpp"

/// First, middle and last block.
using Profile = std::array<double, 3>;

struct Row {
  std::string placement;
  long parameters = 0;
  long workspace_bytes = 0;
  double loss = 0, uniform_loss = 0;  // nats; log of the number of classes
  Profile stream_rms{}, gradient_norm{};
  double microseconds_per_token = 0;
  double gradient_error = 0;
};

void print_table(const Options& options, const std::vector<Row>& rows);
/// \throws UsageError if the file cannot be written.
void write_csv(const std::string& path, const Options& options, const std::vector<Row>& rows);
