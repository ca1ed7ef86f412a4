// SPDX-License-Identifier: MIT
// kernels/loops.json: how attention kernels divide the work (what the grid covers, what a block
// walks over), with pros, cons and use case, and which techniques tell that a variant is of a
// family. Data that a person may add to; report/loops.cpp lays two beside each other.
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
  /// Of known_techniques(). Both empty: no variant is told to be of it.
  std::vector<std::string> has, lacks;
};

/// In the order of the file. Errors: parse; invalid (a word that is missing or unknown, no pros or
/// cons, an id twice); too_new.
Result<std::vector<LoopFamily>> parse_loops(std::string_view text, std::string_view what);

/// Of the first folder that has one. Errors: not_found, and as above.
Result<std::vector<LoopFamily>> load_loops(const FileSystem& file_system,
                                           const variant::SearchPath& search_path);

/// The first family that a variant with these techniques is of; nullptr where none is, or where its
/// manifest names no technique at all (such as a library's, which nobody here has looked into).
const LoopFamily* loop_of(const std::vector<LoopFamily>& families,
                          const std::vector<std::string>& techniques);

}  // namespace wb::catalogue
