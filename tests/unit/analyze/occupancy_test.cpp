// SPDX-License-Identifier: MIT
// Expected blocks: what cuda_occupancy.h of CUDA 13.0 answers, with the largest carve-out.
#include "analyze/occupancy.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;

namespace {

struct Known {
  const char* architecture;
  BlockDemand demand;
  std::int64_t blocks;
  std::string_view limited_by;
};

}  // namespace

TEST_CASE("Blocks of an SM are those of the toolkit's own calculator", "[analyze][unit]") {
  const Known known[] = {{"sm_90", {128, 168, 49152}, 3, "registers"},
                         {"sm_90a", {384, 168, 204800}, 1, "shared memory"},
                         {"sm_80", {256, 64, 0}, 4, "registers"},
                         {"sm_89", {256, 128, 32768}, 2, "registers"},
                         {"sm_100", {1024, 64, 0}, 1, "registers"},
                         {"sm_120", {96, 40, 10000}, 9, "shared memory"},
                         {"sm_86", {32, 16, 0}, 16, "blocks"},
                         {"sm_87", {128, 255, 1000}, 2, "registers"},
                         {"sm_80", {33, 100, 5000}, 8, "registers"},
                         {"sm_80", {1024, 32, 0}, 2, "warps"}};
  for (const Known& one : known) {
    const auto limits = sm_limits(one.architecture);
    REQUIRE(limits);
    const auto found = occupancy(*limits, one.demand);
    REQUIRE(found);
    CAPTURE(one.architecture, one.demand.threads, one.demand.registers, one.demand.shared_bytes);
    CHECK(found->blocks == one.blocks);
    CHECK(found->limited_by == one.limited_by);
    CHECK(found->frac == Approx(static_cast<double>(found->warps) / limits->warps));
  }
}

TEST_CASE("A block that no SM can hold has no occupancy, impossible ones no answer",
          "[analyze][unit]") {
  const auto hopper = sm_limits("sm_90");
  REQUIRE(hopper);
  CHECK(occupancy(*hopper, {1024, 255, 0})->blocks == 0);
  CHECK(occupancy(*hopper, {128, 32, 228 * 1024})->blocks == 0);
  CHECK_FALSE(occupancy(*hopper, {0, 32, 0}));
  CHECK_FALSE(occupancy(*hopper, {2048, 32, 0}));
  CHECK_FALSE(occupancy(*hopper, {128, 256, 0}));
  CHECK_FALSE(occupancy(*hopper, {128, 32, -1}));
  CHECK_FALSE(sm_limits("sm_70"));
  CHECK_FALSE(sm_limits("gfx942"));
  CHECK_FALSE(sm_limits(""));
}

TEST_CASE("Registers alone bound the warps of an SM", "[analyze][unit]") {
  const auto hopper = sm_limits("sm_90"), ada = sm_limits("sm_89");
  CHECK(most_warps(*hopper, 32) == 64);
  CHECK(most_warps(*hopper, 168) == 12);
  CHECK(most_warps(*hopper, 220) == 8);
  CHECK(most_warps(*ada, 32) == 48);
  CHECK(most_warps(*ada, 0) == 0);
}
