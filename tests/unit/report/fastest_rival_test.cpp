// SPDX-License-Identifier: MIT
// Several rivals: which one is named first, and which is SDPA on a problem.
#include <cmath>
#include <limits>
#include <map>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::test;

namespace {

constexpr const char* k_chunk = "B=1 Hq=8 Hkv=8 Sq=64 Skv=512 D=64 f32 causal=none";
constexpr double k_no_figure = std::numeric_limits<double>::quiet_NaN();

/// A rival that stands on those problems in the baseline, with the start's speedup beside it; the
/// others it does not take.
void add_rival(LogBuilder& log, const std::string& name,
               const std::map<std::string, double>& speedups) {
  build(log, 0, name, name + " 1.0");
  for (const auto& [problem, speedup] : speedups) {
    judge(log, 0, name, problem, 0.3);
    Versus versus{.candidate = k_start, .against = name, .role = "rival", .phase = "baseline"};
    versus.problem = problem;
    versus.speedup = versus.low = versus.high = speedup;
    versus.outcome = std::isnan(speedup) ? "ambiguous" : speedup < 1 ? "slower" : "faster";
    compare(log, 0, versus);
  }
}

void open_baseline(LogBuilder& log) {
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  judge(log, 0, k_start, k_prefill, 0.3);
}

/// The page after the baseline closed.
std::string closed_page(LogBuilder log) {
  close_iteration(log, 0, "baseline");
  return render_session(log.view());
}

/// prefill, decode and chunk, none of them measured yet.
void open_three_problems(LogBuilder& log) {
  Json opened = opened_payload();
  opened["suite"]["problems"].push_back(
      {{"problem", k_chunk}, {"name", "chunk"}, {"weight", 1.0}, {"held_out", false}});
  log.add("session_opened", opened);
  open_iteration(log, 0, k_start, "", 0);
  judge(log, 0, k_start, k_prefill, 0.3);
}

bool says(const std::string& words, const std::string& part) {
  return words.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the strongest rival is named first", "[report][honesty]") {
  LogBuilder log;
  open_baseline(log);
  add_rival(log, "aaa_math@00000001", {{k_prefill, 1.8}, {k_decode, 1.8}});
  add_rival(log, "torch_flash@00000002", {{k_prefill, 0.5}, {k_decode, 0.5}});
  add_rival(log, "zzz_other@00000003", {{k_prefill, 0.9}, {k_decode, 0.9}});
  const std::string page = closed_page(log);
  CHECK(line_with(page, "- **Lost:**").find("torch_flash@00000002") != std::string::npos);
  CHECK(line_with(page, "| speedup [").find("over `torch_flash@00000002`") != std::string::npos);
  // The others are still in the tables.
  CHECK(page.find("`aaa_math@00000001`") != std::string::npos);
}

TEST_CASE("SDPA is the fastest rival of each problem", "[report][honesty]") {
  LogBuilder log;
  open_baseline(log);
  add_rival(log, "torch_flash", {{k_prefill, 0.5}, {k_decode, 2.0}});
  const std::string one = closed_page(log);
  CHECK(one.find("SDPA: on each problem") == std::string::npos);
  CHECK(line_with(one, "- **Lost:**").find("1 of 2 problems to `torch_flash`") !=
        std::string::npos);
  add_rival(log, "torch_cudnn", {{k_prefill, 0.8}, {k_decode, 0.8}});
  add_rival(log, "torch_math", {{k_decode, 9.0}});
  const std::string page = closed_page(log);
  const std::string lost = line_with(page, "- **Lost:**");
  CHECK(lost.find("2 of 2 problems to the fastest rival of each (`torch_cudnn`, `torch_flash`)") !=
        std::string::npos);
  const std::string table = page.substr(page.find("SDPA: on each problem"));
  CHECK(line_with(table, "| prefill").find("| `torch_flash` ") != std::string::npos);
  CHECK(line_with(table, "| decode").find("| `torch_cudnn` ") != std::string::npos);
  CHECK(line_with(table, "Geometric mean").find("0.63x") != std::string::npos);  // of 0.5 and 0.8
  CHECK(
      says(line_with(page.substr(page.find("## Next steps")), "3. Close the gap on prefill: 0.50"),
           " of torch_flash."));
}

TEST_CASE("several rivals head one column of the first screen, without an interval",
          "[report][honesty]") {
  LogBuilder log;
  open_baseline(log);
  add_rival(log, "torch_flash", {{k_prefill, 0.5}, {k_decode, 2.0}});
  add_rival(log, "torch_cudnn", {{k_prefill, 0.8}, {k_decode, 0.8}});
  const std::string page = closed_page(log);
  CHECK(says(line_with(page, "| speedup ["),
             "| over the fastest rival of each (`torch_cudnn`, `torch_flash`) "));
  CHECK(says(line_with(page, "| hot burst (decides)"),
             "| 0.63"));  // of 0.5 and 0.8
  CHECK(says(line_with(page, "| hot burst (decides)"), ", geometric mean [e"));
  // Nothing was measured under that plan.
  CHECK(says(line_with(page, "| cold "), "| not on every problem "));
}

TEST_CASE("who is the fastest is said of each plan", "[report][honesty]") {
  LogBuilder log;
  open_baseline(log);
  add_rival(log, "torch_flash", {{k_prefill, 0.5}, {k_decode, 0.5}});
  add_rival(log, "torch_cudnn", {{k_prefill, 0.8}, {k_decode, 0.8}});
  for (const auto& [rival, speedup] : {std::pair{"torch_flash", 3.0}, {"torch_cudnn", 0.9}}) {
    for (const char* problem : {k_prefill, k_decode}) {
      Versus versus{.candidate = k_start, .against = rival, .role = "rival", .phase = "baseline"};
      versus.problem = problem;
      versus.plan = "eager";
      versus.speedup = versus.low = versus.high = speedup;
      versus.outcome = speedup < 1 ? "slower" : "faster";
      compare(log, 0, versus);
    }
  }
  const std::string page = closed_page(log);
  CHECK(says(line_with(page, "- **Lost:**"), "2 of 2 problems to `torch_flash`"));
  CHECK(says(line_with(page, "| speedup ["),
             "| over the fastest rival of each (`torch_cudnn`, `torch_flash`) "));
  const std::string hot = line_with(page, "| hot burst (decides)");
  CHECK(says(hot, "0.50x"));
  CHECK(says(hot, "(`torch_flash`)"));
  const std::string eager = line_with(page, "| eager");
  CHECK(says(eager, "0.90x"));
  CHECK(says(eager, "(`torch_cudnn`)"));
}

TEST_CASE("where a rival that stands has no figure nobody is called the fastest",
          "[report][honesty]") {
  LogBuilder log;
  open_three_problems(log);
  add_rival(log, "torch_flash", {{k_prefill, 0.5}, {k_decode, 2.0}, {k_chunk, 2.0}});
  add_rival(log, "torch_cudnn", {{k_prefill, 0.8}, {k_decode, 0.8}, {k_chunk, 1.25}});
  const std::string before = closed_page(log);
  CHECK(says(line_with(before, "- **Lost:**"), "2 of 3 problems to "));
  CHECK(says(before, "Geometric mean of the speedups under hot burst: 0.79x"));

  add_rival(log, "torch_math", {{k_chunk, k_no_figure}});
  const std::string seq = std::to_string(log.last());
  const std::string page = closed_page(log);
  const std::string lost = line_with(page, "- **Lost:**");
  CHECK(says(lost, "2 of 3 problems to the fastest rival of each (`torch_cudnn`, `torch_flash`)"));
  CHECK(says(lost, "; won 0, same 0, ambiguous 1."));
  CHECK_FALSE(says(lost, "chunk"));
  CHECK(says(line_with(page, "| hot burst (decides)"), "| not on every problem "));
  const std::string table = page.substr(page.find("SDPA: on each problem"));
  const std::string chunk = line_with(table, "| chunk");
  CHECK(says(chunk, "| no figure beside `torch_math` [e" + seq + "]"));
  CHECK(says(chunk, "| not known "));
  CHECK_FALSE(says(chunk, "torch_cudnn"));
  CHECK(says(line_with(table, "| prefill"), "| `torch_flash` "));
  CHECK_FALSE(says(page, "Geometric mean"));
}

TEST_CASE("what is lost to one rival stays lost, whatever another would have done",
          "[report][honesty]") {
  LogBuilder log;
  open_baseline(log);
  add_rival(log, "torch_flash", {{k_prefill, 0.5}, {k_decode, 2.0}});
  add_rival(log, "torch_cudnn", {{k_prefill, k_no_figure}, {k_decode, 3.0}});
  const std::string page = closed_page(log);
  const std::string lost = line_with(page, "- **Lost:**");
  CHECK(says(lost, "1 of 2 problems to `torch_flash`"));
  CHECK(says(lost, "; won 1, same 0, ambiguous 0."));
  CHECK(says(line_with(page.substr(page.find("SDPA: on each problem")), "| prefill"),
             "no figure beside `torch_cudnn`"));
  CHECK_FALSE(says(page, "Geometric mean"));
}

TEST_CASE("where no problem has a fastest rival the first screen says why", "[report][honesty]") {
  LogBuilder log;
  open_baseline(log);
  add_rival(log, "torch_flash", {{k_prefill, 1.5}, {k_decode, 2.0}});
  add_rival(log, "torch_cudnn", {{k_prefill, k_no_figure}, {k_decode, k_no_figure}});
  const std::string last = std::to_string(log.last());
  const std::string page = closed_page(log);
  const std::string lost = line_with(page, "- **Lost:**");
  CHECK(says(lost, "unknown: on 2 problems a rival has no figure and may be the fastest ["));
  CHECK(says(lost, "e" + last + "]"));
  CHECK(says(line_with(page, "| speedup ["), "| over the fastest rival of each "));
  CHECK(says(line_with(page, "| hot burst (decides)"), "| not on every problem "));
  // Both passed: it is their figures that are wanted.
  CHECK_FALSE(says(page, "Measure a rival that passes its verdict"));
  CHECK(says(page, "Measure prefill beside torch_cudnn again"));
}
