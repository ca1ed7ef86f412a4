// SPDX-License-Identifier: MIT
// Private to variant: which entries of an artifact cache were made of the same things, whichever
// compiler made them. For a machine that has none.
#pragma once

#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"

namespace wb::variant {

/// What an artifact id covers, but for the compiler.
struct MadeOf {
  std::string variant_id;
  Json configuration;  ///< complete
  std::string target;
  std::string grants;  ///< Grants::digest
};

/// The artifact ids of those entries by their records, the newest first. Reads every record of the
/// cache (some 10 us each); what cannot be read is no entry.
std::vector<std::string> find_entries(const FileSystem& file_system, const fs::path& root,
                                      const MadeOf& made_of);

}  // namespace wb::variant
