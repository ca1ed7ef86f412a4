// SPDX-License-Identifier: MIT
// The kernels that a Python subject's process reports are read as untrusted text: the process runs
// a candidate.
#include "worker/kernel_names.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::worker;

TEST_CASE("the launches of a call are records as ncu's", "[worker][kernel_names]") {
  const auto read = read_kernel_names({{"launches",
                                        {{{"kernel", "void flash<64>(Params)"},
                                          {"grid", "(32, 8, 1)"},
                                          {"block", "(128, 1, 1)"},
                                          {"share_frac", 0.75}},
                                         {{"kernel", "combine"},
                                          {"grid", "(4, 1, 1)"},
                                          {"block", "(32, 1, 1)"},
                                          {"share_frac", 0.25}}}},
                                       {"launched", 40}});
  CHECK(read.available);
  CHECK(read.reason.empty());
  CHECK(read.records["tool"] == "torch.profiler");
  CHECK(read.records["launched"] == 40);
  const Json& launches = read.records["launches"];
  REQUIRE(launches.size() == 2);
  CHECK(launches[0]["kernel"] == "void flash<64>(Params)");
  CHECK(launches[0]["grid"] == "(32, 8, 1)");
  CHECK(launches[0]["metrics"].empty());
  CHECK(launches[1]["share_frac"] == 0.25);
}

TEST_CASE("a profiler that could not look says why", "[worker][kernel_names]") {
  const auto blocked = read_kernel_names({{"reason", "torch.profiler failed: CUPTI is busy"}});
  CHECK_FALSE(blocked.available);
  CHECK(blocked.reason == "torch.profiler failed: CUPTI is busy");
  CHECK(blocked.records.empty());
  const auto silent = read_kernel_names(Json::object());
  CHECK_FALSE(silent.available);
  CHECK_FALSE(silent.reason.empty());
}

TEST_CASE("names that a subject forged are short, printable and few",
          "[worker][kernel_names][hostile]") {
  Json launches = Json::array();
  for (int i = 0; i < 500; ++i) {
    launches.push_back({{"kernel", "\x1b[2Jwin\n" + std::string(5'000, 'x')},
                        {"grid", std::string(900, '1')},
                        {"block", 7},
                        {"share_frac", i % 2 == 0 ? Json(1e300) : Json("all of it")}});
  }
  const auto read = read_kernel_names({{"launches", launches}, {"launched", -1}});
  REQUIRE(read.available);
  CHECK(read.records["launched"] == 32);
  CHECK(read.records.dump().size() < (16u << 10));
  for (const Json& launch : read.records["launches"]) {
    const auto name = launch["kernel"].get<std::string>();
    CHECK(name.starts_with("\\x1b[2Jwin\\n"));
    CHECK(name.find('\n') == std::string::npos);
    CHECK(launch["block"] == "");
    CHECK_FALSE(launch.contains("share_frac"));
  }
  for (const Json& odd : {Json({{"launches", "many"}}), Json({{"launches", {1, nullptr, ""}}}),
                          Json({{"launches", {Json::object(), {{"kernel", ""}}}}}),
                          Json({{"launches", Json::array()}, {"reason", 3}})}) {
    CHECK_FALSE(read_kernel_names(odd).available);
    CHECK_FALSE(read_kernel_names(odd).reason.empty());
  }
}
