// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace benchmarks {
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

}  // namespace

std::string pin_to_processors(int count) {
#if defined(__linux__)
  // What is allowed at the start, not what an earlier call left.
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  static const int first = [] {
    const char* wanted = std::getenv("BENCHMARK_CPU");
    return wanted != nullptr ? std::atoi(wanted) : sched_getcpu();
  }();
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string names;
  for (int i = 0, found = 0; i < CPU_SETSIZE && found < count; ++i) {
    const auto processor = static_cast<unsigned>((first + i) % CPU_SETSIZE);
    if (!CPU_ISSET(processor, &allowed)) continue;
    CPU_SET(processor, &set);
    names += (found++ == 0 ? " " : ", ") + std::to_string(processor);
  }
  if (sched_setaffinity(0, sizeof set, &set) == 0) return "pinned to processor" + names + ", all threads included\n";
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
  return text + ", " BENCHMARK_FLAGS "\n";
}

double seconds_of_others() {
#if defined(__linux__)
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0;
  file >> name >> user >> nice >> system;
  timespec own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  return (user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK)) - static_cast<double>(own.tv_sec) -
         1e-9 * static_cast<double>(own.tv_nsec);
#else
  return 0;
#endif
}

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

}  // namespace benchmarks
