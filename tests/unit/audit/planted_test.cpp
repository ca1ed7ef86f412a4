// SPDX-License-Identifier: MIT
// Each kind of fault is planted beside its honest counterpart: the first must be found at its line
// with the expected figure, the second must give no finding and show that the check ran.
#include <vector>

#include "audit/checks.hpp"
#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::audited;
using wb::audit::test::k_times;
using wb::audit::test::with;

namespace {

struct Plant {
  std::string check;
  Severity severity;  ///< as the check itself says
  int line;
  std::string computed;  ///< worked out by hand: what the finding's own figures must come to
  std::string planted, honest;
  bool looked = true;  ///< the honest text gives a figure that holds
};

constexpr Severity k_wrong = Severity::contradiction;
constexpr Severity k_doubt = Severity::doubtful;

const std::string k_costs =
    "| Session | Time | GPU | AI | Total | Note |\n|---|---|---|---|---|---|\n"
    "| A | 30 min | $0.10 | $1.00 | $1.10 | one |\n"
    "| B | 50 min | $0.25 | $2.00 | $2.25 | two |\n"
    "| **Total** | **80 min** | **$0.35** | **$3.00** | **$3.35** | **2 sessions** |\n";

const std::string k_paired =
    "| problem | start us | rival us | hot | cold |\n|---|---|---|---|---|\n"
    "| a | 5.132 | 9.049 | 1.76x [1.74, 1.79], faster (5 x 5) | 1.39x [1.34, 1.44], faster |\n"
    "| b | 18.22 | 15.12 | 0.830x [0.823, 0.836], slower | 0.70x [0.69, 0.71], slower |\n";

const std::string k_rates =
    "| B | H | S | D | Time (ms) | TFLOPS |\n|---|---|---|---|---|---|\n"
    "| 1 | 8 | 1024 | 64 | 0.100 | 21.5 |\n"
    "| 2 | 8 | 1024 | 64 | 0.200 | 21.5 |\n"
    "| 4 | 8 | 1024 | 64 | 0.500 | 17.2 |\n";

const std::string k_implied =
    "```\nConfig        | Mine (ms) | GFLOP/s\nB=1,H=2,S=256 | 0.100     | 335.5\n"
    "B=2,H=2,S=256 | 0.200     | 335.5\nB=4,H=2,S=512 | 1.000     | 536.9\n```\n";

const std::string k_dims =
    "Throughput collapses for wide heads.\n\n| hdim | TFLOPS | Time (ms) |\n|---|---|---|\n"
    "| 64 | 1.00 | 0.100 |\n| 128 | 1.00 | 0.200 |\n| 256 | 0.80 | 0.500 |\n";

const std::string k_scaling =
    "| Batch | Heads | Time (ms) | vs B=1 | Status |\n|---|---|---|---|---|\n"
    "| 1 | 8 | 2.0 | 1.0x | start |\n| 4 | 8 | 8.0 | 4.0x | linear |\n";

const std::string k_roadmap =
    "| technique | expected | evidence |\n|---|---|---|\n| `a`: tiles | 1.50x (1.00x to 2.00x) | "
    "strong |\n| `b`: copies | 1.20x (1.00x to 2.00x) | weak |\n| `c`: more | 2.00x (1.00x to "
    "3.00x) | "
    "weak |\n\n| stage | techniques | over the incumbent then |\n|---|---|---|\n| 1 | `a`, `b` | "
    "1.80x (1.00x to 4.00x) |\n| 2 | `c` | 3.60x (1.00x to 12.0x) |\n";

/// Findings that keep all rules.
const std::string k_findings =
    "# SDPA Forward Analysis Findings\n\n**Attention type:** Paged Attention\n\n"
    "| Operation | ctx_ratio | Workload |\n|---|---|---|\n| `unified_attention` | 0.91 | "
    "prefill_heavy |\n\n## Bottlenecks\n\n## Recommendations\n\n- **Algorithmic:** chunk "
    "prefills\n- **Kernel:** tune `_fwd_kernel`\n";

const std::string k_unfused_findings =
    "# Findings about attention\n\n**Attention type:** Standard (unfused) "
    "Attention\n\n\n\n## Recommendations\n\n";

const std::string k_short_findings =
    "# SDPA Findings\n\n**Attention type:** Flash Attention\n\n## Bottlenecks\n\n### The kernel "
    "at N_Q=4096\nEfficiency: 12.0% of peak\n\n## Recommendations\n\nAlgorithmic: pack. "
    "Kernel: tune.\n";

const std::string k_references =
    "| B | H | S | D | Reference (ms) | Ours (ms) |\n|---|---|---|---|---|---|\n"
    "| 1 | 4 | 64 | 64 | 0.010 | 0.020 |\n| 1 | 4 | 256 | 64 | 0.040 | 0.060 |\n"
    "| 1 | 4 | 1024 | 64 | 0.500 | 0.700 |\n";

const std::string k_caches =
    "L1 Cache: 128 KB\nL2 Cache: 40 MB\n\n| n | Total | Fits in L1? | Fits in L2? "
    "|\n|---|---|---|---|\n"
    "| 1 | 32 KB | yes | yes |\n| 2 | 2 MB | no | yes |\n| 3 | 90 MB | no | no |\n";

std::vector<Plant> plants() {
  return {
      // Totals and counts
      {"table_totals", k_wrong, 5, "= 80 min", with(k_costs, "80 min", "95 min"), k_costs},
      {"table_totals", k_wrong, 5, "= $3.35", with(k_costs, "$3.35", "$3.95"), k_costs},
      {"table_totals", k_wrong, 4, "= $2.25", with(k_costs, "$2.25", "$2.75"), k_costs},
      {"counts", k_wrong, 5, "2 rows", with(k_costs, "2 sessions", "3 sessions"), k_costs},
      {"list_totals", k_wrong, 1, "= $1.30", "Spent $1.40 (GPU $0.40 + agent $0.90)\n",
       "Spent $1.30 (GPU $0.40 + agent $0.90)\n"},
      {"list_totals", k_wrong, 3, "= 16 MB", "- K: 8 MB\n- V: 8 MB\n- Total: 20 MB\n",
       "- K: 8 MB\n- V: 8 MB\n- Total: 16 MB\n"},
      {"list_totals", k_wrong, 4, "= 6-20x", "- Grid: 2-4x\n- Loads: 3-5x\n\nTotal gain: 6-9x\n",
       "- Grid: 2-4x\n- Loads: 3-5x\n\nTotal gain: 6-20x\n"},
      {"repeated_figures", k_wrong, 3, "50 minutes",
       "# One\n\nDuration: 40 minutes\n\n## Summary\n\nDuration: 50 minutes\n",
       "# One\n\nDuration: 50 minutes\n\n## Summary\n\nDuration: 50 minutes\n"},
      {"repeated_figures", k_wrong, 9, "= 35 min",
       "# One\n\n## Work\n\n### Phase 1: try (20 min)\n\n### Phase 2: think (15 min)\n\nTotal "
       "time: 50 minutes\n",
       "# One\n\n## Work\n\n### Phase 1: try (20 min)\n\n### Phase 2: think (15 min)\n\nTotal "
       "time: 35 minutes\n"},
      {"counts", k_wrong, 1, "says 9",
       "12 configurations tested.\n\nAll 9 configurations were right.\n",
       "12 configurations tested.\n\nAll 12 configurations were right.\n"},
      {"counts", k_wrong, 1, "1 of 3",
       "2 of 3 cases pass.\n\n| case | result |\n|---|---|\n| a | pass |\n| b | fail |\n| c | fail "
       "|\n",
       "2 of 3 cases pass.\n\n| case | result |\n|---|---|\n| a | pass |\n| b | fail |\n| c | pass "
       "|\n"},
      // Written arithmetic
      {"arithmetic", k_wrong, 1, "= 32768", "FLOPs: 4 x 16 x 512 = 42,768\n",
       "FLOPs: 4 x 16 x 512 = 32,768\n"},
      {"arithmetic", k_wrong, 1, "117.2 GB/s to 128.8 GB/s",
       "Achieved: 24 MB / 0.200 ms = 160 GB/s\n", "Achieved: 24 MB / 0.200 ms = 120 GB/s\n"},
      {"arithmetic", k_wrong, 1, "= 3x", "Together: 2x x 1.5x = 3.8x\n",
       "Together: 2x x 1.5x = 3.0x\n"},
      {"arithmetic", k_wrong, 1, "= 5 %", "Busy: 4/80 = 8.0%\n", "Busy: 4/80 = 5.0%\n"},
      {"arithmetic", k_wrong, 1, "1.031 % to 1.078 %", "It takes 512 bytes (4% of 48 KB)\n",
       "It takes 512 bytes (1% of 48 KB)\n"},
      {"arithmetic", k_wrong, 1, "$0.19 to $0.21", "GPU (30 min @ $0.40/hr): $0.35\n",
       "GPU (30 min @ $0.40/hr): $0.20\n"},
      {"arithmetic", k_wrong, 3, "= 0.5 FLOP/byte",
       "- FLOPs: 2 x 8 x 64 = 1,024\n- Bytes: 8 x 64 x 4 = 2,048 bytes\n- AI = 0.75 FLOPs/byte\n",
       "- FLOPs: 2 x 8 x 64 = 1,024\n- Bytes: 8 x 64 x 4 = 2,048 bytes\n- AI = 0.50 FLOPs/byte\n"},
      {"changes", k_wrong, 1, "3.918x to 4.085x", "From 12.0 ms -> 3.0 ms = 6.0x\n",
       "From 12.0 ms -> 3.0 ms = 4.0x\n"},
      {"projections", k_wrong, 4, "= 1x to 1x",
       "| Step | Cumulative | Gain |\n|---|---|---|\n| start | 0.50x | |\n| tiles | 1.0-3.0x | 2x "
       "improvement |\n",
       "| Step | Cumulative | Gain |\n|---|---|---|\n| start | 0.50x | |\n| tiles | 1.0x | 2x "
       "improvement |\n"},
      // Ratios and rates
      {"ratio_columns", k_wrong, 5, "0.3998x to 0.4002x", with(k_times, "0.40x", "0.60x"), k_times},
      {"ratio_columns", k_wrong, 5, "0.3998x to 0.4002x", with(k_times, "0.40x", "2.50x"), k_times},
      {"ratio_columns", k_wrong, 4, "2.023x to 2.027x", with(k_times, "2.0x slower", "3.0x slower"),
       k_times},
      {"quantiles", k_wrong, 3, "9.00 ms > 3.00 ms",
       "| case | p50 (ms) | p99 (ms) |\n|---|---|---|\n| a | 9.00 | 3.00 |\n",
       "| case | p50 (ms) | p99 (ms) |\n|---|---|---|\n| a | 9.00 | 13.0 |\n"},
      {"intervals", k_doubt, 4, "= 1.92", with(k_paired, "15.12", "35.12"), k_paired},
      {"intervals", k_wrong, 3, "above", with(k_paired, "1.76x [", "1.86x ["), k_paired},
      {"intervals", k_wrong, 4, "below 1", with(k_paired, "0.836], slower", "0.836], faster"),
       k_paired},
      {"slowdown_claims", k_wrong, 7, "= 2.5x", k_times + "\n2.3-2.5x slower than Torch.\n",
       k_times + "\n2.0-2.5x slower than Torch.\n"},
      {"throughput", k_wrong, 5, "17.16 TFLOP/s to 17.2 TFLOP/s", with(k_rates, "17.2", "25.0"),
       k_rates},
      {"throughput", k_wrong, 5, "268.4 GFLOP/s", with(k_implied, "1.000 ", "2.000 "), k_implied},
      {"confounding", k_doubt, 5, "7.554x", with(k_dims, "0.80 | 0.500", "0.10 | 0.500"), k_dims},
      // Peaks
      {"peaks", k_wrong, 3, " = 6 %",
       "Ran on one A100 in fp16.\n\nIt reaches 90% of peak (19.5 TFLOP/s).\n",
       "Ran on one A100 in fp16.\n\nIt reaches 50% of peak (312 TFLOP/s).\n"},
      {"peaks", k_doubt, 3, "= 20 %", "Ran on one L4.\n\nIt reaches 80% of peak (30 TFLOP/s).\n",
       "Ran on one L4 in fp32.\n\nIt reaches 80% of peak (30 TFLOP/s).\n"},
      {"peaks", k_wrong, 3, "= 60 %",
       "Ran on one H100 in bf16.\n\nIt reaches 30% of peak (1979 TFLOP/s).\n",
       "Ran on one H100 in bf16.\n\nIt reaches 60% of peak (989 TFLOP/s).\n"},
      {"peaks", k_wrong, 3, "not of the A100",
       "Ran on one A100 in bf16.\n\nIt reaches 30% of peak (989 TFLOP/s).\n",
       "Ran on one A100 in bf16.\n\nIt reaches 30% of peak (312 TFLOP/s).\n"},
      {"peaks", k_wrong, 1, "300 GB/s", "Our L4 kernel moves 900 GB/s.\n",
       "Our L4 kernel moves 270 GB/s.\n", false},
      {"bandwidth", k_doubt, 5, "30 % on a NVIDIA L4",
       "Achieved: 90 GB/s\n\nFor example (A100/H100):\n- A100: 2000 GB/s\n- 4.5% of peak "
       "bandwidth\n",
       "Achieved: 90 GB/s\nGPU: A100\n\n- A100: 2000 GB/s\n- 4.5% of peak bandwidth\n"},
      {"bandwidth", k_wrong, 5, "4.474 % to 4.526 %",
       "Achieved: 90 GB/s\nGPU: A100\n\n- A100: 2000 GB/s\n- 9.5% of peak bandwidth\n",
       "Achieved: 90 GB/s\nGPU: A100\n\n- A100: 2000 GB/s\n- 4.5% of peak bandwidth\n"},
      {"ridge", k_doubt, 1, "174 to 206",
       "On an H200 it needs > 50 FLOPs/byte to be compute-bound.\n",
       "On an H200 it needs > 206 FLOPs/byte to be compute-bound.\n"},
      // Scaling
      {"scaling", k_doubt, 4, "grows 8x", with(k_scaling, "| 4 | 8 | 8.0", "| 4 | 16 | 8.0"),
       k_scaling},
      {"scaling", k_wrong, 4, "exponent 0.29", with(k_scaling, "8.0 | 4.0x", "3.0 | 1.5x"),
       k_scaling},
      {"scaling_claims", k_doubt, 6, "grows 8x",
       with(k_scaling, "| 4 | 8 | 8.0", "| 4 | 16 | 8.0") + "\nSlow: 4x for 4x batch.\n",
       k_scaling + "\nFine: 4x for 4x batch.\n", false},
      {"scaling_claims", k_wrong, 6, "exponent 1.00",
       k_scaling + "\nTime grows super-linearly (4.0x).\n",
       with(k_scaling, "8.0 | 4.0x | linear", "24.0 | 12.0x | super-linear") +
           "\nTime grows super-linearly (12.0x).\n",
       false},
      {"scaling_claims", k_wrong, 1, ": 4x", "B=1,H=4 -> B=2,H=8 = 2x more work\n",
       "B=1,H=4 -> B=2,H=8 = 4x more work\n"},
      {"scaling_claims", k_wrong, 6, "exponent 0.29",
       with(k_scaling, "8.0 | 4.0x | linear", "3.0 | 1.5x | -") +
           "\nIt scales linearly (2.0 -> 3.0 ms).\n",
       k_scaling + "\nIt scales linearly (2.0 -> 8.0 ms).\n"},
      {"scaling_claims", k_wrong, 3, "32x",
       "- S=16: 0.010 ms\n- S=512: 0.900 ms\n- ~4x data -> ~90x time\n",
       "- S=16: 0.010 ms\n- S=512: 0.900 ms\n- ~32x data -> ~90x time\n"},
      {"expected_columns", k_wrong, 4, "2.0x (line 4) and 4.0x",
       "| B | Time (ms) | Expected Scaling |\n|---|---|---|\n| 1 | 2.0 | 1.0x |\n| 4 | 9.0 | 2.0x "
       "|\n\n"
       "Other:\n\n| B | Time (us) | Expected Scaling |\n|---|---|---|\n| 1 | 5.0 | 1.0x |\n| 4 | "
       "19 | 4.0x "
       "|\n",
       "| B | Time (ms) | Expected Scaling |\n|---|---|---|\n| 1 | 2.0 | 1.0x |\n| 4 | 9.0 | 4.0x "
       "|\n\n"
       "Other:\n\n| B | Time (us) | Expected Scaling |\n|---|---|---|\n| 1 | 5.0 | 1.0x |\n| 4 | "
       "19 | 4.0x "
       "|\n",
       false},
      // The other side of a ratio
      {"references", k_doubt, 3, "for 16x the work",
       with(k_references, "0.010 | 0.020", "0.090 | 0.020"), k_references, false},
      {"references", k_doubt, 3, "grows 256x",
       with(with(k_references, "0.040", "0.010"), "0.500", "0.011"), k_references, false},
      // Launches
      {"geometry", k_wrong, 1, "three dimensions", "int tile = blockIdx.w;\n",
       "int tile = blockIdx.z;\n", false},
      {"geometry", k_wrong, 1, "three dimensions", "Grid: (heads, batch, rows, keys)\n",
       "Grid: (heads, batch, rows)\n", false},
      {"geometry", k_wrong, 1, "= 8", "Grid: (1, 4, 2) = 9 blocks\n",
       "Grid: (1, 4, 2) = 8 blocks\n"},
      {"geometry", k_wrong, 1, "2048 > 1024", "Block size: 2048 threads\n",
       "Block size: 1024 threads\n", false},
      {"geometry", k_wrong, 1, "2048 > 1024", "dim3 block(64, 32);\n", "dim3 block(32, 32);\n",
       false},
      {"geometry", k_wrong, 1, "40 > 32", "It runs 40 warps per block.\n",
       "It runs 32 warps per block.\n", false},
      {"geometry", k_wrong, 1, "131072 > 65535", "Launched as grid (8, 131072, 1).\n",
       "Launched as grid (131072, 8, 1).\n", false},
      {"geometry", k_wrong, 1, "160000 > 102400", "On an L4: 160 KB of shared memory per block.\n",
       "On an L4: 96 KB of shared memory per block.\n", false},
      {"block_counts", k_wrong, 8, "= 512",
       k_times + "\nTile: 64x64.\nAt the largest shape 256 CTAs run.\n",
       k_times + "\nTile: 64x64.\nAt the largest shape 512 CTAs run.\n"},
      {"block_counts", k_wrong, 3, "is 3x",
       "S=64: -> 2 blocks\nS=64: -> 6 blocks\nThat is 4x more blocks.\n",
       "S=64: -> 2 blocks\nS=64: -> 6 blocks\nThat is 3x more blocks.\n"},
      {"block_counts", k_doubt, 2, "512 blocks >= 132",
       "- It has 132 SMs\n- With only 512 blocks many SMs idle\n",
       "- It has 132 SMs\n- With only 64 blocks many SMs idle\n", false},
      {"caches", k_wrong, 6, "= 25 %", with(k_caches, "32 KB | yes", "32 KB | no"), k_caches},
      {"caches", k_wrong, 7, "= 5 %", with(k_caches, "no | yes", "no | no"), k_caches},
      {"caches", k_wrong, 8, "= 225 %", with(k_caches, "90 MB | no | no", "90 MB | no | yes"),
       k_caches},
      {"caches", k_wrong, 2, "= 7.5 %", "L2 Cache: 40 MB\nThe working set (3 MB) >> L2\n",
       "L2 Cache: 40 MB\nThe working set (300 MB) >> L2\n"},
      // Words
      {"exactness", k_wrong, 2, "0.0012", "Max diff: 0.0012\nThe result is bit-exact.\n",
       "Max diff: 0.0012\nThe result is within tolerance.\n", false},
      {"exactness", k_doubt, 2, "= 25 %",
       "Accepted: max_diff < 0.002\nMax diff: 0.0015 (90% under threshold)\n",
       "Accepted: max_diff < 0.002\nMax diff: 0.0015 (25% under threshold)\n"},
      {"superlatives", k_wrong, 6, "10 min",
       "| Idea | Build Time |\n|---|---|\n| a | 30 min |\n| b | 10 min |\n\nTake a: shortest build "
       "time (30 min).\n",
       "| Idea | Build Time |\n|---|---|\n| a | 30 min |\n| b | 10 min |\n\nTake b: shortest build "
       "time (10 min).\n",
       false},
      {"statements", k_wrong, 1, "query tiles", "FA-2 splits KV over its blocks.\n",
       "Flash-Decoding splits KV over its blocks.\n", false},
      {"peaks", k_doubt, 1, "100 % is all", "It reaches 150% of the peak.\n",
       "[ANOMALY] 150% of the peak cannot be.\n", false},
      {"principles", k_wrong, 7, "between 0 and 1", with(k_findings, "0.91", "9.1"), k_findings},
      // A roadmap: 1.5 x 1.2, then x 2
      {"stages", k_wrong, 9, "expected: the stage before times its steps = 1.8",
       with(k_roadmap, "1.80x", "2.00x"), k_roadmap},
      {"stages", k_wrong, 10, "least: the stage before times its steps = 1",
       with(k_roadmap, "(1.00x to 12.0x)", "(1.50x to 12.0x)"), k_roadmap},
      {"stages", k_wrong, 10, "greatest: the stage before times its steps = 12",
       with(k_roadmap, "to 12.0x", "to 60.0x"), k_roadmap},
      // Capped: then all that is capped is the upper end; else it does not follow.
      {"stages", k_wrong, 10, "expected: the stage before times its steps = 3.6",
       with(k_roadmap, "3.60x (1.00x to 12.0x)", "2.50x (1.00x to 5.00x)"),
       with(k_roadmap, "3.60x (1.00x to 12.0x)", "2.50x (1.00x to 2.50x)")},
      // Findings about a profile
      {"principles", k_doubt, 1, "no line tells the kind",
       with(k_findings, "**Attention type:**", "Kernels:"), k_findings},
      {"principles", k_doubt, 15, "told after line 8",
       with(k_findings, "**Attention type:** Paged Attention\n", "") +
           "\n**Attention type:** Paged Attention\n",
       k_findings},
      {"principles", k_wrong, 7, "0.91; decode-heavy is below 0.2",
       with(k_findings, "prefill_heavy", "decode_heavy"), k_findings},
      {"principles", k_wrong, 7, "0.41; prefill-heavy is above 0.8",
       with(k_findings, "0.91", "0.41"), with(k_findings, "0.91 | prefill_heavy", "0.41 | mixed"),
       false},
      {"principles", k_doubt, 11, "no advice of the kind: algorithmic",
       with(k_findings, "**Algorithmic:**", "**Then:**"), k_findings},
      {"principles", k_doubt, 11, "no advice of the kind: kernel",
       with(k_findings, "**Kernel:** tune `_fwd_kernel`", "Tune it"), k_findings},
      {"principles", k_doubt, 11, "tokens is 0.91 (line 7)",
       with(with(k_findings, "chunk prefills", "decode more at once"), "`_fwd_kernel`",
            "`kernel_paged_attention_2d`"),
       k_findings},
      {"principles", k_doubt, 11, "tokens is 0.11 (line 7)",
       with(k_findings, "0.91 | prefill_heavy", "0.11 | decode_heavy"), k_findings},
      {"principles", k_doubt, 3, "neither prefill nor decode",
       "# SDPA Findings\n\n**Attention type:** Paged Attention\n",
       "# SDPA Findings\n\n**Attention type:** Paged Attention, for decoding\n"},
      {"principles", k_doubt, 7, "none of them is to fuse it",
       k_unfused_findings + "Algorithmic: batch more. Kernel: tune the softmax.\n",
       k_unfused_findings + "Algorithmic: use flash attention. Kernel: tune the softmax.\n"},
      {"principles", k_doubt, 8, "from 5 % on is expected",
       with(k_short_findings, "N_Q=4096", "N_Q=256"), k_short_findings},
      {"principles", k_doubt, 8, "no length of a sequence",
       with(k_short_findings, "N_Q=4096", "one"), k_short_findings},
      {"principles", k_doubt, 5, "no section of recommendations",
       with(k_short_findings, "## Recommendations", "## More"), k_short_findings},
      {"principles", k_wrong, 5, "line 3 says Status: ERROR",
       "# SDPA Findings\n\n**Status:** ERROR\n\n## Bottlenecks\n\nThe copies.\n",
       "# SDPA Findings\n\n**Status:** ERROR\n\nA column is missing.\n"},
  };
}

}  // namespace

