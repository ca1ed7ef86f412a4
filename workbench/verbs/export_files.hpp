// SPDX-License-Identifier: MIT
// The parts of a package that `export` writes for an artifact whose passes `proof` lists.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "verbs/proven.hpp"

namespace wb::verbs {

/// The configuration in the arguments; nothing: any that passed.
Result<std::optional<variant::Configuration>> wanted_configuration(const Json& args);

/// wb_proven.h of a package: the table, the restrictions and the ids in C.
std::string proven_header(const Proven& proven, const std::string& package);
/// The content of PROVENANCE.json.
Json provenance(const Proven& proven, const std::string& package, const std::string& kind,
                const std::string& workbench_version);
/// The content of README.md. `kind`: torch or c.
std::string export_readme(const Proven& proven, const std::string& package,
                          const std::string& kind);

}  // namespace wb::verbs
