// SPDX-License-Identifier: MIT
// The iteration page shows the ptxas output for the candidate's kernels.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;

namespace {

std::string page_with(const Json& ptxas) {
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
std::string squeezed(const std::string& page) {
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
  const std::string page = page_with({{"kernels", {kernel_row("wgmma_flash<64>", 168)}},
                                      {"warnings", Json::array()},
                                      {"kernels_left_out", 3}});
  CHECK(page.find("What ptxas says of `flash@00000002` for `sm_90a`") != std::string::npos);
  CHECK(squeezed(page).find("| 168 | 64 | 40 | 56 | 1024 | 2 |") != std::string::npos);
  CHECK(page.find("3 kernels more were left out") != std::string::npos);
}

TEST_CASE("a page without kernels, or with odd ones, is whole", "[report][ptxas][hostile]") {
  CHECK(page_with(nullptr).find("ptxas") == std::string::npos);
  CHECK(page_with({{"kernels", Json::array()}}).find("What ptxas says") == std::string::npos);
  const std::string odd = page_with({{"kernels", {3, {{"kernel", "`a|b`\n# x"}}}}});
  CHECK(odd.find("not recorded") != std::string::npos);
  CHECK(odd.find("\n# x") == std::string::npos);
}
