// SPDX-License-Identifier: MIT
// Conformance: every CPU kernel of the catalogue, built by each compiler that is there, must pass
// the verdict on random problems. A new kernel is covered by being in kernels/.
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "kernel_conformance.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::test;

namespace {

/// Whether all threads of this process but the one that asks sleep.
bool other_threads_sleep() {
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;  // it has ended
    const auto name_end = line.rfind(") ");
    if (name_end == std::string::npos || line[name_end + 2] != 'S') return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every CPU kernel passes the verdict, built by g++", "[variant][conformance]") {
  const auto kernels = cpu_kernels();
  CHECK(kernels.size() >= 3);
  for (const Variant& variant : kernels) {
    for (const Configuration& configuration : configurations(variant.manifest)) {
      const bool is_default = configuration == variant.manifest.defaults;
      check_conformance(is_default ? variant : built_quickly(variant), configuration, "g++");
    }
  }
}

TEST_CASE("every CPU kernel passes the verdict, built by clang++", "[variant][kernels]") {
  if (!find_program("clang++").ok()) {
    WARN("clang++ is not installed: skipped");
    return;
  }
  for (const Variant& variant : cpu_kernels()) {
    check_conformance(built_quickly(variant), variant.manifest.defaults, "clang++");
  }
}

TEST_CASE("every CPU kernel passes the verdict in every form that users build",
          "[variant][kernels]") {
  std::vector<std::string> compilers{"g++"};
  if (find_program("clang++").ok()) compilers.emplace_back("clang++");
  for (const Variant& variant : cpu_kernels()) {
    std::vector<Configuration> forms = configurations(variant.manifest);
    if (variant.manifest.tune_params.contains("SIMD")) {
      for (const std::int64_t path : {1, 2, 3}) {
        Configuration form = variant.manifest.defaults;
        form["SIMD"] = path;
        forms.push_back(std::move(form));
      }
    }
    for (const Configuration& form : forms) {
      for (const std::string target : {"native", "generic"}) {
        for (const std::string& compiler : compilers) {
          check_conformance(variant, form, compiler, target);
        }
      }
    }
  }
}

TEST_CASE("conformance sees a kernel whose rescaling is missing", "[variant][conformance]") {
  RealFileSystem file_system;
  const auto parent = read_variant(file_system, source_dir() / "kernels", "cpu_online");
  REQUIRE(parent.ok());
  std::string source = parent->files.at("cpu_online/kernel.cpp");
  const std::string line = "row.row_sum *= correction;";
  const std::size_t at = source.find(line);
  REQUIRE(at != std::string::npos);
  source.erase(at, line.size());
  const auto broken = derive_variant(file_system, *parent, {{"kernel.cpp", source}}, "cpu_broken");
  REQUIRE(broken.ok());
  const LoadedKernel kernel(build(*broken, {}, "g++").path.string());
  Problem problem;
  problem.Sq = problem.Skv = 200;
  problem.D = problem.Dv = 32;
  CHECK_FALSE(judge(kernel, problem, 7, Draw::normal, true, 1).pass);
}

TEST_CASE("results do not depend on threads or on earlier calls", "[variant][conformance]") {
  Problem problem;
  problem.B = 2;
  problem.Hq = 4;
  problem.Hkv = 2;
  problem.Sq = problem.Skv = 97;
  problem.D = problem.Dv = 24;
  problem.dtype = Dtype::bf16;
  problem.causal = Causal::top_left;
  const Inputs inputs = make_inputs(problem, 11, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    INFO(label(variant));
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    PlannedCall call(kernel, problem, inputs, true);
    call.run(1);
    const std::vector<std::byte> first(call.out().begin(), call.out().end());
    for (const int threads : {2, 1, 64, 3}) {
      std::fill(call.out().begin(), call.out().end(), std::byte{0x5a});
      call.run(threads);
      CHECK(std::equal(first.begin(), first.end(), call.out().begin()));
    }
  }
}

TEST_CASE("kernels sleep after a call", "[variant][conformance]") {
  Problem problem;
  problem.Hq = problem.Hkv = 8;
  problem.Sq = problem.Skv = 64;
  problem.D = problem.Dv = 32;
  const Inputs inputs = make_inputs(problem, 3, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    INFO(label(variant));
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    PlannedCall call(kernel, problem, inputs, false);
    call.run(8);
    const auto cpu_ms = [] { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
    const double before = cpu_ms();
    REQUIRE(wb::testing::until(other_threads_sleep));
    CHECK(cpu_ms() - before < 20.0);
  }
}

TEST_CASE("kernels refuse what they were not made for", "[variant][conformance][hostile]") {
  Problem problem;
  problem.Sq = problem.Skv = problem.D = problem.Dv = 4;
  const Inputs inputs = make_inputs(problem, 1, Draw::normal);
  for (const Variant& variant : cpu_kernels()) {
    INFO(label(variant));
    const LoadedKernel kernel(build(variant, {}, "g++").path.string());
    const auto status = [&](auto change) {
      wb_sdpa_problem abi = abi_problem(problem, false);
      change(abi);
      wb_sdpa_plan* plan = nullptr;
      const int result = kernel.plan_create(&abi, &plan);
      CHECK((plan == nullptr) == (result != WB_OK));
      if (plan != nullptr) kernel.plan_destroy(plan);
      if (result != WB_OK) CHECK(std::string(kernel.last_error()).size() > 5);
      return result;
    };
    CHECK(status([](wb_sdpa_problem&) {}) == WB_OK);
    CHECK(status([](wb_sdpa_problem& p) { p.struct_size = 8; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.dtype = 4; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.causal = -1; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.mask = 9; }) == WB_UNSUPPORTED);
    CHECK(status([](wb_sdpa_problem& p) { p.seq_kv = 0; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.heads_kv = 3; }) == WB_FAILED);
    CHECK(status([](wb_sdpa_problem& p) { p.scale = NAN; }) == WB_FAILED);
    CHECK(kernel.plan_create(nullptr, nullptr) == WB_FAILED);

    PlannedCall call(kernel, problem, inputs, false);
    call.args.q = nullptr;
    CHECK(kernel.forward(call.plan(), &call.args) == WB_FAILED);
    CHECK(kernel.forward(call.plan(), nullptr) == WB_FAILED);
    CHECK(kernel.forward(nullptr, &call.args) == WB_FAILED);
  }
}
