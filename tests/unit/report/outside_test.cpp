// SPDX-License-Identifier: MIT
// The report shows what `compare` measured between iterations, the fastest opponent first.
#include <cmath>
#include <limits>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

namespace {

std::string row(std::string_view page, const std::string& problem) {
  const std::size_t section = page.find("## Compared between iterations");
  REQUIRE(section != std::string_view::npos);
  const std::size_t at = page.find("\n| " + problem, section);
  REQUIRE(at != std::string_view::npos);
  return std::string(page.substr(at + 1, page.find('\n', at + 1) - at - 1));
}

Json standalone(const std::string& against, const std::string& problem, double speedup) {
  const bool has_figure = std::isfinite(speedup);
  return {{"iteration", nullptr},
          {"phase", "standalone"},
          {"problem", problem},
          {"plan", "hot"},
          {"candidate", "cpu_tiled@0a456fdf"},
          {"against", against},
          {"role", "rival"},
          {"speedup", has_figure ? Json(speedup) : Json()},
          {"interval", has_figure ? interval(speedup - 0.01, speedup + 0.01) : Json()},
          {"outcome", has_figure ? (speedup < 1 ? "slower" : "faster") : "ambiguous"},
          {"candidate_us", 50.0},
          {"against_us", has_figure ? 50.0 * speedup : 0.0},
          {"instances", 5},
          {"rounds", 5}};
}

}  // namespace

TEST_CASE("of others in the same turns the fastest comes first", "[report][outside]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  log.add("comparison_made", standalone("torch_math@11111111", k_prefill, 3.0));
  const std::int64_t fastest =
      log.add("comparison_made", standalone("torch_flash@22222222", k_prefill, 1.5));
  log.add("comparison_made",
          standalone("torch_cudnn@33333333", k_prefill, std::numeric_limits<double>::quiet_NaN()));
  const std::int64_t slower =
      log.add("comparison_made", standalone("torch_math@11111111", k_decode, 0.8));
  // The same question again is another row, not one more opponent.
  log.add("comparison_made", standalone("torch_math@11111111", k_decode, 0.9));
  const std::string page = render_session(log.view());

  const std::string prefill = row(page, "prefill");
  CHECK(prefill.find("`torch_flash`") < prefill.find("1.50x"));
  CHECK(prefill.find("[e" + std::to_string(fastest) + "]") < prefill.find("`torch_math`"));
  CHECK(prefill.find("`torch_math` 3.000x") != std::string::npos);
  // Without a figure, last.
  CHECK(prefill.find("`torch_math`") < prefill.find("`torch_cudnn`"));
  const std::string decode = row(page, "decode");
  CHECK(decode.find("0.80x") != std::string::npos);
  CHECK(decode.find("slower [e" + std::to_string(slower) + "]") != std::string::npos);
  CHECK(page.find("\n| decode", page.find("0.80x")) != std::string::npos);
}

TEST_CASE("the regime of such a comparison is its own, not the objective's", "[report][outside]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  Json said = standalone("torch_math@11111111", k_prefill, 1.5);
  said["regime"] = "sustained";
  log.add("comparison_made", said);
  log.add("comparison_made", standalone("torch_math@11111111", k_decode, 0.8));
  const std::string page = render_session(log.view());
  CHECK(row(page, "prefill").find("| hot sustained |") != std::string::npos);
  CHECK(row(page, "decode").find("| hot ") != std::string::npos);
}

TEST_CASE("a session without such comparisons has no such section", "[report][outside]") {
  CHECK(render_session(whole_session().view()).find("## Compared between") == std::string::npos);
}
