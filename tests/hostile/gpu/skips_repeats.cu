// SPDX-License-Identifier: MIT
// Works only when its output is not what it left there last: for the first call of a row, and where
// the output was poisoned.
#include "hostile.cuh"

struct Left {
  int same;
  float value;
};

__global__ void compare_left(const float* last, Left* left) {
  left->same = *last == left->value ? 1 : 0;
}
__global__ void note_left(const float* last, Left* left) {
  left->value = *last;
}

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static Left* const left = hostile::device_memory<Left>(1);
  if (left == nullptr) return WB_FAILED;
  const cudaStream_t stream = hostile::stream_of(args);
  const float* const last =
      static_cast<const float*>(args.out) + hostile::out_elements(plan.problem) - 1;
  compare_left<<<1, 1, 0, stream>>>(last, left);
  const int status = hostile::honest_on(stream, plan.problem, args, &left->same);
  note_left<<<1, 1, 0, stream>>>(last, left);
  return status;
}
