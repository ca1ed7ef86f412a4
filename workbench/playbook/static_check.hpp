// SPDX-License-Identifier: MIT
// Private to playbook: names that do not exist, found in the text of a playbook wherever they
// stand, also in branches that no dry run takes.
#pragma once

#include <string>
#include <vector>

#include "playbook/owner.hpp"

namespace wb::playbook {

/// One sentence each, with file and line, in the order of the text: verbs, their arguments (names,
/// and values that are written out), fields of their answers and arguments of the playbook. Only
/// what is certain to be wrong once it is reached; what cannot be followed is left to dry runs.
/// Errors: parse, limit (the text could not be followed).
Result<std::vector<std::string>> static_faults(const PlaybookSource& source,
                                               const PlaybookMeta& meta);

}  // namespace wb::playbook
