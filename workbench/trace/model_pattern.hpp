// SPDX-License-Identifier: MIT
// The program as a whole: how much of its GPU work attention is, and where softmax, batched
// products, scalings and copies run, as part of attention or elsewhere. Called by prepare (which
// keeps it in the metadata) and by the findings page.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "trace/sdpa_calls.hpp"

namespace wb::trace {

/// From this part of the GPU work on a model is called attention-heavy: attention that took no time
/// at all would make it 1.25 times as fast. A rule of ours.
inline constexpr double k_heavy_percent = 20;

struct OperatorTime {
  std::string_view name;  ///< "softmax", "bmm", "mul", "copy_": with their like
  std::uint64_t events = 0;
  double inside_ms = 0;   ///< GPU events of calls that were found to be attention
  double outside_ms = 0;  ///< of all others
};

/// Sums of durations of the GPU work that operators of the profile launched.
struct ModelPattern {
  double work_ms = 0, attention_ms = 0;  ///< attention: forward, backward, caches
  std::array<OperatorTime, 4> operators{{{"softmax"}, {"bmm"}, {"mul"}, {"copy_"}}};
};
ModelPattern model_pattern(const Trace& trace, const SdpaCalls& calls);

/// For the metadata; null where the profile's operators launched nothing.
Json to_json(const ModelPattern& pattern);
/// The section of the findings page, from the metadata's `model_pattern` (of whatever type).
std::string model_section(const Json& pattern);

}  // namespace wb::trace
