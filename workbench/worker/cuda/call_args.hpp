// SPDX-License-Identifier: MIT
// The arguments of one call of a variant on a GPU. Who calls: whoever calls variants there.
#pragma once

#include "common/sdpa_abi.h"
#include "worker/cuda/buffer_set.hpp"

namespace wb::worker::cuda {

/// On the tensors of `buffers`, queued on `stream`; one host thread.
wb_sdpa_args args_of(const DeviceBufferSet& buffers, const Stream& stream);

}  // namespace wb::worker::cuda
