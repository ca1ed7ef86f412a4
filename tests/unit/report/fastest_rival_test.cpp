// SPDX-License-Identifier: MIT
// Several rivals: which one is named first, and which is SDPA on a problem.
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::test;

TEST_CASE("the strongest rival is named first", "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  const auto add_rival = [&](const std::string& name, double speedup) {
    build(log, 0, name, name + " 1.0");
    Versus versus;
    versus.candidate = k_start;
    versus.against = name;
    versus.role = "rival";
    versus.phase = "baseline";
    versus.speedup = versus.low = versus.high = speedup;
    versus.outcome = speedup < 1 ? "slower" : "faster";
    for (const char* problem : {k_prefill, k_decode}) {
      judge(log, 0, name, problem, 0.3);
      versus.problem = problem;
      compare(log, 0, versus);
    }
  };
  add_rival("aaa_math@00000001", 1.8);
  add_rival("torch_flash@00000002", 0.5);
  add_rival("zzz_other@00000003", 0.9);
  const std::string page = render_session(log.view());
  CHECK(line_with(page, "- **Lost:**").find("torch_flash@00000002") != std::string::npos);
  CHECK(line_with(page, "| speedup [").find("over `torch_flash@00000002`") != std::string::npos);
  // The others are still in the tables.
  CHECK(page.find("`aaa_math@00000001`") != std::string::npos);
}

TEST_CASE("SDPA is the fastest rival of each problem", "[report][honesty]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  const auto add_rival = [&](const std::string& name, double prefill, double decode) {
    build(log, 0, name, name + " 1.0");
    for (const char* problem : {k_prefill, k_decode}) {
      const double speedup = problem == k_prefill ? prefill : decode;
      if (speedup == 0) continue;  // it does not take this problem
      judge(log, 0, name, problem, 0.3);
      Versus versus;
      versus.candidate = k_start;
      versus.against = name;
      versus.role = "rival";
      versus.phase = "baseline";
      versus.problem = problem;
      versus.speedup = versus.low = versus.high = speedup;
      versus.outcome = speedup < 1 ? "slower" : "faster";
      compare(log, 0, versus);
    }
  };
  add_rival("torch_flash", 0.5, 2.0);
  const std::string one = render_session(log.view());
  CHECK(one.find("SDPA: on each problem") == std::string::npos);
  CHECK(line_with(one, "- **Lost:**").find("1 of 2 problems to `torch_flash`") !=
        std::string::npos);
  add_rival("torch_cudnn", 0.8, 0.8);
  add_rival("torch_math", 0, 9.0);
  const std::string page = render_session(log.view());
  const std::string lost = line_with(page, "- **Lost:**");
  CHECK(lost.find("2 of 2 problems to the fastest rival of each (`torch_cudnn`, `torch_flash`)") !=
        std::string::npos);
  const std::string table = page.substr(page.find("SDPA: on each problem"));
  CHECK(line_with(table, "| prefill").find("| `torch_flash` ") != std::string::npos);
  CHECK(line_with(table, "| decode").find("| `torch_cudnn` ") != std::string::npos);
  CHECK(line_with(table, "Geometric mean").find("0.63x") != std::string::npos);  // of 0.5 and 0.8
  CHECK(page.find("Close the gap on prefill: 0.50x [0.50, 0.50] against `torch_flash`") !=
        std::string::npos);
}
