// SPDX-License-Identifier: MIT
// Private to audit: which checks depend on the meaning of words and counts, and whether a report is
// from the field where that meaning is unique. Used by audit_document on the findings of all
// checks.
#pragma once

#include <string_view>
#include <vector>

#include "audit/document.hpp"
#include "audit/finding.hpp"

namespace wb::audit {

/// Why this check's contradiction may be none in a report from another field; empty for checks that
/// recompute a table's or an equation's own figures, which hold in any field.
std::string_view other_reading(std::string_view check);

/// True when the text has enough terms of device kernels to be about them.
bool is_about_kernels(const Document& document);

/// Turns contradictions of those checks into doubtful findings with the reason.
void doubt_other_fields(std::vector<Finding>& findings);

}  // namespace wb::audit
