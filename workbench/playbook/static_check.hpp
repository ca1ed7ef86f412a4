// SPDX-License-Identifier: MIT
// Private to playbook: finds names that do not exist in the text of a playbook, also in branches
// that no dry run takes.
#pragma once

#include <string>
#include <vector>

#include "playbook/owner.hpp"

namespace wb::playbook {

/// One sentence per fault, with file and line, in text order: verbs, their arguments (names and
/// literal values), fields of their answers and arguments of the playbook. Reports only what
/// certainly fails when reached; the rest is left to dry runs. Errors: parse, limit (the text could
/// not be followed).
Result<std::vector<std::string>> static_faults(const PlaybookSource& source,
                                               const PlaybookMeta& meta);

}  // namespace wb::playbook
