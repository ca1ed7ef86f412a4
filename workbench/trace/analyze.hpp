// SPDX-License-Identifier: MIT
// `trace analyze`: reads the folder made by `trace prepare` (or TraceLens) and writes metrics and
// findings. Also handles failures: without attention it writes a fixed note; after a failure
// "Status: ERROR" and nothing that could be mistaken for a finding.
#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "trace/op_rows.hpp"

namespace wb::trace {

inline constexpr std::string_view k_nothing_found = "No SDPA operations found in trace";

struct AnalyzeResult {
  struct Category {
    std::string name;
    /// OK; "none" without such an operation; "unseen" when nothing could be inspected.
    std::string status;
    Json metrics;  ///< null when none
    std::string findings;
  };
  std::vector<Category> categories;  ///< forward; backward if the folder has it
  std::vector<fs::path> files;       ///< written
};

/// Errors: what failed, after it was written into both files: damaged (the folder's preparation
/// failed), parse, invalid, io …
Result<AnalyzeResult> analyze(FileSystem& file_system, const fs::path& output_dir);

/// The page of a category. `tree` may be null.
std::string findings_page(const Json& metrics, const Json& tree, const CategoryFiles& category);
/// The page after a failure: title, status, what failed.
std::string error_page(const CategoryFiles& category, const Error& error);
/// The page when there is nothing to analyze: nothing could be inspected, kernels are named like
/// attention but their operators are unknown, or none was found; and what was left out. `manifest`
/// may be null.
std::string nothing_page(const CategoryFiles& category, const Json& manifest);

/// Replaces vendors' words by common ones, except between backticks, which quote names: "CUDA
/// kernels" -> "GPU kernels", "cuDNN" -> "DNN primitives".
std::string vendor_neutral(std::string_view markdown);

}  // namespace wb::trace
