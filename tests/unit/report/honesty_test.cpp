// SPDX-License-Identifier: MIT
// What a page must never say: a gain that is noise, a rival that failed, a figure without its
// event.
#include <regex>
#include <sstream>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/format.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

std::string first_screen_of(const std::string& page) {
  return page.substr(0, page.find("\n## "));
}

/// Baseline, then one iteration whose objective came out as said, in one phase.
LogBuilder one_try(const std::string& outcome, const std::string& phase, double low, double high) {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  open_iteration(log, 1, "cpu_tiled@11112222", "theory", 1.3);
  judge(log, 1, "cpu_tiled@11112222", k_prefill, 0.3);
  judge(log, 1, "cpu_tiled@11112222", k_decode, 0.3);
  Versus versus;
  versus.candidate = "cpu_tiled@11112222";
  versus.against = k_start;
  versus.phase = phase;
  versus.speedup = (low + high) / 2;
  versus.low = low;
  versus.high = high;
  versus.outcome = outcome;
  compare(log, 1, versus);
  decide(log, 1, outcome == "ambiguous" ? "undecided" : "refuted", outcome);
  close_iteration(log, 1, "no_gain");
  return log;
}

}  // namespace

TEST_CASE("the first screen fits in 15 lines and names what counts", "[report][honesty]") {
  const std::string screen = first_screen_of(render_session(whole_session().view()));
  CHECK(std::count(screen.begin(), screen.end(), '\n') <= 15);
  for (const char* words :
       {"**Outcome:**", "**Gain:**", "**Lost:**", "**Resolution:**", "**Spend:**", "**Headroom:**",
        "**Recommendation:**", "hot burst", "cold", "eager", "torch 2.13.0", "99 % interval",
        "3 iterations (2 evaluations)"}) {
    INFO(words);
    CHECK(screen.find(words) != std::string::npos);
  }
}

TEST_CASE("every ratio is followed by its event, and every event exists", "[report][honesty]") {
  const LogBuilder log = whole_session();
  const std::string page = render_session(log.view());
  const std::regex interval(R"(\d+(\.\d+)?x \[\d+(\.\d+)?, \d+(\.\d+)?\])");
  std::istringstream lines(page);
  std::ptrdiff_t figures = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::ptrdiff_t here =
        std::distance(std::sregex_iterator(line.begin(), line.end(), interval), {});
    if (here == 0) continue;
    figures += here;
    INFO(line);
    CHECK(line.find("[e") != std::string::npos);
  }
  CHECK(figures > 30);
  const std::regex event(R"(\[e(\d+)\])");
  for (std::sregex_iterator at(page.begin(), page.end(), event), end; at != end; ++at) {
    const long long seq = std::stoll((*at)[1].str());
    CHECK(seq >= 1);
    CHECK(seq <= log.last());
  }
}

TEST_CASE("figures cite the events that hold them", "[report][honesty]") {
  const LogBuilder log = whole_session();
  const std::string gain = line_with(render_session(log.view()), "- **Gain:**");
  const std::regex event(R"(2\.65x \[2\.61, 2\.70\].*?\[e(\d+)\])");
  std::smatch match;
  REQUIRE(std::regex_search(gain, match, event));
  const auto& [type, payload] = log.events()[std::stoull(match[1].str()) - 1];
  CHECK(type == "comparison_made");
  CHECK(payload["speedup"] == 2.655);
  CHECK(payload["phase"] == "confirmation");
}

TEST_CASE("same and ambiguous are never a gain", "[report][honesty]") {
  for (const char* outcome : {"same", "ambiguous"}) {
    const LogBuilder log = one_try(outcome, "confirmation", 0.98, 1.12);
    const std::string page = render_session(log.view());
    INFO(outcome);
    CHECK(line_with(page, "- **Gain:**").find("none:") != std::string::npos);
    CHECK(first_screen_of(page).find("1.05x") == std::string::npos);
    // An interval that reaches beyond a tenth is the same as nothing, whatever an older log said.
    const std::string word =
        std::string(outcome) == "same" ? "ambiguous (recorded as same)" : outcome;
    CHECK(page.find(word + ", 1.05x [0.98, 1.12]") != std::string::npos);
    CHECK(line_with(page, "- **Recommendation:**").find("develop the start") != std::string::npos);
  }
}

TEST_CASE("a narrow same stays one", "[report][honesty]") {
  const std::string page = render_session(one_try("same", "confirmation", 0.98, 1.02).view());
  CHECK(page.find("recorded as same") == std::string::npos);
  CHECK(page.find("same, 1.00x [0.98, 1.02]") != std::string::npos);
}

