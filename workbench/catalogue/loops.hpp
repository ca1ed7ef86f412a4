// SPDX-License-Identifier: MIT
// kernels/loops.json: how attention kernels divide the work (what the grid covers, what a block
// iterates over), with pros, cons and use case, and the techniques that identify a variant's
// family. Data that users may extend; report/loops.cpp compares two families.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "variant/variant.hpp"

namespace wb::catalogue {

struct LoopFamily {
  std::string id, title, also_called;
  std::string grid, block, walks, merge;
  std::vector<std::string> pros, cons;
  std::string use_case, source;
  /// From known_techniques(). If both are empty, no variant is assigned to this family.
  std::vector<std::string> has, lacks;
};

/// In file order. Errors: parse; invalid (a missing or unknown word, no pros or cons, a duplicate
/// id); too_new.
Result<std::vector<LoopFamily>> parse_loops(std::string_view text, std::string_view what);

/// From the first folder that has the file. Errors: not_found, and as above.
Result<std::vector<LoopFamily>> load_loops(const FileSystem& file_system,
                                           const variant::SearchPath& search_path);

/// The first family that matches these techniques; nullptr when none does, or when the manifest
/// names no technique, such as a library's whose code is unknown.
const LoopFamily* loop_of(const std::vector<LoopFamily>& families,
                          const std::vector<std::string>& techniques);

}  // namespace wb::catalogue
