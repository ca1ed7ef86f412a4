// SPDX-License-Identifier: MIT
// Stores eight bytes at an address that only four divide.
#include "hostile.cuh"

__global__ void store_misaligned(char* out) {
  *reinterpret_cast<volatile double*>(out + 4) = 1.0;
}

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  store_misaligned<<<1, 1, 0, hostile::stream_of(args)>>>(static_cast<char*>(args.out));
  return hostile::launched();
}