TEST_CASE("a gain seen at selection only is not a gain", "[report][honesty]") {
  const LogBuilder log = one_try("faster", "selection", 1.2, 1.4);
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Gain:**").find("none:") != std::string::npos);
  CHECK(first_screen_of(page).find("1.30x") == std::string::npos);
  CHECK(page.find("1.30x [1.20, 1.40], faster (selection only, not confirmed)") !=
        std::string::npos);
}

TEST_CASE("a selection figure gives way to its confirmation", "[report][honesty]") {
  const std::string page = render_session(whole_session().view());
  CHECK(page.find("2.71x") == std::string::npos);
}

TEST_CASE("a rival that failed its verdict never serves as SDPA", "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  build(log, 0, k_torch, "torch 2.13.0");
  for (const char* problem : {k_prefill, k_decode}) judge(log, 0, k_start, problem, 0.3);
  judge(log, 0, k_torch, k_prefill, 0.3);
  judge(log, 0, k_torch, k_decode, 1.9, "block 3 exceeds its budget");
  Versus versus;
  versus.candidate = k_start;
  versus.against = k_torch;
  versus.role = "rival";
  versus.phase = "baseline";
  for (const char* problem : {k_prefill, k_decode, ""}) {
    versus.problem = problem;
    versus.speedup = versus.problem == k_prefill ? 0.4 : 7.77;
    versus.low = versus.speedup * 0.98;
    versus.high = versus.speedup * 1.02;
    versus.candidate_us = 100, versus.against_us = 777;
    versus.outcome = versus.problem == k_prefill ? "slower" : "faster";
    compare(log, 0, versus);
  }
  close_iteration(log, 0, "baseline");
  const std::string page = render_session(log.view());
  CHECK(page.find("7.77") == std::string::npos);
  CHECK(page.find("**failed** its verdict on 1 problem: block 3 exceeds its budget") !=
        std::string::npos);
  CHECK(page.find("left out: the rival failed") != std::string::npos);
  CHECK(line_with(page, "- **Lost:**").find("1 of 1 problem") != std::string::npos);
  CHECK(line_with(page, "- **Lost:**").find("not compared 1") != std::string::npos);

  // With nothing passed it is not even named in the comparison line's place.
  judge(log, 0, k_torch, k_prefill, 1.5, "NaN in block 0");
  const std::string all_failed = render_session(log.view());
  CHECK(line_with(all_failed, "- **Lost:**").find("unknown: the rival") != std::string::npos);
  CHECK(all_failed.find("0.40x") == std::string::npos);
  CHECK(line_with(all_failed, "| hot burst (decides)").find("none stands") != std::string::npos);
}

TEST_CASE("a rival that was never judged does not stand", "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  Versus versus;
  versus.candidate = k_start;
  versus.against = k_torch;
  versus.role = "rival";
  versus.phase = "baseline";
  versus.problem = k_prefill;
  versus.speedup = 3.33;
  compare(log, 0, versus);
  const std::string page = render_session(log.view());
  CHECK(page.find("3.33x") == std::string::npos);
  CHECK(page.find("no passing verdict") != std::string::npos);
}

TEST_CASE("without a figure over the suite the worst problem is shown, with its event",
          "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  run_win(log, 1);
  auto& comparisons = log.view().iterations[1].comparisons;
  std::erase_if(comparisons, [](const Fact& fact) {
    const bool decides = fact.payload["plan"] == "hot" && fact.payload["role"] == "incumbent";
    return fact.payload["problem"].is_null() && !decides;
  });
  const std::string page = render_session(log.view());
  const std::string hot = line_with(page, "| hot burst (decides)"),
                    cold = line_with(page, "| cold");
  CHECK(hot.find("| 2.65x [2.61, 2.70], faster [e") != std::string::npos);
  CHECK(cold.find("| faster on 2 of 2, worst 2.20x [2.13, 2.25], faster [e") != std::string::npos);
  CHECK(cold.find("| faster on 1 of 2, worst 0.67x [0.65, 0.69], slower [e") != std::string::npos);
}

