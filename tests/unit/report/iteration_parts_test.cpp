// SPDX-License-Identifier: MIT
// Which kernels a rival's calls launched, and what ptxas said of the candidate's.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;

namespace {

Json launch(const std::string& kernel, double share_frac) {
  return {{"kernel", kernel},
          {"grid", "(32, 1, 1)"},
          {"block", "(128, 1, 1)"},
          {"metrics", Json::object()},
          {"share_frac", share_frac}};
}

std::int64_t name_kernels(test::LogBuilder& log, const std::string& problem, const Json& launches,
                          const std::string& reason = "") {
  Json records = Json::object();
  if (!launches.empty()) {
    records = {{"launches", launches},
               {"launched", launches.size()},
               {"tool", "torch.profiler"},
               {"program", "torch"}};
  }
  return log.add("profile_taken", {{"iteration", 0},
                                   {"subject", test::k_torch},
                                   {"problem", problem},
                                   {"tool", "torch.profiler"},
                                   {"available", !launches.empty()},
                                   {"reason", reason},
                                   {"records", records}});
}

test::LogBuilder begun() {
  test::LogBuilder log;
  test::open_session(log);
  test::record_environment(log);
  test::run_baseline(log);
  return log;
}

std::string list_of_rivals(const test::LogBuilder& log) {
  const std::string page = render_session(log.view());
  const auto begin = page.find("- rival ");
  REQUIRE(begin != std::string::npos);
  return page.substr(begin, page.find("\n\n", begin) - begin);
}

}  // namespace

TEST_CASE("the report names the kernels that a rival's call launched", "[report][kernel_names]") {
  auto log = begun();
  const std::string flash =
      "void pytorch_flash::flash_fwd_kernel<Traits<64, 128>, false>(pytorch_flash::Params)";
  const auto first = name_kernels(log, test::k_prefill, Json::array({launch(flash, 1)}));
  const auto second = name_kernels(log, test::k_decode, Json::array({launch(flash, 1)}));
  const std::string list = list_of_rivals(log);
  INFO(list);
  CHECK(list.find(fmt::format("  - kernels of one call on prefill, decode: "
                              "`pytorch_flash::flash_fwd_kernel` [e{}] [e{}]",
                              first, second)) != std::string::npos);
  const std::string page = render_iteration(log.view(), log.view().iterations.at(0));
  CHECK(page.find("- kernels of one call of `torch_cpu` on decode: "
                  "`pytorch_flash::flash_fwd_kernel`") != std::string::npos);
  // ncu's profile is another question.
  CHECK(render_session(log.view()).find("no profile was taken of the incumbent") !=
        std::string::npos);
}

TEST_CASE("of many launches those that take the time are named", "[report][kernel_names]") {
  auto log = begun();
  Json launches = {launch("void at::native::(anonymous namespace)::fill<float>(int)", 0.01),
                   launch("gemm", 0.4),
                   launch("softmax", 0.19),
                   launch("gemm", 0.3),
                   launch("copy", 0.05),
                   launch("scale", 0.05)};
  name_kernels(log, test::k_prefill, launches);
  launches = Json::array({launch("void (anonymous namespace)::fill<float>(int)", 1)});
  name_kernels(log, test::k_decode, launches);
  const std::string list = list_of_rivals(log);
  INFO(list);
  CHECK(list.find("on prefill: `gemm` (2 times), `softmax`, `copy`, `scale` and 1 more [e") !=
        std::string::npos);
  CHECK(list.find("on decode: `fill` [e") != std::string::npos);
}

