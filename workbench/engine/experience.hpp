// SPDX-License-Identifier: MIT
// Private to engine: the use of the catalogues. Each iteration logs which techniques it adds to its
// parent; over the sessions of a folder that becomes how often each was tried and won, and what it
// brought beside what was predicted; likewise which causes were decided. Reads only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/context.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

VerbSpec experience_verb_spec();

/// Techniques of `has` that the variant `parent` lacks; nothing where its sources are not stored.
std::optional<std::vector<std::string>> added_to(const session::Session& session,
                                                 const session::SessionView& view,
                                                 const std::string& parent,
                                                 std::vector<std::string> has);

/// Errors: not_found (no session in the folder); those of the catalogues. A session that cannot be
/// read is told and stops nothing.
Result<Json> verb_experience(const Services& services, const Json& args);

}  // namespace wb::engine
