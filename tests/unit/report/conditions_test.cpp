// SPDX-License-Identifier: MIT
// What pages say of the circumstances behind a figure: GPU conditions, both regimes, first calls on
// fresh inputs, and unusable noise floors.
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

// Tables show both regimes where a comparison was made in both.

namespace {

Json figures(double speedup, const std::string& outcome) {
  return {{"speedup", speedup},
          {"interval", interval(speedup - 0.02, speedup + 0.02)},
          {"outcome", outcome},
          {"reason", ""}};
}

/// The example session; what was compared with the incumbent under the plan hot has these regimes.
std::string page_of(const Json& regimes, bool has_figure = true) {
  const LogBuilder whole = whole_session();
  LogBuilder log;
  for (auto [type, payload] : whole.events()) {
    if (type == "comparison_made" && payload["role"] == "incumbent" && payload["plan"] == "hot" &&
        !payload["problem"].is_null()) {
      payload["regimes"] = regimes;
      if (!has_figure) payload["speedup"] = payload["interval"] = nullptr;
    }
    log.add(type, payload);
  }
  return render_session(log.view());
}

bool holds(const std::string& page, const std::string& words) {
  INFO(page);
  return page.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a figure of both regimes says both", "[report][regimes]") {
  const std::string page =
      page_of({{"burst", figures(1.5, "faster")}, {"sustained", figures(0.75, "slower")}});
  CHECK(holds(page, "(burst 1.50x [1.48, 1.52], faster; sustained 0.75x [0.73, 0.77], slower)"));
  CHECK(holds(page, "`burst` and `sustained` are both measured"));
}

TEST_CASE("a regime without a figure, and logs without regimes", "[report][regimes]") {
  const Json regimes = {
      {"burst", figures(1.5, "faster")},
      {"sustained", {{"speedup", nullptr}, {"interval", nullptr}, {"outcome", "ambiguous"}}}};
  CHECK(holds(page_of(regimes), "faster; sustained ambiguous)"));
  CHECK(holds(page_of(regimes, false), "no figure (burst 1.50x"));
  for (const Json& odd : {Json(nullptr), Json(3), Json({{"burst", 7}}), Json::array()}) {
    CHECK_FALSE(holds(page_of(odd), "`burst` and `sustained`"));
  }
}

// What reports say about first calls on fresh inputs and about unusable noise floors.

namespace {

/// The example session with a member more in one type of event.
std::string page_with_member(const std::string& wanted, const Json& more) {
  const LogBuilder whole = whole_session();
  LogBuilder log;
  for (auto [type, payload] : whole.events()) {
    const bool is_incumbents = type != "comparison_made" || payload["role"] == "incumbent";
    if (type == wanted && payload.value("plan", "") == "hot" && is_incumbents) {
      payload.update(more);
    }
    log.add(type, payload);
  }
  return render_session(log.view());
}

bool says_so(const std::string& page, const std::string& words) {
  return page.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a gain that is not there on fresh inputs says so", "[report][fresh]") {
  Json fresh{{"state", "absent"}, {"speedup", 1.02}, {"interval", interval(0.99, 1.05)}};
  CHECK(says_so(page_with_member("comparison_made", {{"fresh", fresh}}),
                " (on fresh inputs 1.02x [0.99, 1.05])"));
  fresh["state"] = "unclear";
  CHECK(says_so(page_with_member("comparison_made", {{"fresh", fresh}}),
                "do not show it: 1.02x [0.99, 1.05])"));
  fresh = {{"state", "unmeasured"}, {"speedup", nullptr}, {"interval", nullptr}};
  CHECK(says_so(page_with_member("comparison_made", {{"fresh", fresh}}),
                "no first calls on fresh inputs"));
  fresh = {{"state", "stands"}, {"speedup", 1.5}, {"interval", interval(1.4, 1.6)}};
  CHECK_FALSE(says_so(page_with_member("comparison_made", {{"fresh", fresh}}), "fresh inputs 1.5"));
  for (const Json& odd : {Json(nullptr), Json(3), Json::array()}) {
    CHECK_FALSE(
        says_so(page_with_member("comparison_made", {{"fresh", odd}}), "on fresh inputs 1"));
  }
}

TEST_CASE("a floor that cannot serve is told, with the gain that it hides", "[report][fresh]") {
  const std::string page = page_with_member(
      "noise_floor_measured",
      {{"unfit", "other work used the machine"}, {"used", true}, {"cannot_show_frac", 0.31}});
  CHECK(says_so(page, "a gain below 31 % could not be shown"));
  CHECK(says_so(page, "(cannot serve)"));
  CHECK(says_so(page, "`sdpa-wb remeasure floor`"));
  CHECK_FALSE(says_so(page_with_member("noise_floor_measured", {{"used", true}}), "cannot serve"));
}

TEST_CASE("the last floor that was used stands", "[report][fresh]") {
  const LogBuilder whole = whole_session();
  LogBuilder log;
  Json floor;
  for (const auto& [type, payload] : whole.events()) {
    log.add(type, payload);
    if (type == "noise_floor_measured" && payload["plan"] == "hot") floor = payload;
  }
  REQUIRE(floor.is_object());
  floor["floor_frac"] = 0.0412;
  floor["used"] = false;
  log.add("noise_floor_measured", floor);
  CHECK_FALSE(says_so(render_session(log.view()), "4.12 %"));
  floor["used"] = true;
  log.add("noise_floor_measured", floor);
  CHECK(says_so(render_session(log.view()), "4.1"));
}
