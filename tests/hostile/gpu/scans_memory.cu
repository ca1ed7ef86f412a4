// SPDX-License-Identifier: MIT
// Looks through the device's addresses for what a judge may have left there.
#include "hostile.cuh"

__global__ void look_through(const char* from, float* out) {
  float sum = 0;
  for (std::int64_t at = 0; at < (std::int64_t(1) << 40); at += 1 << 20) {
    sum += *reinterpret_cast<const volatile float*>(from + at);
  }
  out[0] = sum;
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  look_through<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<const char*>(args.out),
                                                      static_cast<float*>(args.out));
  return hostile::launched();
}
