// SPDX-License-Identifier: MIT
// Reads the CSV report of Nsight Compute. Pure. The text comes from a process that ran a variant or
// from a user's file, so it is untrusted. Used by the worker that ran ncu and by the analysis of
// files.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::measure {

/// Kernel launches in a report of `ncu --csv --page details`: [{"kernel", "grid", "block",
/// "metrics": {name: {"value": number or text, "unit"}}, "advice": [{"rule", "text"}]}], by launch
/// id. Lines before the table (ncu's own messages) are skipped. At most `most` launches. Errors:
/// invalid (no table, or columns missing).
Result<Json> read_ncu_report(std::string_view text, std::size_t most);

}  // namespace wb::measure
