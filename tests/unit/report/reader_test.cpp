// SPDX-License-Identifier: MIT
// What a reader who did not follow the session needs: who the rival is, plans side by side, which
// figures are missing and why, how the hypotheses were decided, how much evidence there is, and
// what to do next.
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/facts.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

std::string section_of(const std::string& page, const std::string& title) {
  const auto at = page.find("\n## " + title + "\n");
  REQUIRE(at != std::string::npos);
  return page.substr(at, page.find("\n## ", at + 4) - at);
}

bool page_has(const std::string& page, const std::string& words) {
  return page.find(words) != std::string::npos;
}

/// A baseline whose rival says `versions` in its build or in its verdicts.
LogBuilder with_versions(const Json& at_build, const Json& at_verdict,
                         const std::string& compiler = "") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  build(log, 0, k_torch, compiler);
  if (!at_build.is_null()) log.view().iterations[0].built.back().payload["versions"] = at_build;
  for (const char* problem : {k_prefill, k_decode}) {
    judge(log, 0, k_start, problem, 0.3);
    judge(log, 0, k_torch, problem, 0.3, "", at_verdict);
    Versus versus{.candidate = k_start, .against = k_torch, .role = "rival", .phase = "baseline"};
    versus.problem = problem;
    compare(log, 0, versus);
  }
  close_iteration(log, 0, "baseline");
  return log;
}

/// The win's comparison under one plan, to be changed by a test.
Json& comparison(LogBuilder& log, const char* role, const char* problem, const char* plan) {
  for (Fact& fact : log.view().iterations[1].comparisons) {
    const bool is_it = fact.payload["role"] == role && fact.payload["problem"] == problem &&
                       fact.payload["plan"] == plan && fact.payload["phase"] == "confirmation";
    if (is_it) return fact.payload;
  }
  throw std::logic_error("no such comparison");
}

}  // namespace

TEST_CASE("the rival's version comes from what it said when it was loaded", "[report][reader]") {
  const Json versions{{"python", "3.11.7"}, {"torch", "2.13.0+cpu"}};
  for (const LogBuilder& log : {with_versions(versions, nullptr), with_versions(nullptr, versions),
                                with_versions(nullptr, versions, "built by something else")}) {
    const std::string page = render_session(log.view());
    CHECK(page_has(line_with(page, "- **Lost:**"), "`torch_cpu` (torch 2.13.0+cpu)"));
    CHECK(page_has(line_with(page, "| speedup ["), "over `torch_cpu` (torch 2.13.0+cpu)"));
    // The interpreter is named where the rivals are introduced.
    CHECK(page_has(section_of(page, "Baseline"), "(torch 2.13.0+cpu, python 3.11.7) [e3]"));
  }
}

TEST_CASE("a rival without a version says so", "[report][reader]") {
  for (const Json& versions : {Json(), Json::object(), Json{{"build_id", "77aa"}}, Json("2.13.0"),
                               Json{{"torch", 2}, {"python", nullptr}}}) {
    INFO(versions.dump());
    const std::string page = render_session(with_versions(versions, versions).view());
    CHECK(page_has(line_with(page, "- **Lost:**"), "(version not recorded)"));
  }
  const std::string page = render_session(with_versions(nullptr, nullptr, "g++ 12.2.0").view());
  CHECK(page_has(line_with(page, "- **Lost:**"), "`torch_cpu` (g++ 12.2.0)"));
}

