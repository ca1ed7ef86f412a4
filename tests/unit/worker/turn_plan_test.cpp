// SPDX-License-Identifier: MIT
#include "worker/turn_plan.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::worker;

namespace {

Plan plan_of(PlanKind kind) {
  Plan plan;
  plan.kind = kind;
  return plan;
}

std::vector<BlockTime> blocks_of(std::initializer_list<std::pair<double, double>> times) {
  std::vector<BlockTime> blocks;
  for (const auto& [reported_us, wall_us] : times) {
    blocks.push_back({reported_us, reported_us, wall_us, wall_us, 0, 0});
  }
  return blocks;
}

}  // namespace

TEST_CASE("a hot sample lasts 200 us and a block 2 ms", "[worker][turn]") {
  const BlockPlan blocks = plan_blocks(plan_of(PlanKind::hot), 10, 50, Clock::host);
  CHECK(blocks.calls_per_sample == 20);
  CHECK(blocks.samples_per_block == 10);
  CHECK(blocks.blocks == 5);  // 10 ms timed
  CHECK(blocks.refill_every == 1);
}

TEST_CASE("long calls share one block", "[worker][turn]") {
  const BlockPlan blocks = plan_blocks(plan_of(PlanKind::hot), 50'000, 10, Clock::host);
  CHECK(blocks.calls_per_sample == 1);
  CHECK(blocks.samples_per_block == 3);  // min_samples
  CHECK(blocks.blocks == 1);
}

TEST_CASE("a block of a Python subject on a CPU lasts 20 ms", "[worker][turn]") {
  const auto blocks_of_python = [](PlanKind kind, double call_us, double timed_us,
                                   Clock clock = Clock::host) {
    Plan plan = plan_of(kind);
    plan.timed_us = timed_us;
    return plan_blocks(plan, call_us, 50, clock, true);
  };
  const BlockPlan shorter = blocks_of_python(PlanKind::hot, 400, 10'000);
  CHECK(shorter.samples_per_block == 50);  // also where that is more than what was to be timed
  CHECK(shorter.blocks == 1);
  const BlockPlan longer = blocks_of_python(PlanKind::eager, 400, 50'000);
  CHECK(longer.samples_per_block == 50);
  CHECK(longer.blocks == 3);
  // Calls that fill a usual block share one, as before, of all that is to be timed.
  CHECK(blocks_of_python(PlanKind::hot, 2'500, 10'000).samples_per_block == 8);
  const BlockPlan shared = blocks_of_python(PlanKind::hot, 2'500, 50'000);
  CHECK(shared.samples_per_block == 20);
  CHECK(shared.blocks == 1);
  // One message carries the samples of a block.
  CHECK(blocks_of_python(PlanKind::eager, 1, 50'000).samples_per_block == k_max_samples_per_block);
  CHECK(blocks_of_python(PlanKind::cold, 400, 10'000).samples_per_block == 1);
  const BlockPlan on_gpu = blocks_of_python(PlanKind::hot, 400, 10'000, Clock::device);
  CHECK(on_gpu.samples_per_block ==
        plan_blocks(plan_of(PlanKind::hot), 400, 50, Clock::device).samples_per_block);
}

TEST_CASE("an eager sample is one call, and a block still 2 ms", "[worker][turn]") {
  const BlockPlan blocks = plan_blocks(plan_of(PlanKind::eager), 1, 1, Clock::host);
  CHECK(blocks.calls_per_sample == 1);
  CHECK(blocks.samples_per_block == 2'000);
  CHECK(blocks.blocks == 1);  // max_samples is reached; the rest is thinned out
}

TEST_CASE("a cold block is one call", "[worker][turn]") {
  const BlockPlan blocks = plan_blocks(plan_of(PlanKind::cold), 100, 10, Clock::host);
  CHECK(blocks.calls_per_sample == 1);
  CHECK(blocks.samples_per_block == 1);
  CHECK(blocks.blocks == 100);
  CHECK(blocks.refill_every == 10);
  CHECK(plan_blocks(plan_of(PlanKind::cold), 1, 10, Clock::host).blocks == 200);  // max_samples
}

TEST_CASE("dear inputs are made anew once only", "[worker][turn]") {
  CHECK(plan_blocks(plan_of(PlanKind::hot), 10, 2'000, Clock::host).refill_every == 1);
  const BlockPlan blocks = plan_blocks(plan_of(PlanKind::hot), 10, 2'001, Clock::host);
  CHECK(blocks.refill_every == blocks.blocks);
}

TEST_CASE("what a subject reports of its speed cannot break the plan", "[worker][turn][hostile]") {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double call_us : {0.0, -1.0, nan, inf, 1e-300, 1e300}) {
    for (const double refill_us : {0.0, -1.0, nan, inf}) {
      for (const PlanKind kind : {PlanKind::hot, PlanKind::cold, PlanKind::eager}) {
        const BlockPlan blocks = plan_blocks(plan_of(kind), call_us, refill_us, Clock::host);
        CHECK(blocks.calls_per_sample >= 1);
        CHECK(blocks.calls_per_sample <= 1'000'000);
        CHECK(blocks.samples_per_block >= 1);
        CHECK(blocks.samples_per_block <= k_max_samples_per_block);
        CHECK(blocks.blocks >= 1);
        CHECK(blocks.blocks <= 200);
        CHECK(blocks.refill_every >= 1);
      }
    }
  }
}

TEST_CASE("the second witness believes honest figures", "[worker][witness]") {
  const auto honest = blocks_of({{2'000, 2'030}, {2'010, 2'045}, {1'990, 2'020}});
  CHECK(judge_block_times(honest, 20) == Witness::agrees);
  // One block in which another process held the CPU between message and call.
  const auto disturbed = blocks_of({{2'000, 2'030}, {2'000, 9'000}, {2'000, 2'025}});
  CHECK(judge_block_times(disturbed, 20) == Witness::agrees);
}

TEST_CASE("waiting for a busy CPU accuses nobody, but marks the turn", "[worker][witness]") {
  const std::vector<BlockTime> loaded(5, BlockTime{5'280, 5'300, 8'310, 8'310, 3'150, 3'000});
  CHECK(judge_block_times(loaded, 20) == Witness::excused);
  CHECK(too_much_waiting(loaded));
  // Time between the start message and the samples may be hidden work.
  const std::vector<BlockTime> hiding(5, BlockTime{1'000, 2'000, 2'010, 2'010, 0, 0});
  CHECK(judge_block_times(hiding, 20) == Witness::agrees);
  CHECK(too_much_waiting(hiding));
  const std::vector<BlockTime> quiet(5, BlockTime{1'990, 2'000, 2'010, 2'010, 15, 5});
  CHECK_FALSE(too_much_waiting(quiet));
  CHECK_FALSE(too_much_waiting({}));
  // Half speed: the supervisor heard "started" half a block too late, and saw no lie.
  std::vector<BlockTime> unheard(5, BlockTime{1'000, 1'000, 1'020, 2'020, 0, 0});
  CHECK(judge_block_times(unheard, 20) != Witness::mismatch);
  for (BlockTime& block : unheard) block.late_us = 1'000;
  CHECK(too_much_waiting(unheard));
}

TEST_CASE("on a GPU eager calls are queued into samples, and a graph has its limit",
          "[worker][plan]") {
  const BlockPlan eager = plan_blocks(plan_of(PlanKind::eager), 10, 50, Clock::device);
  CHECK(eager.calls_per_sample == 100);
  CHECK(plan_blocks(plan_of(PlanKind::hot), 1e-3, 50, Clock::device).calls_per_sample ==
        k_most_graph_calls);
  const BlockPlan cold = plan_blocks(plan_of(PlanKind::cold), 10, 50, Clock::device);
  CHECK(cold.calls_per_sample == 1);
  CHECK(cold.blocks == 64);
  CHECK(plan_blocks(plan_of(PlanKind::cold), 1'000, 50, Clock::device).blocks == 10);
}

TEST_CASE("a short cold call of a Python subject may hold the block's late end", "[worker][plan]") {
  CHECK(may_end_late(PlanKind::cold, Clock::host, true, 699));
  CHECK_FALSE(may_end_late(PlanKind::cold, Clock::host, true, 700));
  CHECK(may_end_late(PlanKind::cold, Clock::host, true, std::nan("")));
  CHECK_FALSE(may_end_late(PlanKind::hot, Clock::host, true, 100));
  CHECK_FALSE(may_end_late(PlanKind::cold, Clock::host, false, 100));
  CHECK_FALSE(may_end_late(PlanKind::cold, Clock::device, true, 100));
}

TEST_CASE("waiting cannot hide a clock that lies", "[worker][witness]") {
  // Half speed; just over half of the blocks waited 45 % by the kernel's account, too little in all
  // for too_much_waiting.
  auto blocks = blocks_of({{1'000, 2'020}, {1'000, 2'020}});
  for (int i = 0; i < 3; ++i) blocks.push_back(BlockTime{1'000, 1'000, 2'020, 2'020, 900, 0});
  CHECK_FALSE(too_much_waiting(blocks));
  CHECK(judge_block_times(blocks, 20) == Witness::excused);
  blocks.resize(4);
  CHECK(judge_block_times(blocks, 20) == Witness::mismatch);
  // An honest subject whose supervisor woke up late is excused, too.
  const std::vector<BlockTime> late(5, BlockTime{2'000, 2'000, 2'500, 2'500, 0, 480});
  CHECK(judge_block_times(late, 20) == Witness::excused);
  // Nor is one accused behind whose only block the judge's copy was late; the turn counts for none.
  std::vector<BlockTime> put_off(1, BlockTime{840, 840, 2'400, 2'450});
  CHECK(judge_block_times(put_off, 20) == Witness::mismatch);
  put_off[0].put_off_us = 1'500;
  CHECK(judge_block_times(put_off, 20) == Witness::excused);
}

TEST_CASE("the second witness catches a clock that lies", "[worker][witness]") {
  CHECK(judge_block_times(blocks_of({{1'000, 2'030}, {1'000, 2'040}, {990, 2'020}}), 20) ==
        Witness::mismatch);
  CHECK(judge_block_times(blocks_of({{1'750, 2'020}, {1'760, 2'020}}), 20) == Witness::mismatch);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge_block_times(blocks_of({{nan, 2'030}}), 20) == Witness::mismatch);
}

TEST_CASE("blocks that are too short are no witness", "[worker][witness]") {
  CHECK(judge_block_times(blocks_of({{10, 900}}), 20) == Witness::too_short);
  CHECK(judge_block_times({}, 20) == Witness::too_short);
  // A hundred cold calls of 60 us, a third of which are messages.
  const std::vector<BlockTime> cold(100, BlockTime{40, 40, 60, 60, 0, 0});
  CHECK(judge_block_times(cold, 20) == Witness::too_short);
}

TEST_CASE("a sample is logged with six digits, whatever it is", "[worker][turn]") {
  CHECK(six_digits(2.1129454545454545) == 2.11295);
  CHECK(six_digits(1234567.8) == 1234570);
  CHECK(six_digits(8) == 8);
  // What a subject may say: it must not throw, and nothing positive may become nothing.
  for (const double made_up : {5e-324, 1e-310, 1e308, std::numeric_limits<double>::infinity()}) {
    CHECK(six_digits(made_up) > 0);
  }
  CHECK(std::isnan(six_digits(std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("samples are thinned evenly", "[worker][turn]") {
  std::vector<double> samples;
  for (int i = 0; i < 1'000; ++i) samples.push_back(i);
  const auto kept = thinned(samples, 200);
  REQUIRE(kept.size() == 200);
  CHECK(kept[0] == 0);
  CHECK(kept[1] == 5);
  CHECK(kept[199] == 995);
  CHECK(thinned({1, 2}, 200) == std::vector<double>{1, 2});
}

TEST_CASE("chains of first calls last some milliseconds and fit into memory", "[worker][turn]") {
  measure::Plan plan;
  constexpr double k_room = 1e11;
  CHECK(chained_calls(plan, 10, 1e6, k_room, Clock::host) == 0);
  CHECK(chained_calls(plan, 10, 1e6, k_room, Clock::device) == k_most_chained_calls);
  CHECK(chained_calls(plan, 1'000, 1e6, k_room, Clock::device) == 5);
  CHECK(chained_calls(plan, 60'000, 1e6, k_room, Clock::device) == 1);
  CHECK(chained_calls(plan, 10, 5e8, k_room, Clock::device) == 4);
  CHECK(chained_calls(plan, 10, 5e8, 1e9, Clock::device) == 2);
  CHECK(chained_calls(plan, 10, 5e8, 0, Clock::device) == 1);
  CHECK(chained_calls(plan, 10, 1e10, k_room, Clock::device) == 1);
  CHECK(chained_calls(plan, 0, 0, k_room, Clock::device) == k_most_chained_calls);
  for (const auto kind : {measure::PlanKind::cold, measure::PlanKind::eager}) {
    plan.kind = kind;
    CHECK(chained_calls(plan, 10, 1e6, k_room, Clock::device) == 0);
  }
}
