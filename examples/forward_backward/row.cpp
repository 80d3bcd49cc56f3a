// SPDX-License-Identifier: MIT
#include "row.hpp"

#include <algorithm>

namespace {
const char* precision_name(const Options& o) { return o.precision == Precision::f32 ? "f32" : "f64"; }
/// First over last, or a dash where branches start at zero.
std::string gradient_ratio(const Row& r) {
  char text[32] = "-";
  if (r.gradient_norm[2] > 0) std::snprintf(text, sizeof text, "%.3f", r.gradient_norm[0] / r.gradient_norm[2]);
  return text;
}
}  // namespace

void print_table(const Options& o, const std::vector<Row>& rows) {
  std::printf("%s; %ld layers, width %ld, %ld heads, %ld x %ld tokens, %s, %ld %s, at init\n\n",
              o.input == InputKind::text ? o.file.substr(o.file.find_last_of('/') + 1).c_str() : "Gaussian noise",
              o.layers, o.width, o.heads, o.batch, o.tokens, precision_name(o), o.seeds,
              o.seeds == 1 ? "seed" : "seeds");
  int longest = 10;
  for (const Row& r : rows) longest = std::max(longest, static_cast<int>(r.placement.size()));
  std::printf("%-*s %10s %10s  %15s  %23s  %32s  %8s  %9s\n", longest, "", "", "workspace", "loss / uniform",
              "stream RMS", "gradient norm of W_down", "us per", "gradient");
  std::printf("%-*s %10s %10s  %7s %7s  %7s %7s %7s  %7s %7s %7s %8s  %8s  %9s\n", longest, "placement", "parameters",
              "MiB", "", "", "first", "middle", "last", "first", "middle", "last", "1st/last", "token", "error");
  for (const Row& r : rows)
    std::printf("%-*s %10ld %10.2f  %7.4f %7.4f  %7.3f %7.3f %7.3f  %7.4f %7.4f %7.4f %8s  %8.2f  %9.1e\n", longest,
                r.placement.c_str(), r.parameters, static_cast<double>(r.workspace_bytes) / (1024 * 1024), r.loss,
                r.uniform_loss, r.stream_rms[0], r.stream_rms[1], r.stream_rms[2], r.gradient_norm[0],
                r.gradient_norm[1], r.gradient_norm[2], gradient_ratio(r).c_str(), r.microseconds_per_token,
                r.gradient_error);
}

void write_csv(const std::string& path, const Options& o, const std::vector<Row>& rows) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw UsageError("--csv: cannot write \"" + path + "\".");
  std::fprintf(
      file,
      "placement,layers,width,heads,batch,tokens,dtype,seeds,parameters,workspace_bytes,loss,uniform_loss,"
      "stream_rms_first,stream_rms_middle,stream_rms_last,gradient_norm_first,gradient_norm_middle,gradient_norm_last,"
      "microseconds_per_token,gradient_error\n");
  for (const Row& r : rows)
    std::fprintf(file, "%s,%ld,%ld,%ld,%ld,%ld,%s,%ld,%ld,%ld,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.6g,%.3e\n",
                 r.placement.c_str(), o.layers, o.width, o.heads, o.batch, o.tokens, precision_name(o), o.seeds,
                 r.parameters, r.workspace_bytes, r.loss, r.uniform_loss, r.stream_rms[0], r.stream_rms[1],
                 r.stream_rms[2], r.gradient_norm[0], r.gradient_norm[1], r.gradient_norm[2], r.microseconds_per_token,
                 r.gradient_error);
  if (std::fclose(file) != 0) throw UsageError("--csv: cannot write \"" + path + "\".");
}
