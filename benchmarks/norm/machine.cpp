// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace norm_benchmark {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string caches() {
  std::string text;
  for (int i = 0; i < 8; ++i) {
    const std::string directory = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string type = first_line(directory + "type");
    if (type.empty()) break;
    if (type == "Instruction") continue;
    text += (text.empty() ? "L" : ", L") + first_line(directory + "level") + " " + first_line(directory + "size");
  }
  return text.empty() ? "unknown" : text;
}

/// The C library chooses between ordinary stores, `rep movsb` and stores that bypass the caches by size, with limits
/// that it derives from the caches. Its loader prints them.
std::string copy_limits() {
#if defined(__GLIBC__) && defined(__x86_64__)
  std::string text = std::string("memcpy: glibc ") + gnu_get_libc_version();
  std::FILE* pipe = popen("/lib64/ld-linux-x86-64.so.2 --list-tunables 2>/dev/null", "r");
  if (pipe == nullptr) return text + "\n";
  char line[512];
  std::string moves, streams;
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string s = line;
    const auto value = [&](const char* name) {
      const std::string::size_type at = s.find(name);
      if (at == std::string::npos) return std::string();
      return std::to_string(std::strtoull(s.c_str() + s.find(':', at) + 1, nullptr, 0));
    };
    if (const std::string v = value("x86_rep_movsb_threshold"); !v.empty()) moves = v;
    if (const std::string v = value("x86_non_temporal_threshold"); !v.empty()) streams = v;
  }
  pclose(pipe);
  if (streams.empty()) return text + ", its limits are unknown (its loader lists none)\n";
  return text + ": up to " + moves +
         " bytes vector stores, beyond that `rep movsb` where the processor has it fast; from " + streams +
         " bytes on\n  streaming stores, which write to memory without reading the line first (three quarters of this "
         "thread's share of the\n  last cache: what is larger would only push everything else out)\n";
#else
  return "memcpy: this C library's limits are unknown\n";
#endif
}

}  // namespace

std::string pin_to_one_processor() {
#if defined(__linux__)
  const char* wanted = std::getenv("NORM_BENCHMARK_CPU");
  const int processor = wanted != nullptr ? std::atoi(wanted) : sched_getcpu();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor), &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0)
    return "pinned to processor " + std::to_string(processor) + ", all threads included\n";
#endif
  return "not pinned to a processor\n";
}

std::string machine() {
  std::string text = "processor: " + processor() + "; caches: " + caches() + "\n";
#if defined(__clang__)
  text += "compiler: Clang " __clang_version__;
#else
  text += "compiler: GCC " __VERSION__;
#endif
  return text + ", " NORM_BENCHMARK_FLAGS "\n" + copy_limits();
}

}  // namespace norm_benchmark
