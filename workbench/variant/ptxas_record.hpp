// SPDX-License-Identifier: MIT
// What ptxas says of the kernels it makes (-Xptxas -v) as values: registers, spills, stack, shared
// memory, and its warnings of lost performance. Written by the CUDA toolchain; read by the analysis
// of builds and by the report. The source can print such lines too: they explain, never decide.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::variant {

/// One __global__ function; what a function that it calls (not inlined) spills is not in it. Bytes
/// are a thread's, those of shared memory a block's.
struct KernelResources {
  std::string kernel;          ///< readable name without parameters, at most 120 bytes
  std::int64_t registers = 0;  ///< of a thread
  std::int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  std::int64_t shared_bytes = 0;    ///< static; what a launch asks for comes on top
  std::int64_t constant_bytes = 0;  ///< over all banks; ptxas 13 does not say, which gives 0
  std::int64_t barriers = 0;        ///< named barriers

  friend bool operator==(const KernelResources&, const KernelResources&) = default;
};

/// "(C7510) Potential Performance Loss: …": something in the source keeps the tensor cores waiting.
struct PtxasWarning {
  std::string code;        ///< "C7510"
  std::string text;        ///< ptxas' sentence without function and line, at most 300 bytes
  std::string kernel;      ///< as above; empty when it names none
  std::int64_t count = 1;  ///< how often ptxas said this of this kernel

  friend bool operator==(const PtxasWarning&, const PtxasWarning&) = default;
};

/// Bounded, so that it fits into one line of a log: the counts say what was left out, and neither
/// the worst spill nor a code is among that.
struct PtxasRecord {
  /// In the order of the log: the first 64, and that one of the others which spills more than they.
  std::vector<KernelResources> kernels;
  /// The first 16, and the first of each code that they lack (32 codes at most).
  std::vector<PtxasWarning> warnings;
  std::int64_t kernels_left_out = 0, warnings_left_out = 0;
  std::int64_t spilling_left_out = 0;                  ///< of the kernels left out
  std::map<std::string, std::int64_t> codes_left_out;  ///< code -> warnings left out

  [[nodiscard]] bool empty() const { return kernels.empty() && warnings.empty(); }
  friend bool operator==(const PtxasRecord&, const PtxasRecord&) = default;
};

/// Of one thread, stores and loads.
std::int64_t spilled_bytes(const KernelResources& kernel);

/// Reads the compiler's log. Lines that say something else are skipped.
PtxasRecord parse_ptxas(std::string_view log);

/// "wgmma_flash<Shape<__half, 64, 1>>" for a mangled name: without return type, parameters and
/// what names the translation unit, whose hash would differ from build to build; without the
/// namespace wb::gpu of kernels/common. Words that are no mangled name stay.
std::string kernel_name(std::string_view symbol);

/// At most `max_bytes` with `mark` for what is left out of the middle (the ends of template names
/// differ). Cut between characters of UTF-8, never inside one.
std::string cut_in_the_middle(std::string_view text, std::size_t max_bytes,
                              std::string_view mark = "...");

Json to_json(const PtxasRecord& record);
/// Errors: parse (a field is missing or of another type).
Result<PtxasRecord> ptxas_record_from_json(const Json& json);

}  // namespace wb::variant
