// SPDX-License-Identifier: MIT
// The programs of a CUDA toolkit: where they lie and who they are. Private to the CUDA toolchain.
#pragma once

#include "variant/compiler_identity.hpp"

namespace wb::variant {

/// The programs of one toolkit.
struct Toolkit {
  fs::path asked;  ///< as found, maybe a script
  fs::path nvcc, ptxas, cicc, host;
};

struct AskedToolkit {
  Toolkit toolkit;
  AskedIdentity answer;
};

/// Finds nvcc and its host compiler and asks them; starts three processes. Errors: environment.
Result<AskedToolkit> ask_toolkit(const CudaPlaces& places);

/// Errors: environment.
Result<fs::path> find_host_compiler(const CudaPlaces& places);

}  // namespace wb::variant
