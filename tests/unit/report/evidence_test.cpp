// SPDX-License-Identifier: MIT
// From a log back to evidence, and the tables of what problems demand and kernels launch.
#include "report/evidence.hpp"
#include "core/json.hpp"

#include <set>

#include "analyze/analysis.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::report;
using namespace wb::test;

namespace {

void find(LogBuilder& log, std::int64_t iteration, const std::string& analysis,
          const std::string& problem, const Json& figures) {
  log.add("finding_recorded", {{"iteration", iteration},
                               {"analysis", analysis},
                               {"statement", "a sentence of " + analysis},
                               {"problem", problem},
                               {"figures", figures},
                               {"events", {1}},
                               {"unseen", ""}});
}

void find_demand(LogBuilder& log, std::int64_t iteration, const std::string& problem) {
  find(log, iteration, "intensity", problem,
       {{"intensity_flops_per_byte", 256.0},
        {"ridge_flops_per_byte", 206.1},
        {"qk_flops_per_byte", 51.2},
        {"softmax_flops_per_byte", 1.25},
        {"pv_flops_per_byte", 51.2},
        {"kv_reads", {{{"rows_per_block", 1}, {"kv_redundancy", 512.0}}}}});
  find(log, iteration, "working_set", problem,
       {{"kv_head_bytes", 131072},
        {"kv_head_fits_unit", true},
        {"tensor_bytes", 64.0 * 1024 * 1024},
        {"tensors_fit_last_cache", false}});
}

std::string squeezed(const std::string& page) {
  std::string out;
  for (const char c : page) {
    if (c != ' ' || out.empty() || out.back() != ' ') out += c;
  }
  return out;
}

}  // namespace

TEST_CASE("A log gives the times of the incumbent, of the start and of the rivals",
          "[report][evidence]") {
  const LogBuilder log = whole_session();
  const auto found = log_evidence(log.view());
  const Evidence& evidence = found.evidence;
  std::set<std::string> subjects;
  for (const Observation& one : evidence.observations) {
    subjects.insert(one.subject);
    CHECK(one.plan == PlanKind::hot);
    CHECK(one.measurement.median_us > 0);
    CHECK_FALSE(one.events.empty());
  }
  CHECK(subjects.contains(log.view().incumbent));
  CHECK(subjects.contains(k_start));
  CHECK(subjects.contains(k_torch));
  REQUIRE_FALSE(evidence.beside.empty());
  for (const Observation& other : evidence.beside) CHECK(other.subject == k_torch);
  std::string gaps;
  for (const std::string& gap : found.gaps) gaps += gap + "\n";
  CHECK(gaps.find("other plans than the objective's: cold, eager") != std::string::npos);
  CHECK_FALSE(analyze::analyze(evidence).empty());
}

TEST_CASE("A log without times, or without anything, gives no evidence and no error",
          "[report][evidence]") {
  LogBuilder log;
  open_session(log);
  const auto found = log_evidence(log.view());
  CHECK(found.evidence.observations.empty());
  CHECK(analyze::analyze(found.evidence).empty());
}

TEST_CASE("Held-out problems are evidence only when the session is closed", "[report][evidence]") {
  LogBuilder log;
  Json opened = opened_payload();
  opened["suite"]["problems"][1]["held_out"] = true;
  log.add("session_opened", opened);
  run_baseline(log);
  const auto open = log_evidence(log.view());
  for (const Observation& one : open.evidence.observations) {
    CHECK(to_text(one.problem) == k_prefill);
  }
  std::string gaps;
  for (const std::string& gap : open.gaps) gaps += gap + "\n";
  CHECK(gaps.find("1 held-out problem is left out") != std::string::npos);
  close_session(log, "done");
  const auto closed = log_evidence(log.view());
  CHECK(closed.evidence.observations.size() > open.evidence.observations.size());
}

TEST_CASE("What the problems demand is a table on the page of the session", "[report][evidence]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  find_demand(log, 0, k_prefill);
  run_win(log, 1);  // the incumbent has no such findings of its own: they are said once
  const std::string page = squeezed(render_session(log.view()));
  CHECK(page.find("What the problems demand, in FLOP per byte") != std::string::npos);
  CHECK(
      page.find("| 256 | 206 | 51.2 | 1.25 | 51.2 | 512x | 128 KiB, fits | 64 MiB, too large |") !=
      std::string::npos);
  CHECK(page.find("a sentence of intensity") == std::string::npos);
}

TEST_CASE("What a call launches is a table, and what was not seen a line", "[report][evidence]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  find(log, 0, "launch", k_prefill,
       {{"kernel", "flash"},
        {"blocks", 256},
        {"threads_per_block", 128},
        {"units_frac", 1.0},
        {"waves", 0.646},
        {"occupancy_frac", 0.1875},
        {"kv_redundancy", 8.0}});
  find(log, 0, "launch", k_decode, {{"kernel", "`a|b`\n# x"}, {"blocks", "many"}});
  find(log, 0, "launch", "", {{"subject", "other"}});
  const std::string page = squeezed(render_iteration(log.view(), log.view().iterations.at(0)));
  CHECK(page.find("| 256 | 128 | 100 % | 0.65 | 19 % | 8x |") != std::string::npos);
  CHECK(page.find("| not seen | not seen | not seen | not known |") != std::string::npos);
  CHECK(page.find("\n# x") == std::string::npos);
  CHECK(page.find("- launch: a sentence of launch") != std::string::npos);
}
