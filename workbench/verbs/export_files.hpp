// SPDX-License-Identifier: MIT
// What leaves the workbench to be called by others: the parts of a package that `export` writes, of
// an artifact whose passes `proof` tells.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "verbs/proven.hpp"

namespace wb::verbs {

/// The configuration that the arguments name; nothing: any that passed.
Result<std::optional<variant::Configuration>> wanted_configuration(const Json& args);

/// wb_proven.h of a package: the table, the restrictions and the ids as C.
std::string proven_header(const Proven& proven, const std::string& package);
/// PROVENANCE.json.
Json provenance(const Proven& proven, const std::string& package, const std::string& kind,
                const std::string& workbench_version);
/// README.md. `kind`: torch or c.
std::string export_readme(const Proven& proven, const std::string& package,
                          const std::string& kind);

}  // namespace wb::verbs
