// SPDX-License-Identifier: MIT
// The two pages about kernels are true: the example compiles and is right, the lists match the
// code.
#include <fstream>
#include <sstream>

#include "core/json.hpp"
#include "kernel_folder.hpp"
#include "loaded_kernel.hpp"
#include "problem/verdict.hpp"
#include "support/places.hpp"
#include "variant/builder.hpp"
#include "variant/compile_flags.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::test;

namespace {

std::string page(const std::string& name) {
  std::ifstream file(source_dir() / "docs" / name);
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(text.str().size() > 1000);
  return text.str();
}

/// The first fenced block of a language.
std::string block(const std::string& text, const std::string& language) {
  const std::string open = "```" + language + "\n";
  const std::size_t begin = text.find(open);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = text.find("```", begin + open.size());
  REQUIRE(end != std::string::npos);
  return text.substr(begin + open.size(), end - begin - open.size());
}

/// The words in backquotes of the first line that starts with `first`.
std::vector<std::string> words_of_line(const std::string& text, const std::string& first) {
  std::size_t at = text.find("\n`" + first + "`");
  REQUIRE(at != std::string::npos);
  const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  std::vector<std::string> words;
  std::istringstream parts(line);
  for (std::string word; parts >> word;) words.push_back(word.substr(1, word.size() - 2));
  return words;
}

}  // namespace

TEST_CASE("the example of the ABI page passes the verdict", "[variant][docs]") {
  const std::string text = page("contracts/kernel_abi.md");
  const KernelFolder folder;
  RealFileSystem file_system;
  const auto abi = file_system.read(source_dir() / "kernels/common/sdpa_abi.h", 1 << 20);
  REQUIRE(abi.ok());
  folder.write("common/sdpa_abi.h", *abi);
  folder.write("cpu_example/kernel.json", block(text, "json"));
  folder.write("cpu_example/kernel.cpp", block(text, "cpp"));
  const Variant variant = folder.must_read("cpu_example");
  ArtifactCache cache(file_system, binary_dir() / "test_artifact_cache");
  const CpuToolchain toolchain("g++");
  const auto artifact = cache.build(variant, {}, {}, &toolchain);
  INFO((artifact.ok() ? std::string() : artifact.error().untrusted_output));
  REQUIRE(artifact.ok());
  CHECK(artifact->record.log.empty());  // no warnings either
  const LoadedKernel kernel(artifact->path.string());
  for (const int version : {0, 1, 2, 3}) {
    INFO(version);
    wb_sdpa_problem problem = abi_problem(*parse_problem("B=1 Hq=1 Sq=5 D=4 f32"), false);
    problem.abi_version = version;
    wb_sdpa_plan* plan = nullptr;
    const int expected = version == 1 || version == 2 ? WB_OK : WB_UNSUPPORTED;
    CHECK(kernel.plan_create(&problem, &plan) == expected);
    if (plan != nullptr) kernel.plan_destroy(plan);
  }
  for (const std::string shape :
       {"B=2 Hq=4 Hkv=2 Sq=70 Skv=90 D=24 Dv=16 f32 causal=bottom_right layout=BSHD",
        "B=1 Hq=2 Sq=90 Skv=70 D=8 f32 causal=bottom_right", "B=1 Hq=1 Sq=5 D=4 f32 scale=0.3"}) {
    INFO(shape);
    const auto problem = parse_problem(shape);
    REQUIRE(problem.ok());
    REQUIRE_FALSE(unsupported_reason(variant.manifest, *problem).has_value());
    const Inputs inputs = make_inputs(*problem, 9, Draw::normal);
    PlannedCall call(kernel, *problem, inputs, true);
    call.run(1);
    const OutputVerdict verdict = judge_output(*problem, inputs, call.out(), call.lse(), {});
    INFO(to_json(verdict).dump());
    CHECK(verdict.pass);
  }
}

TEST_CASE("the page lists the techniques of the code", "[variant][docs]") {
  const auto words = words_of_line(page("guide/add_a_kernel.md"), "async_copy");
  const auto known = known_techniques();
  CHECK(words == std::vector<std::string>(known.begin(), known.end()));
}

TEST_CASE("the page lists the allowed flags", "[variant][docs]") {
  const auto flags = words_of_line(page("guide/add_a_kernel.md"), "-O1");
  CHECK(flags.size() == allowed_cpu_flags().size());
  for (const std::string& flag : flags) {
    INFO(flag);
    CHECK(is_allowed_cpu_flag(flag));
  }
}

TEST_CASE("the page lists the flags that nvcc may be given", "[variant][docs]") {
  const auto flags = words_of_line(page("guide/add_a_kernel.md"), "--expt-extended-lambda");
  CHECK(flags.size() == allowed_cuda_flags().size());
  for (const std::string& flag : flags) {
    INFO(flag);
    CHECK(is_allowed_cuda_flag(flag));
  }
}
