// SPDX-License-Identifier: MIT
// Private to variant: finds cache entries made from the same inputs by any compiler, for a machine
// without a compiler.
#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"

namespace wb::variant {

/// What an artifact id covers, except the compiler.
struct ArtifactInputs {
  std::string variant_id;
  Json configuration;  ///< complete
  std::string target;
  std::string grants;  ///< Grants::digest
};

/// Artifact ids of matching entries, newest first. Reads every record of the cache (some 10 us
/// each) and skips unreadable ones.
std::vector<std::string> find_entries(const FileSystem& file_system, const fs::path& root,
                                      const ArtifactInputs& made_of);

}  // namespace wb::variant
