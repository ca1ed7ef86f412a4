// SPDX-License-Identifier: MIT
// Private to engine: the verbs that make something of recorded sessions for others to read: the
// page of one, a site over many, an archive. They read sessions and write elsewhere.
#pragma once

#include <vector>

#include "engine/context.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

/// Their entries in the verb table.
std::vector<VerbSpec> page_verb_specs();

/// Writes what a user named as output, where he says (write_output). Errors: those of it; usage (a
/// file that a session rests on, such as its log).
Result<void> write_named(const Services& services, const fs::path& path, std::string_view bytes,
                         Durability durability);

/// `report`: Markdown, or with `html` the page; to `output` where that is named.
Result<Json> verb_report(const Services& services, const session::Session& session,
                         const Json& args);
Result<Json> verb_site(Context& context, const Json& args);
Result<Json> verb_pack(Context& context, const Json& args);

}  // namespace wb::engine
