// SPDX-License-Identifier: MIT
// The bands and names by which the analysis judges. A length has the band of the largest named
// length that it has reached; lengths from 512 to 1023, which have none, have the outer ends of
// their neighbours.
#include "trace/metrics.hpp"

namespace wb::trace {

EfficiencyBand expected_efficiency(Attention attention, std::string_view workload,
                                   std::int64_t n_q) {
  constexpr EfficiencyBand k_short{5, 15, "N < 512"}, k_middle{5, 40, "512 <= N < 1024"},
      k_1024{20, 40, "1024 <= N < 2048"}, k_2048{40, 60, "2048 <= N <= 4096"},
      k_long{50, 70, "N > 4096"};
  constexpr EfficiencyBand k_decode{5, 15, "decode"}, k_prefill{30, 50, "prefill"},
      k_mixed{10, 30, "mixed"}, k_short_prefill{5, 15, "short prefill, N < 512"};
  constexpr std::int64_t k_short_length = 512;
  if (attention == Attention::paged) {
    if (workload == "decode_heavy") return k_decode;
    if (workload == "prefill_heavy") return n_q < k_short_length ? k_short_prefill : k_prefill;
    return k_mixed;
  }
  if (n_q < k_short_length) return k_short;
  if (n_q < 1024) return k_middle;
  if (n_q < 2048) return k_1024;
  return n_q <= 4096 ? k_2048 : k_long;
}

std::string_view workload_type(double context_tokens, double generation_tokens) {
  const double all = context_tokens + generation_tokens;
  if (!(all > 0)) return "unknown";
  const double ratio = context_tokens / all;
  if (ratio > k_prefill_ratio) return "prefill_heavy";
  return ratio < k_decode_ratio ? "decode_heavy" : "mixed";
}

}  // namespace wb::trace