TEST_CASE("each planted fault is found at its line, its honest counterpart is clean",
          "[audit][checks]") {
  for (const Plant& plant : plants()) {
    const Audited planted = audited(plant.planted);
    const auto found = test::of_check(planted, plant.check);
    CAPTURE(plant.check, plant.computed, plant.planted, test::told(planted));
    const bool there = std::any_of(found.begin(), found.end(), [&](const Finding& finding) {
      return finding.line == plant.line && test::told_as(finding) == plant.severity &&
             finding.computed.find(plant.computed) != std::string::npos;
    });
    CHECK(there);
    for (const Finding& finding : found) {
      CHECK_FALSE(finding.printed.empty());
      CHECK_FALSE(finding.computed.empty());
      CHECK_FALSE(finding.meaning.empty());
    }
    const Audited honest = audited(plant.honest);
    CAPTURE(plant.honest, test::told(honest));
    CHECK(honest.findings.empty());
    if (plant.looked) CHECK(test::held_by(honest, plant.check) > 0);
  }
}

TEST_CASE("planted faults of words are doubtful, those of figures contradict", "[audit][basis]") {
  const auto all = all_checks();
  for (const Plant& plant : plants()) {
    if (plant.severity != k_wrong) continue;
    const Audited planted = audited(plant.planted);
    CAPTURE(plant.check, plant.planted, test::told(planted));
    const bool by_figures = std::any_of(all.begin(), all.end(), [&](const Check& check) {
      return check.name == plant.check && check.basis != Basis::words;
    });
    if (!by_figures) CHECK(planted.count(Severity::contradiction) == 0);
    for (const Finding& finding : test::of_check(planted, plant.check)) {
      const bool held_back = test::told_as(finding) != finding.severity;
      CHECK((by_figures || held_back || finding.severity != Severity::contradiction));
    }
  }
}

TEST_CASE("every check has a planted fault", "[audit][checks]") {
  const std::vector<Plant> all = plants();
  for (const Check& check : all_checks()) {
    CAPTURE(check.name);
    const bool planted = std::any_of(all.begin(), all.end(),
                                     [&](const Plant& plant) { return plant.check == check.name; });
    CHECK((planted || check.name == "advice"));
  }
}
