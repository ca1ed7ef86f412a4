// SPDX-License-Identifier: MIT
// What a CUDA variant is compiled with and for: the GPU architecture, chosen from the manifest's
// words and the device, and the programs of a toolkit with their places and identities. Used by the
// engine before a build and by the CUDA toolchain.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "variant/compiler.hpp"

namespace wb::variant {

/// A real architecture as nvcc names it: "sm_90", "sm_90a" (this device only), "sm_103f" (its
/// family).
struct CudaTarget {
  int number = 0;   ///< 90: ten times the major plus the minor compute capability
  char suffix = 0;  ///< 'a', 'f' or 0

  friend bool operator==(const CudaTarget&, const CudaTarget&) = default;
};
/// Nothing unless the word is "sm_" with two or three digits and at most one suffix.
std::optional<CudaTarget> parse_cuda_target(std::string_view word);
std::string to_text(CudaTarget target);

/// The value of -gencode for this target without PTX, so that the driver loads exactly the
/// inspected code or nothing: "arch=compute_90a,code=sm_90a".
std::string gencode_of(CudaTarget target);

/// The architecture to compile for. architectures: the manifest's list, empty for any. device: the
/// device's own ("sm_90"), empty without one. wanted: the user's, "native", or empty. The user's
/// word decides, else the device, else the manifest's first. A plain word serves its own and all
/// later devices, for which their own code is made ("sm_80" on sm_90: "sm_90"); "sm_90a" serves
/// sm_90 only and stays as it is; "sm_100f" serves its family. Errors: invalid (a word that is no
/// CUDA architecture; the variant does not support it), environment (no device, and neither
/// manifest nor user names an architecture).
Result<std::string> choose_cuda_target(const std::vector<std::string>& architectures,
                                       std::string_view device, std::string_view wanted);

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
