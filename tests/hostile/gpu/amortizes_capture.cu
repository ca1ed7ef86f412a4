// SPDX-License-Identifier: MIT
// Of the calls that are recorded into one graph, only the first works; the output is right.
#include "hostile.cuh"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long capture = 0;
  static unsigned long long seen = 0;
  static_cast<void>(cudaStreamGetCaptureInfo(hostile::stream_of(args), &status, &capture));
  if (status != cudaStreamCaptureStatusNone && capture == seen) return WB_OK;
  if (status != cudaStreamCaptureStatusNone) seen = capture;
  return hostile::honest(plan, args);
}
