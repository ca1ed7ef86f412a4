// SPDX-License-Identifier: MIT
// The profiled program as a whole: attention's share of its GPU work, and where softmax, batched
// products, scalings and copies run, inside or outside attention. Used by prepare (which stores it
// in the metadata) and by the findings page.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "trace/sdpa_calls.hpp"

namespace wb::trace {

/// From this share of GPU work on a model is called attention-heavy: without any attention time it
/// would be 1.25 times as fast. Our own rule.
inline constexpr double k_heavy_percent = 20;

struct OperatorTime {
  std::string_view name;  ///< "softmax", "bmm", "mul", "copy_", each with similar operators
  std::uint64_t events = 0;
  double inside_ms = 0;   ///< GPU events of calls recognized as attention
  double outside_ms = 0;  ///< of all others
};

/// Summed durations of the GPU work that the profile's operators launched.
struct ModelPattern {
  double work_ms = 0, attention_ms = 0;  ///< attention: forward, backward, caches
  std::array<OperatorTime, 4> operators{{{"softmax"}, {"bmm"}, {"mul"}, {"copy_"}}};
};
ModelPattern model_pattern(const Trace& trace, const SdpaCalls& calls);

/// For the metadata; null when the profile's operators launched nothing.
Json to_json(const ModelPattern& pattern);
/// The section of the findings page, from the metadata's `model_pattern` (of any type).
std::string model_section(const Json& pattern);

}  // namespace wb::trace
