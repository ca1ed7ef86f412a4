// SPDX-License-Identifier: MIT
// Which problems sm90_wgmma_carry schedules by heads, and how it cuts their units into runs:
// kernels/sm90_wgmma_carry/heads_plan.hpp.
#include "heads_plan.hpp"

#include <catch2/catch.hpp>
#include <random>

namespace {

constexpr int k_sms = 132;

wb_sdpa_problem abi_problem(int64_t batch, int64_t heads, int64_t seq_q, int64_t seq_kv,
                            int causal) {
  wb_sdpa_problem p = {};
  p.batch = batch;
  p.heads_q = p.heads_kv = heads;
  p.seq_q = seq_q;
  p.seq_kv = seq_kv;
  p.dim = p.dim_v = 64;
  p.causal = causal;
  p.mask = WB_MASK_NONE;
  return p;
}

int64_t offset_of(const wb_sdpa_problem& p) {
  if (p.causal == WB_CAUSAL_NONE) return p.seq_kv;
  return p.causal == WB_CAUSAL_TOP_LEFT ? 0 : p.seq_kv - p.seq_q;
}

// Half steps of 64 keys of unit i of a head, counted row by row.
int64_t half_steps(const wb_sdpa_problem& p, int64_t unit) {
  const int64_t units = wb::gpu::units_of_a_head(p);
  int64_t most = 0;
  for (int64_t row = (units - 1 - unit) * 64; row < std::min((units - unit) * 64, p.seq_q); ++row) {
    most = std::max(most, std::clamp<int64_t>(row + offset_of(p) + 1, 0, p.seq_kv));
  }
  return (most + 63) / 64;
}

}  // namespace

TEST_CASE("runs of units have every unit once, and about equal work", "[variant][kernels]") {
  std::mt19937 random(114);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int i = 0; i < 400; ++i) {
    const int seq_kv = pick(1, 1500), seq_q = pick(0, 2) == 0 ? seq_kv : pick(1, 1500);
    const wb_sdpa_problem p = abi_problem(pick(1, 9), pick(1, 60), seq_q, seq_kv, pick(0, 2));
    const int sms = pick(0, 3) == 0 ? pick(1, 300) : k_sms;
    const int64_t of_a_head = wb::gpu::units_of_a_head(p);
    const int64_t units = of_a_head * p.batch * p.heads_q;
    INFO("B " << p.batch << " H " << p.heads_q << " Sq " << seq_q << " Skv " << seq_kv << " causal "
              << p.causal << " SMs " << sms);
    const wb::gpu::HeadCuts c = wb::gpu::cut_heads(p, offset_of(p), sms);
    REQUIRE(c.blocks == std::min<int64_t>({units, sms, wb::gpu::k_most_cuts}));
    REQUIRE(c.cuts[0] == 0);
    REQUIRE(c.cuts[c.blocks] == units);
    std::vector<double> cost(static_cast<size_t>(of_a_head));
    double all = 0.0, largest = 0.0, longest = 0.0;
    for (int64_t unit = 0; unit < of_a_head; ++unit) {
      cost[static_cast<size_t>(unit)] = double(half_steps(p, unit)) + 1.2;
      all += cost[static_cast<size_t>(unit)] * double(p.batch * p.heads_q);
      largest = std::max(largest, cost[static_cast<size_t>(unit)]);
    }
    for (int b = 0; b < c.blocks; ++b) {
      REQUIRE(c.cuts[b] < c.cuts[b + 1]);
      double run = 0.0;
      for (int u = c.cuts[b]; u < c.cuts[b + 1]; ++u)
        run += cost[static_cast<size_t>(u % of_a_head)];
      longest = std::max(longest, run);
    }
    CHECK(longest < all / c.blocks + 1.001 * largest);  // a cut is off by half a unit at most
  }
}

TEST_CASE("by heads is chosen where it was measured to be faster", "[variant][kernels]") {
  const auto pays = [](const wb_sdpa_problem& p) { return wb::gpu::heads_pay(p, k_sms); };
  CHECK(pays(abi_problem(32, 32, 512, 512, WB_CAUSAL_TOP_LEFT)));
  CHECK(pays(abi_problem(16, 32, 1024, 1024, WB_CAUSAL_TOP_LEFT)));
  CHECK(pays(abi_problem(16, 32, 1000, 1000, WB_CAUSAL_BOTTOM_RIGHT)));
  CHECK(pays(abi_problem(16, 16, 256, 256, WB_CAUSAL_TOP_LEFT)));
  CHECK(pays(abi_problem(32, 32, 512, 512, WB_CAUSAL_NONE)));
  CHECK_FALSE(pays(abi_problem(16, 32, 1024, 1024, WB_CAUSAL_NONE)));
  CHECK_FALSE(pays(abi_problem(8, 32, 2048, 2048, WB_CAUSAL_TOP_LEFT)));
  CHECK_FALSE(pays(abi_problem(4, 16, 512, 512, WB_CAUSAL_TOP_LEFT)));  // 4 units an SM
  CHECK_FALSE(pays(abi_problem(8, 16, 512, 512, WB_CAUSAL_NONE)));      // 8
  CHECK_FALSE(pays(abi_problem(32, 32, 300, 512, WB_CAUSAL_BOTTOM_RIGHT)));
  wb_sdpa_problem p = abi_problem(32, 32, 512, 512, WB_CAUSAL_TOP_LEFT);
  p.dim = 40;
  CHECK_FALSE(pays(p));
  CHECK(wb::gpu::heads_reach(p));
  p.mask = WB_MASK_BOOL;
  CHECK_FALSE(wb::gpu::heads_reach(p));
  p = abi_problem(64, 128, 1 << 20, 1 << 20, WB_CAUSAL_NONE);
  CHECK_FALSE(wb::gpu::heads_reach(p));  // more tiles than an int counts
  p.dim_v = 128;
  p.seq_q = p.seq_kv = 512;
  CHECK_FALSE(wb::gpu::heads_reach(p));
}
