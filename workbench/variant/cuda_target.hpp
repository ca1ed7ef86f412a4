// SPDX-License-Identifier: MIT
// Which GPU architecture a CUDA variant is compiled for: the manifest's words against the device's.
// Pure functions; who calls: the engine before a build, the CUDA toolchain.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

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

/// The value of -gencode that gives code of this target and no PTX, so that the driver can load
/// exactly what was inspected or nothing: "arch=compute_90a,code=sm_90a".
std::string gencode_of(CudaTarget target);

/// What to compile for. architectures: the manifest's list, empty for any. device: the device's
/// own architecture ("sm_90"), empty where there is none. wanted: what the user asked for, "native"
/// or empty for no wish. The wish decides, else the device, else the manifest's first word. A plain
/// word serves every device from its own on, which then gets code of its own ("sm_80" on sm_90:
/// "sm_90"); "sm_90a" serves sm_90 only and stays as it is; "sm_100f" serves its family.
/// Errors: invalid (a word that is no CUDA architecture; the variant is not written for it),
/// environment (no device, and neither manifest nor user names an architecture).
Result<std::string> choose_cuda_target(const std::vector<std::string>& architectures,
                                       std::string_view device, std::string_view wanted);

}  // namespace wb::variant
