/* SPDX-License-Identifier: MIT
 * cmake -B build && cmake --build build && ctest --test-dir build: the library is the one that
 * passed, and says so of what it takes. Runs nothing, so it needs no GPU. */
#include <stdio.h>
#include <string.h>

#include "wb_domain.h"

int main(void) {
  wb_sdpa_problem p;
  if (strcmp(wb_sdpa_build_id(), WB_PROVEN_ARTIFACT_ID) != 0) {
    fprintf(stderr, "libsdpa_variant.so is %s, not %s\n", wb_sdpa_build_id(),
            WB_PROVEN_ARTIFACT_ID);
    return 1;
  }
  memset(&p, 0, sizeof p);
  p.struct_size = sizeof p;
  p.abi_version = 1; /* that of a dense forward */
  p.batch = p.heads_q = p.heads_kv = p.seq_q = p.seq_kv = 1;
  p.dtype = -1; /* none has this one */
  if (wb_outside(&p) == NULL) {
    fprintf(stderr, "a problem without a dtype is said to be covered\n");
    return 1;
  }
  printf("%s: %u entries\n", WB_PROVEN_ARTIFACT_ID,
         (unsigned)(sizeof k_wb_proven / sizeof k_wb_proven[0]));
  return 0;
}
