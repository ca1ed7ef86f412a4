// SPDX-License-Identifier: MIT
// How CPU kernels use the machine: several SIMD paths in one file, or without vector extensions,
// kernels over many keys, and their thread pool (kernels/common/cpu/threads.hpp).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <vector>

#include "core/process.hpp"
#include "cpu/threads.hpp"
#include "kernel_conformance.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::test;

namespace {

/// The lowest level that makes fused multiply-adds of what the portable path has.
constexpr const char* k_level = "-O2";

}  // namespace

TEST_CASE("every SIMD path of a CPU kernel passes the verdict", "[variant][kernels][simd]") {
  int kernels = 0;
  for (const Variant& variant : cpu_kernels()) {
    if (!variant.manifest.tune_params.contains("SIMD")) continue;
    ++kernels;
    for (const std::int64_t path : {1, 2, 3}) {  // what this CPU lacks falls back, see cpu/simd.hpp
      Configuration configuration = variant.manifest.defaults;
      configuration["SIMD"] = path;
      check_conformance(built_quickly(variant, k_level), configuration, "g++", "generic");
    }
  }
  CHECK(kernels >= 2);
}

TEST_CASE("every CPU kernel passes without vector extensions", "[variant][kernels][simd]") {
  for (const Variant& variant : cpu_kernels()) {
    const Artifact artifact =
        build(built_quickly(variant, k_level), variant.manifest.defaults, "g++", "generic");
    const LoadedKernel kernel(artifact.path.string());
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      Problem problem;
      problem.Sq = problem.Skv = 67;
      problem.D = problem.Dv = 40;
      problem.dtype = dtype;
      problem.mask = MaskKind::additive;
      const OutputVerdict verdict = judge(kernel, problem, 5, Draw::normal, true, 1);
      INFO(label(variant) << " " << to_json(verdict).dump());
      CHECK(verdict.pass);
    }
  }
}

// GCC 13 takes -inf for the least finite value where a float is compared with that.
TEST_CASE("finite least values of an additive mask do not mask, on any SIMD path",
          "[variant][kernels][simd]") {
  for (const Variant& variant : cpu_kernels()) {
    std::vector<Configuration> paths{variant.manifest.defaults};
    if (variant.manifest.tune_params.contains("SIMD")) {
      for (const std::int64_t path : {1, 2, 3}) {
        paths.push_back(variant.manifest.defaults);
        paths.back()["SIMD"] = path;
      }
    }
    for (const Configuration& configuration : paths) {
      const Artifact artifact =
          build(built_quickly(variant, k_level), configuration, "g++", "generic");
      const LoadedKernel kernel(artifact.path.string());
      for (const char* dtype : {"f32", "f16", "bf16"}) {
        const auto problem = parse_problem(std::string("B=1 Hq=4 Hkv=2 Sq=20 Skv=300 D=40 ") +
                                           dtype + " causal=top_left mask=additive:finite_min");
        REQUIRE(problem.ok());
        const OutputVerdict verdict = judge(kernel, *problem, 8, Draw::edge, true, 1);
        INFO(label(variant) << " " << variant::to_text(configuration) << " " << dtype << " "
                            << to_json(verdict).dump());
        CHECK(verdict.pass);
      }
    }
  }
}

TEST_CASE("the SIMD path is chosen when the kernel runs", "[variant][kernels][simd]") {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    WARN("this CPU has one path only: skipped");
    return;
  }
  Problem problem;
  problem.Sq = 5;
  problem.Skv = 300;
  problem.D = problem.Dv = 64;
  const Inputs inputs = make_inputs(problem, 19, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    if (!variant.manifest.tune_params.contains("SIMD")) continue;
    INFO(label(variant));
    // The same portable target: only a path with fused multiply-adds rounds differently.
    std::vector<std::vector<std::byte>> results;
    for (const std::int64_t path : {0, 1}) {
      Configuration configuration = variant.manifest.defaults;
      configuration["SIMD"] = path;
      const Artifact artifact =
          build(built_quickly(variant, k_level), configuration, "g++", "generic");
      const LoadedKernel kernel(artifact.path.string());
      PlannedCall call(kernel, problem, inputs, false);
      call.run(1);
      results.emplace_back(call.out().begin(), call.out().end());
    }
    CHECK(results[0] != results[1]);
  }
