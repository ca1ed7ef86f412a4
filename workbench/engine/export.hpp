// SPDX-License-Identifier: MIT
// Private to engine: what leaves the workbench to be called by others. `proof` says which artifact
// passed and what its passes cover; `export` writes it with sources and provenance as a package.
// They read a session and write elsewhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/proven.hpp"
#include "engine/verb.hpp"

namespace wb::engine {

/// Their entries in the verb table.
std::vector<VerbSpec> export_verb_specs();

Result<Json> verb_proof(Context& context, const session::Session& session, const Json& args);
Result<Json> verb_export(Context& context, const session::Session& session, const Json& args);

/// wb_proven.h of a package: the table, the restrictions and the ids as C.
std::string proven_header(const Proven& proven, const std::string& package);
/// PROVENANCE.json.
Json provenance(const Proven& proven, const std::string& package, const std::string& kind,
                const std::string& workbench_version);
/// README.md. `kind`: torch or c.
std::string export_readme(const Proven& proven, const std::string& package,
                          const std::string& kind);

}  // namespace wb::engine
