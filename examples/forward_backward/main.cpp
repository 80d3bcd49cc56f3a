// SPDX-License-Identifier: MIT
// Forward and backward of a causal stack under each norm placement, on real text: the table shows what the placement
// does to the stream and to the gradients before any training, what it costs, and that the backward pass is exact.
#include <cstdio>
#include <new>
#include <norma/core/check.hpp>

#include "data.hpp"
#include "options.hpp"
#include "placements.hpp"
#include "progress.hpp"
#include "row.hpp"

namespace {

int run(int argc, char** argv) {
  Names names{{"PostLN", "PreLN", "DeepNorm"}, {}, {}};
  for (const auto& placement : placements()) {
    names.all.push_back(placement.name);
    if (placement.measure != nullptr) names.here.push_back(placement.name);
  }
  const Options options = parse_options(argc, argv, names);
  if (options.help) {
    std::fputs(help_text(names).c_str(), stdout);
    return 0;
  }
  const std::string text =
      options.input == InputKind::text ? read_text(options.file, static_cast<std::size_t>(options.tokens) + 1) : "";
  if (!options.csv.empty()) write_csv(options.csv, options, {});  // so that a bad path stops now, not after the work
  Progress progress;
  std::vector<Row> rows;
  for (const auto& name : options.placements)
    for (const auto& placement : placements())
      if (name == placement.name) rows.push_back(placement.measure(placement.name, options, text, progress));
  progress.clear();
  if (!options.csv.empty()) write_csv(options.csv, options, rows);
  print_table(options, rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const UsageError& e) {
    std::fprintf(stderr, "%s\n", e.what());
  } catch (const norma::Error& e) {
    std::fprintf(stderr, "%s.\n", e.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "These sizes need more memory than there is.\n");
  }
  return 2;
}
