// SPDX-License-Identifier: MIT
// Private to engine: the verbs that make something of recorded sessions for others to read: the
// page of one, a site over many, an archive. They read sessions and write elsewhere.
#pragma once

#include <string>
#include <vector>

#include "engine/context.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

/// Their entries in the verb table.
std::vector<VerbSpec> page_verb_specs();

/// What a folder is called, however it was written: "runs" for "runs/", "a/../runs", and for "."
/// there.
std::string folder_name(const fs::path& folder);

/// `report`: Markdown, or with `html` the page; into the file `output` where it is named.
Result<Json> verb_report(FileSystem& files, const session::Session& session, const Json& args);
Result<Json> verb_site(Context& context, const Json& args);
Result<Json> verb_pack(Context& context, const Json& args);

}  // namespace wb::engine
