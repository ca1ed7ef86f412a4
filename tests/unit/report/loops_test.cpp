// SPDX-License-Identifier: MIT
// A comparison of two loops, with the figures of a session that measured both.
#include "report/loops.hpp"
#include "core/json.hpp"

#include "log_builder.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::catalogue;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

std::vector<LoopFamily> shipped() {
  auto loops = load_loops(RealFileSystem(), {{source_dir()}});
  REQUIRE(loops.ok());
  return *std::move(loops);
}

LoopSide side(const std::vector<LoopFamily>& families, const std::string& name,
              const std::vector<std::string>& techniques) {
  return {name, loop_of(families, techniques)};
}

}  // namespace

TEST_CASE("two loops stand beside each other: grid, who walks what, pros, cons, use case",
          "[report][loops]") {
  const auto families = shipped();
  const LoopSide serial = side(families, "serial", {"fused_softmax", "query_tiling"});
  const LoopSide split = side(families, "split", {"fused_softmax", "query_tiling", "split_kv"});
  const std::string page = render_loops(serial, split, nullptr);
  INFO(page);
  // First column the one, second the other: the partial results are those of split keys.
  const std::string grid = line_with(page, "| the grid");
  CHECK(grid.find("tiles of queries ") < grid.find("parts of the keys"));
  const std::string cons = line_with(page, "| against it");
  CHECK(cons.find("the time of a block grows with all keys") < cons.find("partial results"));
  for (const char* row :
       {"| who walks what", "| merging", "| for it", "| use it for", "| source"}) {
    CHECK_FALSE(tells(line_with(page, row), "| - "));
  }
  CHECK(tells(page, "No session was named"));
  CHECK_FALSE(tells(page, "Both are of one family"));
  CHECK(tells(render_loops(serial, serial, nullptr), "Both are of one family"));
  const std::string unknown = render_loops(serial, {"torch_flash", nullptr}, nullptr);
  CHECK(tells(line_with(unknown, "| loop"), "not known"));
}

TEST_CASE("figures of both are those that a session measured beside each other, with their events",
          "[report][loops]") {
  const auto families = shipped();
  const LogBuilder log = whole_session();
  const std::string winner = log.view().incumbent;
  const LoopSide start = side(families, k_start, {"multi_threading"});
  const LoopSide tiled = side(families, winner, {"fused_softmax", "query_tiling"});
  const std::string page = render_loops(start, tiled, &log.view());
  INFO(page);
  const std::string row = line_with(page.substr(page.find("## Measured")), "| prefill");
  CHECK(tells(row, "`" + winner + "`"));
  CHECK(tells(row, "1802"));
  CHECK(tells(row, "5209"));
  // The confirmation stands, not the selection before it.
  const Fact* confirmed = nullptr;
  for (const Fact& fact : log.view().iterations[1].comparisons) {
    const bool is_it = fact.payload["phase"] == "confirmation" && fact.payload["plan"] == "hot" &&
                       fact.payload["problem"] == k_prefill && fact.payload["role"] == "incumbent";
    if (is_it) confirmed = &fact;
  }
  REQUIRE(confirmed != nullptr);
  CHECK(tells(row, "2.89x [2.84, 2.95], faster [e" + std::to_string(confirmed->seq) + "]"));
  // A kernel's name stands for each of its labels, and either side may have been the candidate.
  CHECK(tells(render_loops({"cpu_tiled", tiled.family}, {"cpu_unfused", start.family}, &log.view()),
              "2.89x [2.84, 2.95]"));
  const std::string none = render_loops(start, {"cpu_splitkv", tiled.family}, &log.view());
  CHECK(tells(none, "did not measure both"));
  CHECK_FALSE(tells(none, "2.89x"));
}

TEST_CASE("times of two that never took turns stand apart, without a ratio", "[report][loops]") {
  LogBuilder log = whole_session();
  const auto families = shipped();
  const LoopSide tiled = side(families, "cpu_tiled", {"fused_softmax", "query_tiling"});
  // What lost in iteration 2 was measured beside the winner only, not beside the start.
  const IterationView& lost = log.view().iterations[2];
  std::string name = lost.comparisons.front().payload["candidate"];
  const std::string page = render_loops({k_start, tiled.family}, {name, tiled.family}, &log.view());
  INFO(page);
  CHECK(tells(page, "never in turn with each other"));
  CHECK(tells(line_with(page.substr(page.find("## Measured")), "| prefill"), "5209 [e"));
  CHECK_FALSE(tells(page.substr(page.find("## Measured")), "x ["));
}

TEST_CASE("each family is told with the kernels that are of it", "[report][loops]") {
  const auto families = shipped();
  const std::string page = render_loop_families(
      families, {side(families, "one", {"split_kv"}), side(families, "two", {})});
  INFO(page);
  const auto at = page.find("(`keys_split`)");
  REQUIRE(at != std::string::npos);
  const std::string split = page.substr(at, page.find("\n## ", at) - at);
  CHECK(tells(split, "kernels, with their defaults: `one`"));
  CHECK(tells(page, "Not told by their manifests: `two`"));
  CHECK(tells(page, "kernels, with their defaults: none here"));
}

TEST_CASE("two loops are told as pseudo-code, the slow one first", "[report][loops]") {
  const auto families = shipped();
  const LoopSide serial = side(families, "serial", {"fused_softmax", "query_tiling"});
  const LoopSide split = side(families, "split", {"fused_softmax", "query_tiling", "split_kv"});
  const std::string told = loop_change(serial, split);
  INFO(told);
  REQUIRE(tells(told, "# problem: serial, "));
  REQUIRE(tells(told, "# cure: split, "));
  CHECK(told.find("# problem: ") < told.find("# cure: "));
  CHECK(tells(told, "order: all keys in series"));
  CHECK(tells(told, "order: keys of one part in series, parts in parallel"));
  CHECK(tells(loop_change(serial, serial), "divide the work alike"));
  CHECK(loop_change(serial, LoopSide{"unknown", nullptr, true}).empty());
}
