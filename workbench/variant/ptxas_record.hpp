// SPDX-License-Identifier: MIT
// What ptxas reports about the kernels it makes (-Xptxas -v) as values: registers, spills, stack,
// shared memory, and its warnings of lost performance. Written by the CUDA toolchain; read by the
// analysis of builds and by the report. A source can print such lines too, so they explain and
// never decide.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::variant {

/// One __global__ function; spills of functions that it calls (not inlined) are not included. Bytes
/// are per thread, for shared memory per block.
struct KernelResources {
  std::string kernel;          ///< readable name without parameters, at most 120 bytes
  std::int64_t registers = 0;  ///< per thread
  std::int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  std::int64_t shared_bytes = 0;    ///< static; dynamic shared memory comes on top
  std::int64_t constant_bytes = 0;  ///< over all banks; 0 with ptxas 13, which does not report it
  std::int64_t barriers = 0;        ///< named barriers

  friend bool operator==(const KernelResources&, const KernelResources&) = default;
};

/// "(C7510) Potential Performance Loss: …": the source makes the tensor cores wait.
struct PtxasWarning {
  std::string code;        ///< "C7510"
  std::string text;        ///< ptxas' sentence without function and line, at most 300 bytes
  std::string kernel;      ///< as above; empty when none is named
  std::int64_t count = 1;  ///< how often ptxas reported it for this kernel

  friend bool operator==(const PtxasWarning&, const PtxasWarning&) = default;
};

/// Bounded, so that it fits into one log line. The counts tell what was left out, which is never
/// the worst spill nor the only warning with a code.
struct PtxasRecord {
  /// In log order: the first 64, and of the rest the one that spills most, if it spills more than
  /// they.
  std::vector<KernelResources> kernels;
  /// The first 16, and the first of each other code (32 codes at most).
  std::vector<PtxasWarning> warnings;
  std::int64_t kernels_left_out = 0, warnings_left_out = 0;
  std::int64_t spilling_left_out = 0;                  ///< among the kernels left out
  std::map<std::string, std::int64_t> codes_left_out;  ///< code -> warnings left out

  [[nodiscard]] bool empty() const { return kernels.empty() && warnings.empty(); }
  friend bool operator==(const PtxasRecord&, const PtxasRecord&) = default;
};

/// Bytes per thread, stores and loads.
std::int64_t spilled_bytes(const KernelResources& kernel);

/// Reads the compiler's log; skips other lines.
PtxasRecord parse_ptxas(std::string_view log);

/// "wgmma_flash<Shape<__half, 64, 1>>" for a mangled name. Leaves out return type, parameters, the
/// name of the translation unit, whose hash varies between builds, and the namespace wb::gpu of
/// kernels/common. A text that is no mangled name stays unchanged.
std::string kernel_name(std::string_view symbol);

/// At most `max_bytes`, with `mark` in place of the middle, since template names differ at their
/// ends. Cuts between UTF-8 characters only.
std::string cut_in_the_middle(std::string_view text, std::size_t max_bytes,
                              std::string_view mark = "...");

Json to_json(const PtxasRecord& record);
/// Errors: parse (a field is missing or of another type).
Result<PtxasRecord> ptxas_record_from_json(const Json& json);

}  // namespace wb::variant