TEST_CASE("kernels that could not be named are unknown, and the last answer stands",
          "[report][kernel_names]") {
  auto log = begun();
  name_kernels(log, test::k_prefill, Json::array(), "torch.profiler failed: CUPTI is *busy*");
  CHECK(list_of_rivals(log).find("on prefill: unknown: torch.profiler failed: CUPTI is \\*busy") !=
        std::string::npos);
  const auto last = name_kernels(log, test::k_prefill, Json::array({launch("gemm", 1)}));
  const std::string list = list_of_rivals(log);
  INFO(list);
  CHECK(list.find("unknown") == std::string::npos);
  CHECK(list.find(fmt::format("on prefill: `gemm` [e{}]", last)) != std::string::npos);
}

TEST_CASE("names and records of any kind leave the page whole", "[report][kernel_names][hostile]") {
  auto log = begun();
  name_kernels(log, test::k_prefill,
               Json::array({launch("<script>|\n# win", 1), launch("(((", 1)}));
  for (const Json& records :
       {Json(nullptr), Json({{"launches", 3}}), Json({{"launches", {1, "x"}}}),
        Json({{"launches", Json::array({{{"kernel", 7}}})}})}) {
    log.add("profile_taken", {{"iteration", 0},
                              {"subject", test::k_torch},
                              {"problem", test::k_decode},
                              {"tool", "torch.profiler"},
                              {"available", true},
                              {"records", records}});
    const std::string list = list_of_rivals(log);
    INFO(list);
    CHECK(list.find("on decode: unknown [e") != std::string::npos);
    CHECK(list.find("<script>") == std::string::npos);
    CHECK(list.find("\n#") == std::string::npos);
  }
}

// The iteration page shows the ptxas output for the candidate's kernels.

namespace {

std::string page_with_ptxas(const Json& ptxas) {
  test::LogBuilder log;
  test::open_session(log);
  test::open_iteration(log, 0, "flash@00000001", "", 0);
  log.add("variant_built", {{"iteration", 0},
                            {"subject", "flash@00000002"},
                            {"variant_id", "v"},
                            {"artifact_id", "a"},
                            {"configuration", Json::object()},
                            {"cached", false},
                            {"compiler", "nvcc 13.0.88"},
                            {"target", "sm_90a"},
                            {"ptxas", ptxas},
                            {"wall_s", 1.9},
                            {"cpu_s", 1.8},
                            {"outcome", "built"},
                            {"message", ""},
                            {"log_blob", nullptr}});
  return render_iteration(log.view(), log.view().iterations.at(0));
}

/// Runs of spaces as one: columns are padded.
std::string single_spaced(const std::string& page) {
  std::string out;
  for (const char c : page) {
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

Json kernel_row(const std::string& name, std::int64_t registers) {
  return {{"kernel", name},          {"registers", registers}, {"stack_bytes", 64},
          {"spill_store_bytes", 40}, {"spill_load_bytes", 56}, {"shared_bytes", 1024},
          {"constant_bytes", 0},     {"barriers", 2}};
}

}  // namespace

TEST_CASE("the page shows registers and spills of each kernel", "[report][ptxas]") {
  const std::string page = page_with_ptxas({{"kernels", {kernel_row("wgmma_flash<64>", 168)}},
                                            {"warnings", Json::array()},
                                            {"kernels_left_out", 3}});
  CHECK(page.find("What ptxas says of `flash@00000002` for `sm_90a`") != std::string::npos);
  CHECK(single_spaced(page).find("| 168 | 64 | 40 | 56 | 1024 | 2 |") != std::string::npos);
  CHECK(page.find("3 kernels more were left out") != std::string::npos);
}

TEST_CASE("a page without kernels, or with odd ones, is whole", "[report][ptxas][hostile]") {
  CHECK(page_with_ptxas(nullptr).find("ptxas") == std::string::npos);
  CHECK(page_with_ptxas({{"kernels", Json::array()}}).find("What ptxas says") == std::string::npos);
  const std::string odd = page_with_ptxas({{"kernels", {3, {{"kernel", "`a|b`\n# x"}}}}});
  CHECK(odd.find("not recorded") != std::string::npos);
  CHECK(odd.find("\n# x") == std::string::npos);
}