TEST_CASE("an incumbent of an iteration that was never closed does not count",
          "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  run_win(log, 1);
  for (const bool abandoned : {false, true}) {
    LogBuilder cut = log.prefix(log.events().size() - 2);  // neither closed nor committed
    REQUIRE(cut.view().iterations[1].incumbent_changed.has_value());
    if (abandoned) close_iteration(cut, 1, "abandoned", "", "the session was interrupted");
    const std::string page = render_session(cut.view());
    CHECK(line_with(page, "- **Gain:**").find("none:") != std::string::npos);
    CHECK(cut.view().incumbent == k_start);
  }
}

TEST_CASE("findings of the objective's plan give the headroom", "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  find_roofline(log, 0, "prefill", 0.25);
  log.view().iterations[0].findings[0].payload["figures"]["byte_share_frac"] = 0.001;
  Fact eager = log.view().iterations[0].findings[0];
  eager.payload["figures"]["plan"] = "eager";
  eager.payload["figures"]["share_frac"] = 0.01;
  log.view().iterations[0].findings.push_back(eager);
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Headroom:**").find("most on prefill: 25 %") != std::string::npos);
  CHECK(line_with(page, "- **Headroom:**").find("up to 4.0x left") != std::string::npos);
}

TEST_CASE("two wins are shown as a product of what is printed", "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  run_win(log, 1);
  run_win(log, 2);
  const std::string page = render_session(log.view());
  // 2.655 x 2.655 = 7.049; the ends 2.61^2 = 6.812 and 2.7^2 = 7.290.
  CHECK(line_with(page, "- **Gain:**").find("7.05x [6.81, 7.29]") != std::string::npos);
  CHECK(line_with(page, "- **Gain:**").find("product of 2 confirmed steps") != std::string::npos);
  CHECK(page.find("were not measured side by side") != std::string::npos);
  CHECK(line_with(page, "|           | **product**").find("7.049x") != std::string::npos);
}

TEST_CASE("words that would overstate do not occur", "[report][honesty]") {
  const LogBuilder log = whole_session();
  std::string all = render_session(log.view());
  for (const auto& iteration : log.view().iterations)
    all += render_iteration(log.view(), iteration);
  for (const char* words :
       {"bit-exact", "bit exact", "perfect", "proves", "nan", "inf ", "-0.00"}) {
    INFO(words);
    CHECK(all.find(words) == std::string::npos);
  }
  // Ratios are said one way only: never "22x slower".
  CHECK_FALSE(std::regex_search(all, std::regex(R"(\dx (slower|faster))")));
}

TEST_CASE("a figure without a verdict is reported", "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  open_iteration(log, 1, "cpu_tiled@11112222", "theory", 1.3);
  Versus versus;
  versus.candidate = "cpu_tiled@11112222";
  versus.against = k_start;
  versus.problem = k_prefill;
  versus.speedup = 1.5;
  const std::int64_t seq = compare(log, 1, versus);
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- [ ] every figure belongs").find(report::ref(seq)) != std::string::npos);
}

TEST_CASE("held-out shapes are hidden until the session is closed", "[report][honesty]") {
  const auto make = [](bool closed) {
    LogBuilder log;
    Json opened = opened_payload();
    opened["suite"]["problems"][1]["held_out"] = true;
    opened["suite"]["problems"][1]["name"] = "secret_decode";
    log.add("session_opened", opened);
    run_baseline(log);
    run_win(log, 1);
    if (closed) close_session(log, "done");
    return log;
  };
  const LogBuilder open = make(false), closed = make(true);
  for (const std::string& text :
       {render_session(open.view()), render_iteration(open.view(), open.view().iterations[1]),
        render_iteration(closed.view(), closed.view().iterations[1]),
        iteration_json(open.view(), open.view().iterations[1]).dump()}) {
    CHECK(text.find(k_decode) == std::string::npos);
    CHECK(text.find("secret_decode") == std::string::npos);
    CHECK(text.find("held-out 1") != std::string::npos);
  }
  const std::string page = render_session(closed.view());
  CHECK(page.find(k_decode) != std::string::npos);
  CHECK(page.find("secret_decode (held out)") != std::string::npos);
}

TEST_CASE("an iteration page does not change when its iteration is closed", "[report][honesty]") {
  const LogBuilder log = whole_session();
  for (const IterationView& iteration : log.view().iterations) {
    IterationView before = iteration;
    before.committed.reset();
    Fact closing = *before.closed;
    closing.seq = 0;
    // As the engine hands it over: what will be closed, not yet in the log.
    before.closed = closing;
    CHECK(render_iteration(log.view(), before) == render_iteration(log.view(), iteration));
    CHECK(iteration_json(log.view(), before) == iteration_json(log.view(), iteration));
  }
}
