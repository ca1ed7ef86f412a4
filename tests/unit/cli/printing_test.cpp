// SPDX-License-Identifier: MIT
#include "cli/printing.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::cli;
using namespace wb::engine;

TEST_CASE("a progress line has stage, i/n, best, elapsed, left and cost", "[cli][progress]") {
  Progress progress;
  progress.stage = "confirmation";
  progress.what = "n6_S64";
  progress.done = 2;
  progress.total = 14;
  progress.iteration = 3;
  progress.best_speedup = 1.834;
  progress.elapsed_s = 65;
  progress.left_s = 125;
  progress.cost_usd = 0.0123;
  CHECK(progress_text(progress) ==
        "iteration 3  confirmation 3/14  n6_S64  best 1.83x  1:05 elapsed  ~2:05 left  $0.0123");
}

TEST_CASE("unknown cost is said, unknown rest is left out", "[cli][progress]") {
  Progress progress;
  progress.stage = "build";
  progress.iteration = -1;
  const std::string text = progress_text(progress);
  CHECK(text.find("rate not given") != std::string::npos);
  CHECK(text.find("left") == std::string::npos);
  CHECK(text.find("best") == std::string::npos);
}
