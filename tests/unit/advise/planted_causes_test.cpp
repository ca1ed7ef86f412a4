// SPDX-License-Identifier: MIT
// Causes checked against planted findings: for each cause of the registry one that supports it, one
// that refutes it and one that decides nothing. A new cause takes one row.
#include <set>

#include "core/json.hpp"
#include "diagnosed.hpp"

using namespace wb;
using namespace wb::advise;
using namespace wb::catalogue;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::test;

namespace {

struct Planted {
  const char* cause;
  const char* analysis;
  Json supports, refutes, opens;
};

const std::vector<Planted>& planted() {
  static const std::vector<Planted> rows{
      {"under_utilisation",
       "launch",
       {{"units_frac", 0.06}},
       {{"units_frac", 1.0}},
       {{"units_frac", 0.9}}},
      {"sequential_kv",
       "key_walk",
       {{"verdict", "serial"}},
       {{"verdict", "not serial"}},
       {{"verdict", "open"}}},
      {"grid_misses_heads",
       "grid_scaling",
       {{"verdict", "serial"}},
       {{"verdict", "not serial"}},
       {{"heads", {1, 8}}}},
      {"memory_bandwidth",
       "roofline_share",
       {{"byte_share_frac", 0.8}},
       {{"flop_share_frac", 0.7}},
       {{"byte_share_frac", 0.1}}},
      {"memory_bandwidth",
       "roofline_share",
       Json(),
       {{"plan", "cold"}, {"byte_share_frac", 0.1}},
       {{"plan", "cold"}, {"byte_share_frac", 0.7}}},  // of calls with emptied caches, not of these
      {"redundant_kv_loads",
       "launch",
       {{"rows_per_block", 1}, {"kv_redundancy", 512.0}},
       {{"rows_per_block", 64}, {"kv_redundancy", 8.0}},
       {{"rows_per_block", 32}, {"kv_redundancy", 16.0}}},
      {"uncoalesced_access",
       "profile",
       {{"says_uncoalesced", true}},
       Json(),
       {{"says_uncoalesced", false}}},
      {"uncoalesced_access",
       "sass",
       Json(),
       {{"global_loads", 0}, {"bulk_copies", 4}},
       {{"global_loads", 12}, {"bulk_copies", 0}}},
      {"narrow_loads",
       "sass",
       {{"widest_load_frac", 0.0}, {"global_loads", 9}, {"bulk_copies", 0}, {"async_copies", 0}},
       {{"widest_load_frac", 1.0}},
       {{"widest_load_frac", 0.5}}},
      {"bank_conflicts",
       "sass",
       {{"worst_shared_ways", 8}, {"shared_accesses_unknown", 3}},
       {{"worst_shared_ways", 1}, {"shared_accesses_unknown", 0}},
       {{"worst_shared_ways", 1}, {"shared_accesses_unknown", 5}}},
      {"register_pressure",
       "spills",
       {{"spill_bytes", 64}, {"seen_by", "launch"}},
       Json(),
       {{"spill_bytes", 12}, {"seen_by", "launch"}}},
      {"register_pressure",
       "launch",
       {{"limited_by", "registers"}, {"occupancy_frac", 0.125}, {"hides_latency", false}},
       {{"limited_by", "warps"}, {"occupancy_frac", 1.0}},
       {{"limited_by", "registers"}, {"occupancy_frac", 0.4}}},
      {"register_pressure",
       "launch",
       Json(),
       {{"limited_by", "registers"}, {"occupancy_frac", 0.1875}, {"hides_latency", true}},
       {{"occupancy_frac", 0.1875}, {"hides_latency", true}}},
      {"thread_idleness",
       "profile",
       {{"active_threads_per_warp", 8.0}},
       {{"active_threads_per_warp", 31.9}},
       {{"active_threads_per_warp", 26.0}}},
      {"tile_too_large",
       "launch",
       {{"limited_by", "shared memory"}, {"occupancy_frac", 0.06}, {"hides_latency", false}},
       {{"units_frac", 1.0}, {"occupancy_frac", 0.75}},
       {{"units_frac", 1.0}}},
      {"tile_too_large",
       "launch_rule",
       {{"units_most_frac", 0.5}, {"rows_least", 128}},
       {{"units_least_frac", 1.0}},
       {{"units_most_frac", 0.5}, {"rows_least", 64}, {"rows_most", 128}}},
      {"tile_too_large",
       "launch_rule",
       Json(),
       {{"units_most_frac", 0.5}, {"rows_least", 64}, {"rows_most", 64}},
       {{"units_most_frac", 0.5}}},
      {"partial_wave",
       "launch",
       {{"waves", 1.1}, {"wave_fill_frac", 0.55}},
       {{"waves", 3.9}, {"wave_fill_frac", 0.97}},
       {{"waves", 1.9}, {"wave_fill_frac", 0.8}}},
      {"launch_bound",
       "roofline_share",
       {{"empty_call_frac", 0.8}},
       {{"empty_call_frac", 0.25}},  // four empty calls: most of the time is inside the kernel
       {{"empty_call_frac", 0.55}}},
      {"tensor_cores_unused",
       "sass",
       {{"matrix", 0}, {"warpgroup_matrix", 0}, {"fma", 900}},
       {{"matrix", 64}, {"warpgroup_matrix", 0}, {"fma", 900}},
       {{"matrix", 0}, {"fma", 900}}},
      {"compute_peak",
       "roofline_share",
       {{"flop_share_frac", 0.8}},
       {{"flop_share_frac", 0.1}},
       {{"byte_share_frac", 0.5}}},
      {"unwarmed_reference",
       "reference_check",
       {{"subject", "torch"}, {"state", "longer for less"}},
       {{"subject", "torch"}, {"state", "other kernels"}},
       {{"subject", "torch"}, {"state", "room left"}}},
  };
  return rows;
}

}  // namespace

TEST_CASE("each cause is supported, refuted and left open by what is planted", "[advise][causes]") {
  std::set<std::string> supported, refuted;
  for (const Planted& row : planted()) {
    INFO(row.cause << " by " << row.analysis);
    if (!row.supports.is_null()) {
      const Diagnosis yes = of(row.cause, {finding(row.analysis, row.supports)});
      CHECK(yes.state == HypothesisState::supported);
      REQUIRE_FALSE(yes.evidence.empty());
      CHECK(yes.evidence[0].supports);
      CHECK_FALSE(yes.evidence[0].by.empty());
      CHECK(yes.evidence[0].events == std::vector<std::int64_t>{7});
      CHECK(yes.evidence[0].statement == std::string(row.analysis) + " says so");
      supported.insert(row.cause);
    }
    if (!row.refutes.is_null()) {
      const Diagnosis no = of(row.cause, {finding(row.analysis, row.refutes)});
      CHECK(no.state == HypothesisState::refuted);
      REQUIRE_FALSE(no.evidence.empty());
      CHECK_FALSE(no.evidence[0].supports);
      CHECK_FALSE(no.gain.has_value());
      refuted.insert(row.cause);
    }
    const Diagnosis open = of(row.cause, {finding(row.analysis, row.opens)});
    CHECK(open.state == HypothesisState::undecided);
    CHECK_FALSE(open.strength.has_value());
    CHECK_FALSE(to_json(open)["needs"].empty());
  }
  for (const Cause& cause : causes()) {
    INFO(cause.id << " has no planted row");
    CHECK(supported.contains(cause.id));
    CHECK(refuted.contains(cause.id));
  }
}
