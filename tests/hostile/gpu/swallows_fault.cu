// SPDX-License-Identifier: MIT
// Waits for its own fault, forgets it and says that all is well.
#include "hostile.cuh"

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  hostile::write_wild<<<1, 1, 0, hostile::stream_of(args)>>>();
  static_cast<void>(cudaStreamSynchronize(hostile::stream_of(args)));
  static_cast<void>(cudaGetLastError());
  return WB_OK;
}
