// SPDX-License-Identifier: MIT
// The status screen and `sdpa-wb show` of single events.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

TEST_CASE("status works on a brief fold", "[report][status]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  run_win(log, 1);
  open_iteration(log, 2, "cpu_next@33334444", "theory", 1.3);
  for (IterationView& iteration : log.view().iterations) {
    iteration.verdicts.clear();
    iteration.comparisons.clear();
    iteration.findings.clear();
  }
  const std::string screen = render_status(log.view());
  CHECK(screen.find("status     open, iteration 2 in flight: cpu_next@33334444\n") !=
        std::string::npos);
  CHECK(screen.find("incumbent  cpu_tiled@1f0c44a1\n") != std::string::npos);
  CHECK(screen.find("best       2.65x [2.61, 2.70] over the start, confirmed [e") !=
        std::string::npos);
  CHECK(screen.find("last       iteration 1: win [e") != std::string::npos);
  CHECK(screen.find("2 of 3 evaluations, ") != std::string::npos);
  CHECK(std::count(screen.begin(), screen.end(), '\n') <= 12);
}

TEST_CASE("showing a turn prints every sample and the median", "[report][status]") {
  const Event event{12,
                    "2026-11-20T18:03:22.123Z",
                    "turn_measured",
                    {{"subject", "cpu_tiled@1f0c44aa"},
                     {"problem", k_prefill},
                     {"plan", "hot"},
                     {"samples_us", {12.5, 11.25, 13.0, 11.75}},
                     {"flags", {"resolution_limited"}}}};
  const std::string text = render_event(event);
  CHECK(text.find("e12  turn_measured  2026-11-20T18:03:22.123Z\n") == 0);
  CHECK(text.find("samples, us per call (4):\n        12.500     11.250     13.000     11.750\n") !=
        std::string::npos);
  CHECK(text.find("median 12.125 us, min 11.250 us") != std::string::npos);
  CHECK(text.find("flags: [\"resolution_limited\"]") != std::string::npos);
}

TEST_CASE("samples that are no numbers are counted, not hidden", "[report][status]") {
  const Event event{3, "t", "turn_measured", {{"samples_us", {1.0, nullptr, "x"}}}};
  const std::string text = render_event(event);
  CHECK(text.find("2 are not finite numbers") != std::string::npos);
  CHECK(render_event({3, "t", "turn_measured", {{"samples_us", Json::array()}}}).find("median") ==
        std::string::npos);
}

TEST_CASE("showing any event prints its payload safely", "[report][status]") {
  const Event event{5,
                    "t",
                    "variant_built",
                    {{"message", "line one\nline \x1b[31mtwo"},
                     {"configuration", {{"TILE_M", 32}}},
                     {"runs", {{{"draw", "normal"}, {"share", 0.25}}}},
                     {"log_blob", nullptr}}};
  const std::string text = render_event(event);
  CHECK(text.find("  message:\n  line one\n  line {U+001B}[31mtwo\n") != std::string::npos);
  CHECK(text.find("  configuration:\n    TILE_M: 32\n") != std::string::npos);
  CHECK(text.find("  runs: 1 item\n    [0]:\n      draw: normal\n      share: 0.25\n") !=
        std::string::npos);
  CHECK(text.find("  log_blob: none\n") != std::string::npos);
  CHECK(render_event({5, "t", "odd", Json::array({1, 2})}).find("payload: [1,2]") !=
        std::string::npos);
}
