// SPDX-License-Identifier: MIT
// Shared by report and html: where an iteration changed its parent's sources, from the stored
// sources. Pages made from the log alone do not use it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/session.hpp"

namespace wb::report {

/// First and last line in the new file, from 1; for removed lines only, the line before.
using LineRange = std::pair<std::int64_t, std::int64_t>;

struct FileChange {
  std::string path;
  std::int64_t added = 0, removed = 0;
  std::vector<LineRange> lines;  ///< ascending, not adjacent
  bool is_new = false, is_gone = false;
};

struct SourceChange {
  std::string unknown;            ///< why the files are unknown; empty: they are known
  std::vector<FileChange> files;  ///< changed files
};

/// For each iteration that changed the incumbent, by its number.
using SourceChanges = std::map<std::int64_t, SourceChange>;
SourceChanges source_changes(const session::Session& session, const session::SessionView& view);

/// The changed lines between two texts. Errors: those of line_diff().
Result<FileChange> file_change(std::string path, std::string_view before, std::string_view after);

using SourceFiles = std::map<std::string, std::string>;  ///< content by path

/// For a subject's label (name@artifact) or a variant's (name@variant); empty if it was never
/// built.
std::string variant_id_of(const session::SessionView& view, std::string_view label);
/// For the iteration's own variant.
std::string own_variant_id(const session::IterationView& iteration);
/// "kernel.cu" for "cpu_tiled/kernel.cu" when all files are in one folder, since a candidate's
/// folder has another name than its parent's.
SourceFiles without_own_folder(SourceFiles files);

}  // namespace wb::report