TEST_CASE("a problem's row has every plan side by side, each with its event", "[report][reader]") {
  const LogBuilder log = whole_session();
  const std::string result = section_of(render_session(log.view()), "Result");
  const std::string before = result.substr(0, result.find("Against the rival"));
  const std::string rival = result.substr(before.size());
  CHECK(page_has(line_with(before, "| problem"), "hot burst"));
  CHECK(page_has(line_with(before, "| problem"), "| cold "));
  CHECK(page_has(line_with(before, "| problem"), "| eager "));
  const std::string decode = line_with(rival, "| decode");
  CHECK(page_has(decode, "|        373.6 |    249.4 | 0.67x [0.65, 0.69], slower [e"));
  std::size_t cited = 0;
  for (auto at = decode.find("[e"); at != std::string::npos; at = decode.find("[e", at + 1))
    ++cited;
  CHECK(cited == 3);
  CHECK(page_has(line_with(before, "| **objective**"), "2.39x [2.35, 2.43], faster [e"));
}

TEST_CASE("what has no figure says why, once", "[report][reader]") {
  LogBuilder log = whole_session();
  for (const char* problem : {k_prefill, k_decode}) {
    Json& payload = comparison(log, "rival", problem, "cold");
    payload["speedup"] = payload["interval"] = payload["against_us"] = nullptr;
    payload["outcome"] = "ambiguous";
    payload["reason"] = std::string("too busy for ") + k_decode;
  }
  const std::string page = render_session(log.view());
  const std::string result = section_of(page, "Result");
  CHECK(page_has(result,
                 "- no figure (too busy for decode): prefill cold [e111], decode cold [e112]"));
  CHECK(page_has(line_with(result.substr(result.find("Against the rival")), "| decode"),
                 "| no figure [e112] "));
  CHECK(page_has(
      section_of(page, "Next steps"),
      "Measure cold again when the machine is quiet: 2 comparisons without a figure [e111] "
      "[e112]."));
}

TEST_CASE("a figure with other repeats or flags is marked", "[report][reader]") {
  LogBuilder log = whole_session();
  comparison(log, "rival", k_decode, "hot")["instances"] = 1;
  std::string result = section_of(render_session(log.view()), "Result");
  CHECK(page_has(result, "0.67x [0.65, 0.69], slower (1 x 3) [e"));
  CHECK(page_has(result, "Behind each figure: 5 x 3 fresh processes x rounds"));
  CHECK_FALSE(page_has(result, "(`resolution_limited`)"));
  comparison(log, "rival", k_decode, "hot")["flags"] = {"resolution_limited"};
  result = section_of(render_session(log.view()), "Result");
  CHECK(page_has(result, "slower (1 x 3) (`resolution_limited`) [e"));
}

TEST_CASE("the words of the tables are explained", "[report][reader]") {
  const std::string page = render_session(whole_session().view());
  for (const char* word : {"`faster`", "`same`", "`ambiguous`", "`resolution_limited`"}) {
    INFO(word);
    CHECK(page_has(section_of(page, "Baseline"), word));
  }
}

TEST_CASE("hypotheses: predicted beside measured and how it was decided", "[report][reader]") {
  const LogBuilder log = whole_session();
  const std::string hypotheses = section_of(render_session(log.view()), "Hypotheses");
  const std::string first = line_with(hypotheses, "|   1 |");
  for (const char* words : {"2.50x [e35]", "2.65x [e", "[2.61, 2.70]", "confirmed", "within",
                            "the range of the predicted 2.500x [e124]"}) {
    INFO(words);
    CHECK(page_has(first, words));
  }
  CHECK(page_has(line_with(hypotheses, "|   2 |"), "[0.995, 1.011] (selection)"));
  CHECK(page_has(line_with(hypotheses, "|   3 |"), "not measured"));
}

TEST_CASE("correctness says what it rests on and what came closest", "[report][reader]") {
  const LogBuilder log = whole_session();
  const std::string correctness = section_of(render_session(log.view()), "Correctness");
  // 9 verdicts of 4 runs; prefill 131072 elements, decode 2048, the edge shape 256.
  CHECK(page_has(correctness, "9 of 9 verdicts passed, on 3 problems"));
  CHECK(page_has(correctness, "36 judged runs (9 large, 27 normal draws) with 4 different seeds"));
  CHECK(4 * (4 * 131072 + 4 * 2048 + 256) == 2130944);
  CHECK(page_has(correctness, ", 2.13 million output elements."));
  CHECK(
      page_has(correctness,
               "`cpu_tiled@1f0c44a1` came closest to its limit: 42 % of the error budget [e37] on "
               "prefill, max rule"));
}

