// SPDX-License-Identifier: MIT
// The arguments of one call of a variant on a GPU. Used by code that calls variants there.
#pragma once

#include "common/sdpa_abi.h"
#include "worker/cuda/buffer_set.hpp"

namespace wb::worker::cuda {

/// For the tensors of `buffers`, queued on `stream`; one host thread.
wb_sdpa_args args_of(const DeviceBufferSet& buffers, const Stream& stream);

}  // namespace wb::worker::cuda
