// SPDX-License-Identifier: MIT
// Time of a build that the artifact cache already holds. Prints the median of 200 hits with its
// limit; the exit status is 1 if it is exceeded.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/files.hpp"
#include "variant/builder.hpp"
#include "variant/variant.hpp"

namespace {

constexpr double k_limit_ms = 5;

int run(const wb::fs::path& kernels) {
  wb::RealFileSystem file_system;
  const auto variant = wb::variant::read_variant(file_system, kernels, "cpu_tiled");
  const auto folder = wb::TempDirectory::create("cache-bench");
  if (!variant.ok() || !folder.ok()) {
    fmt::print(stderr, "{}\n", (variant.ok() ? folder.error() : variant.error()).message());
    return 2;
  }
  const wb::variant::CpuToolchain toolchain("g++");
  wb::variant::ArtifactCache cache(file_system, folder->path());
  if (!cache.build(*variant, {}, {}, &toolchain).ok()) return 2;
  std::vector<double> times_ms;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto artifact = cache.build(*variant, {}, {}, &toolchain);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (!artifact.ok() || !artifact->record.cached) return 2;
    times_ms.push_back(took.count());
  }
  std::sort(times_ms.begin(), times_ms.end());
  const double median_ms = times_ms[times_ms.size() / 2];
  const bool ok = median_ms <= k_limit_ms;
  fmt::print("{:<58} {:>9.2f} ms  {:>8.1f}  {}\n", "cache hit, median", median_ms, k_limit_ms,
             ok ? "ok" : "OVER");
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_cache KERNELS_FOLDER\n");
    return 2;
  }
  return run(argv[1]);
}
