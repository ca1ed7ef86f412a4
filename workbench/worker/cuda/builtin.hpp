// SPDX-License-Identifier: MIT
// GPU variants that are part of the worker, the counterpart of builtin_variant().
#pragma once

#include <string_view>

#include "worker/cuda/stream.hpp"
#include "worker/variant_api.hpp"

namespace wb::worker::cuda {

/// "canary": plain attention, f32, no mask; its calls go to `stream`, which must outlive it.
/// "empty": queues nothing. Failures: environment (no such name, no device code).
Outcome<VariantApi> builtin_variant(std::string_view name, const Stream& stream);

}  // namespace wb::worker::cuda