TEST_CASE("a failed verdict never counts as the closest that passed", "[report][reader]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  judge(log, 0, k_start, k_prefill, 0.3);
  judge(log, 0, k_torch, k_prefill, 7.5, "block 3 exceeds its budget");
  const std::string correctness = section_of(render_session(log.view()), "Correctness");
  CHECK(page_has(correctness, "1 of 2 verdicts passed"));
  CHECK(page_has(correctness, "`cpu_unfused@5a11ce00` came closest to its limit: 30 %"));
}

TEST_CASE("next steps come from facts and cite them", "[report][reader]") {
  LogBuilder log = whole_session();
  Json& lost = comparison(log, "incumbent", k_decode, "hot");
  lost["speedup"] = 0.5;
  lost["interval"] = interval(0.48, 0.52);
  lost["outcome"] = "slower";
  Json& unsure = comparison(log, "rival", k_prefill, "hot");
  unsure["outcome"] = "ambiguous";
  log.view().noise_floors[0].payload["floor_frac"] = 0.08;
  const std::string steps = section_of(render_session(log.view()), "Next steps");
  for (const char* words :
       {"1. Use cpu_tiled@1f0c44a1 in place of the start; keep torch_cpu on decode.",
        // The start is the best variant there, so the gap is the start's.
        "Close the gap on decode: 0.44x [0.43, 0.45] [e25] of torch_cpu.",
        "Look at decode: it takes 9.1 times its bound, the roofline, so at most 9.1x is left [e",
        "Look at prefill: it takes 4.2 times its bound, the roofline, so at most 4.2x is left [e",
        "Measure prefill beside torch_cpu again with more processes or rounds: 1.16x [1.13, 1.18] "
        "[e105].",
        "Mend `cpu_simd@00dead03` (iteration 3, compile [e",
        "Find what disturbs prefill: its noise floor is 8.0 % [e22]",
        "Do not try again here without new evidence: `cpu_online@9e3d00b2` [e"}) {
    INFO(words);
    CHECK(page_has(steps, words));
  }
  // Each step rests on an event; the first follows from all of them.
  std::istringstream lines(steps);
  int n = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || std::isdigit(static_cast<unsigned char>(line[0])) == 0) continue;
    ++n;
    INFO(line);
    if (n > 1) CHECK(page_has(line, "[e"));
  }
  CHECK(n == 8);
}

TEST_CASE("a win below its prediction asks what holds it back", "[report][reader]") {
  LogBuilder log = whole_session();
  session::IterationView& won = log.view().iterations[1];
  won.opened.payload["hypothesis"]["predicted_speedup"] = 3.5;
  won.hypothesis->payload["predicted_speedup"] = 3.5;
  won.hypothesis->payload["size"] = "below";
  const std::string page = render_session(log.view());
  CHECK(page_has(section_of(page, "Next steps"),
                 "Find what holds `cpu_tiled@1f0c44a1` back: iteration 1 predicted 3.50x [e35] and "
                 "measured 2.65x [2.61, 2.70], faster [e104]."));
  CHECK(page_has(line_with(section_of(page, "Hypotheses"), "|   1 |"), "| confirmed "));
  CHECK(page_has(section_of(page, "Hypotheses"),
                 "**Mechanism confirmed, but gained less than predicted: 1**"));
}

TEST_CASE("lines of the first screen stay readable", "[report][reader]") {
  LogBuilder log = whole_session();
  for (Json& entry : log.view().opened.payload["suite"]["problems"]) entry["name"] = "";
  const std::string page = render_session(log.view());
  std::istringstream lines(page.substr(0, page.find("\n## ")));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 260);
  }
}
