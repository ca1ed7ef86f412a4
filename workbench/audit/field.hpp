// SPDX-License-Identifier: MIT
// Private to audit: which checks read words and counts, and whether a report is of the field in
// which they mean one thing. Used by audit_document, where the findings of all checks meet.
#pragma once

#include <string_view>
#include <vector>

#include "audit/document.hpp"
#include "audit/finding.hpp"

namespace wb::audit {

/// Why what this check calls a contradiction may be none in a report of another field; empty for
/// checks that recompute a table's or an equation's own figures, which are right anywhere.
std::string_view other_reading(std::string_view check);

/// Whether the text names enough terms of kernels on a device to be about them.
bool is_about_kernels(const Document& document);

/// Contradictions of the checks above become doubtful, each with the reason.
void doubt_other_fields(std::vector<Finding>& findings);

}  // namespace wb::audit
