// SPDX-License-Identifier: MIT
// Shared by report and html: where an iteration changed the sources of its parent, from the sources
// that the session stored. Pages made from the log alone go without.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/session.hpp"

namespace wb::report {

/// Lines of the new file, first and last, from 1; where lines were only taken away, the one before.
using LineRange = std::pair<std::int64_t, std::int64_t>;

struct FileChange {
  std::string path;
  std::int64_t added = 0, removed = 0;
  std::vector<LineRange> lines;  ///< ascending, none touches the next
  bool is_new = false, is_gone = false;
};

struct SourceChange {
  std::string unknown;            ///< why the files below are not known; empty: they are
  std::vector<FileChange> files;  ///< that differ
};

/// Of each iteration that changed the incumbent, by its number.
using SourceChanges = std::map<std::int64_t, SourceChange>;
SourceChanges source_changes(const session::Session& session, const session::SessionView& view);

/// What lies where between two texts. Errors: those of line_diff().
Result<FileChange> file_change(std::string path, std::string_view before, std::string_view after);

using SourceFiles = std::map<std::string, std::string>;  ///< content by path

/// Of a subject's label (name@artifact) or a variant's (name@variant); empty where none was built.
std::string variant_id_of(const session::SessionView& view, std::string_view label);
/// Of the iteration's own variant.
std::string own_variant_id(const session::IterationView& iteration);
/// "kernel.cu" of "cpu_tiled/kernel.cu" where all files lie in one folder: a candidate's has
/// another name than its parent's.
SourceFiles without_own_folder(SourceFiles files);

}  // namespace wb::report
