// SPDX-License-Identifier: MIT
// Variants that are part of the worker, on the CPU and on a GPU: the canary, whose failure means
// that the machine is at fault and not a candidate, and the empty one, which measures the overhead
// of a call. Subject process only.
#pragma once

#include <string_view>

#include "worker/cuda/context.hpp"
#include "worker/variant_api.hpp"

namespace wb::worker {

/// On the CPU. "canary": plain unfused attention, f32, no mask. "empty": does nothing, for call
/// overhead.
Outcome<VariantApi> builtin_variant(std::string_view name);

}  // namespace wb::worker

namespace wb::worker::cuda {

/// "canary": plain attention, f32, no mask; its calls go to `stream`, which must outlive it.
/// "empty": queues nothing. Failures: environment (no such name, no device code).
Outcome<VariantApi> builtin_variant(std::string_view name, const Stream& stream);

}  // namespace wb::worker::cuda
