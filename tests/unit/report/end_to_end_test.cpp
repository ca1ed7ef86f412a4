// SPDX-License-Identifier: MIT
// A suite from a profile: the effect of the kernels' gains on the whole program.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

namespace {

/// One confirmed win with these speedups; prefill and decode have these shares of the profile.
std::string page_with(std::optional<double> prefill, std::optional<double> decode,
                      bool decode_confirmed = true) {
  Json opened = opened_payload();
  Json& problems = opened["suite"]["problems"];
  if (prefill) problems[0]["share_frac"] = *prefill;
  if (decode) problems[1]["share_frac"] = *decode;
  LogBuilder log;
  log.add("session_opened", opened);
  open_iteration(log, 0, k_start, "", 0);
  close_iteration(log, 0, "baseline");
  const std::string winner = "cpu_tiled@00000001";
  open_iteration(log, 1, winner, "tiles reuse keys", 1.5);
  Versus versus{.candidate = winner, .against = k_start};
  versus.problem = k_prefill;
  versus.speedup = 2, versus.low = 1.6, versus.high = 2.5;
  compare(log, 1, versus);
  versus.problem = k_decode;
  versus.speedup = versus.low = versus.high = 4;
  if (!decode_confirmed) versus.phase = "selection";
  compare(log, 1, versus);
  versus.phase = "confirmation";
  versus.problem = "";
  compare(log, 1, versus);
  change_incumbent(log, 1, k_start, winner, 2.8, 2.5, 3.1);
  close_iteration(log, 1, "win");
  return render_session(log.view());
}

bool says(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("shares and gains make the gain end to end", "[report][profile]") {
  // 1 / (1 - 0.4 (1 - 1/2) - 0.2 (1 - 1/4)) = 1.538; with 1.6 it is 1.429, with 2.5 1.639.
  const std::string line = line_with(page_with(0.4, 0.2), "End to end:");
  INFO(line);
  CHECK(says(line, "1.54x [1.43, 1.64]"));
  CHECK(says(line, "60.00 % of the profile's GPU span"));
  // Gains are over the start: nothing was compared with what the profile ran.
  CHECK(says(line, std::string("for a program that ran `") + k_start));
  CHECK_FALSE(says(line, "profiled program"));
  CHECK(says(line, "[e"));
  const std::string page = page_with(0.4, 0.2);
  CHECK(says(page, "share of the profile"));
  CHECK(says(page, "40.00 %"));
}

TEST_CASE("without shares nothing is said of the end to end", "[report][profile]") {
  const std::string page = page_with({}, {});
  CHECK_FALSE(says(page, "End to end"));
  CHECK_FALSE(says(page, "share of the profile"));
}

TEST_CASE("what is not confirmed counts as unchanged and is named", "[report][profile]") {
  const std::string line = line_with(page_with(0.4, 0.2, false), "End to end:");
  CHECK(says(line, "1.25x"));
  CHECK(says(line, "counted as unchanged: decode"));
}

TEST_CASE("shares that overlap make no figure", "[report][profile]") {
  CHECK(says(page_with(0.8, 0.7), "End to end: not known"));
}
