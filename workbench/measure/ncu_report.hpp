// SPDX-License-Identifier: MIT
// The CSV report of Nsight Compute as records. Pure; the text comes from a process that ran a
// variant, or from anybody's file, so nothing in it is believed to be well formed. Who calls: the
// worker that ran ncu, and the analysis of files.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::measure {

/// Kernel launches in a report of `ncu --csv --page details`: [{"kernel", "grid", "block",
/// "metrics": {name: {"value": number or text, "unit"}}, "advice": [{"rule", "text"}]}], in the
/// order of their ids. Lines in front of the table (ncu's own words) are passed over. At most
/// `most` launches. Errors: invalid (no table, or columns missing).
Result<Json> read_ncu_report(std::string_view text, std::size_t most);

}  // namespace wb::measure