#endif
}

TEST_CASE("CPU kernels hold over many keys", "[variant][conformance]") {
  Problem decode;
  decode.Hq = 6;
  decode.Hkv = 2;
  decode.Sq = 1;
  decode.Skv = 5003;
  decode.D = 40;
  decode.Dv = 24;
  decode.dtype = Dtype::f16;
  Problem chunk = decode;
  chunk.Sq = 7;
  chunk.dtype = Dtype::f32;
  chunk.causal = Causal::bottom_right;
  chunk.layout = Layout::bshd;
  Problem sparse = chunk;  // most splits of keys, and some rows, keep nothing
  sparse.mask = MaskKind::boolean;
  sparse.keep_frac = 0.0005;
  Problem early = chunk;  // no key beyond the seventh is visible
  early.causal = Causal::top_left;
  for (const Variant& variant : cpu_kernels()) {
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    for (const Problem& problem : {decode, chunk, sparse, early}) {
      const OutputVerdict verdict = judge(kernel, problem, 23, Draw::normal, true, 2);
      INFO(label(variant) << " " << to_text(problem) << " " << to_json(verdict).dump());
      CHECK(verdict.pass);
    }
  }
}

TEST_CASE("wide heads keep the log-sum-exp within its budget", "[variant][conformance]") {
  Problem problem;
  problem.Hq = problem.Hkv = 4;
  problem.Sq = problem.Skv = 20;
  problem.D = 4096;
  problem.Dv = 8;
  problem.causal = Causal::top_left;  // short rows: small values, and a budget that is absolute
  for (const Variant& variant : cpu_kernels()) {
    if (!variant.manifest.tune_params.contains("SIMD")) continue;
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      const OutputVerdict verdict = judge(kernel, problem, seed, Draw::large, true, 2);
      INFO(label(variant) << " seed " << seed << " " << to_json(verdict).dump());
      CHECK(verdict.pass);
    }
  }
}

namespace {

bool runs_each_task_once(wb_cpu::ThreadPool& pool, int threads, std::int64_t tasks) {
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
  std::vector<std::atomic<bool>> is_taken(static_cast<std::size_t>(threads));
  std::atomic<bool> are_slots_fine = true;
  pool.run(threads, tasks, [&](std::int64_t task, int slot) {
    const bool in_range = slot >= 0 && slot < threads;
    if (!in_range || is_taken[static_cast<std::size_t>(slot)].exchange(true)) {
      are_slots_fine = false;
    }
    ++runs[static_cast<std::size_t>(task)];
    if (in_range) is_taken[static_cast<std::size_t>(slot)] = false;
  });
  for (const std::atomic<int>& count : runs) {
    if (count != 1) return false;
  }
  return are_slots_fine;
}

}  // namespace

TEST_CASE("a pool runs each task once, and no slot twice at a time", "[variant][kernels]") {
  wb_cpu::ThreadPool pool(4);
  REQUIRE(pool.complete());
  CHECK(pool.size() == 4);
  for (int i = 0; i < 200; ++i) {
    CHECK(runs_each_task_once(pool, 1 + i % 6, i % 23));
  }
}

TEST_CASE("a pool that the system refuses threads says so and still works", "[variant][kernels]") {
  if (wb::k_address_sanitizer) {
    WARN("the sanitizer needs the address space: skipped");
    return;
  }
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Room for a few stacks of the usual 8 MiB, whatever the process holds already.
    long pages = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    const auto bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (40u << 20);
    const rlimit limit{bytes, bytes};
    const rlimit stack{8u << 20, 8u << 20};
    if (pages == 0 || ::setrlimit(RLIMIT_AS, &limit) != 0 ||
        ::setrlimit(RLIMIT_STACK, &stack) != 0) {
      ::_exit(3);
    }
    wb_cpu::ThreadPool pool(64);
    if (pool.complete() || pool.size() >= 64) ::_exit(1);
    ::_exit(runs_each_task_once(pool, 64, 500) ? 0 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
