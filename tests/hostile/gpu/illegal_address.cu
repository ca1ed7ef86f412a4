// SPDX-License-Identifier: MIT
// Writes where no memory is.
#include "hostile.cuh"

static int forward(wb_sdpa_plan&, const wb_sdpa_args& args) {
  hostile::write_wild<<<1, 1, 0, hostile::stream_of(args)>>>();
  return hostile::launched();
}
