// SPDX-License-Identifier: MIT
// Works only where it is not being recorded into a graph.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  static_cast<void>(cudaStreamIsCapturing(hostile::stream_of(args), &status));
  return status == cudaStreamCaptureStatusNone ? hostile::honest(plan, args) : WB_OK;
}
