// SPDX-License-Identifier: MIT
// What pages report about the GPU on which figures were taken.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

namespace {

Json gpu_range(double low, double high) {
  return {{"low", low}, {"mean", (low + high) / 2}, {"high", high}};
}

/// The example session; comparisons carry these conditions, the environment these settings.
std::string page_with(const Json& conditions, const Json& settings) {
  const LogBuilder whole = whole_session();
  LogBuilder log;
  for (auto [type, payload] : whole.events()) {
    if (type == "comparison_made" && !conditions.is_null()) payload["conditions"] = conditions;
    if (type == "environment_recorded" && !settings.is_null()) payload["gpu"] = settings;
    log.add(type, payload);
  }
  return render_session(log.view());
}

bool has(const std::string& page, const std::string& words) {
  return page.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("the report names clocks, power and what held the clocks down", "[report][conditions]") {
  const Json own = {{"readings", 8},
                    {"sm_clock_mhz", gpu_range(1'905, 1'980)},
                    {"power_w", gpu_range(385.4, 690)},
                    {"temperature_c", gpu_range(41, 41)},
                    {"clocks_event_reasons", {"sw_power_cap"}},
                    {"other_processes", {{"count", 1}, {"busy", 0}}},
                    {"unknown", {{"memory_clock_mhz", "Not Supported (3)"}}}};
  const Json others = {{"readings", 8},
                       {"sm_clock_mhz", gpu_range(1'980, 1'980)},
                       {"clocks_event_reasons", Json::array()}};
  const std::string page = page_with({{"candidate", own}, {"against", others}}, nullptr);
  CHECK(has(page,
            "The GPU in the incumbent's turns: SM clock 1905 to 1980 MHz, 385 to 690 W, 41 C, "
            "clocks held down by `sw_power_cap`, 1 compute context of others on the GPU (0 "
            "busy) [e"));
  CHECK(
      has(page, "In the turns of the others: SM clock 1980 MHz, nothing held the clocks down [e"));
  CHECK(has(page, "Not known of the GPU: `memory_clock_mhz` (Not Supported (3)) [e"));
}

TEST_CASE("a GPU without NVML is said to be unknown", "[report][conditions]") {
  const Json nothing = {{"readings", 0}, {"unknown", {{"nvml", "no such library"}}}};
  const std::string page = page_with({{"candidate", nothing}, {"against", nothing}},
                                     {{"unknown", {{"nvml", "no such library"}}}});
  CHECK(has(page, "Not known of the GPU: `nvml` (no such library) [e"));
  CHECK_FALSE(has(page, "The GPU in the incumbent's turns"));
  CHECK(has(page, "nvml unknown (no such library)"));
}

TEST_CASE("the environment names how the GPU is set", "[report][conditions]") {
  const std::string page = page_with(nullptr, {{"driver_version", "580.65.06"},
                                               {"persistence_mode", true},
                                               {"max_sm_clock_mhz", 1'980},
                                               {"max_memory_clock_mhz", 3'201},
                                               {"power_limit_w", 700}});
  CHECK(has(page,
            "driver 580.65.06, SM clock up to 1980 MHz, memory clock up to 3201 MHz, power "
            "limit 700 W, persistence mode on"));
}

TEST_CASE("logs of a CPU, older ones and damaged conditions say nothing of a GPU",
          "[report][conditions]") {
  CHECK_FALSE(has(page_with(nullptr, nullptr), "GPU"));
  CHECK_FALSE(
      has(page_with({{"candidate", {{"readings", "many"}}}, {"against", 3}}, 7), "The GPU in"));
}
