// SPDX-License-Identifier: MIT
// The programs of a CUDA toolkit, their places and identities. Private to the CUDA toolchain.
#pragma once

#include "variant/compiler_identity.hpp"

namespace wb::variant {

/// The programs of one toolkit.
struct Toolkit {
  fs::path asked;  ///< as found; may be a script
  fs::path nvcc, ptxas, cicc, host;
};

struct AskedToolkit {
  Toolkit toolkit;
  AskedIdentity answer;
};

/// Finds nvcc and its host compiler and asks for their versions; starts three processes. Errors:
/// environment.
Result<AskedToolkit> ask_toolkit(const CudaPlaces& places);

/// Errors: environment.
Result<fs::path> find_host_compiler(const CudaPlaces& places);

}  // namespace wb::variant
