// SPDX-License-Identifier: MIT
// The names of sessions, derived from the paths of their folders and archives.
#pragma once

#include <string>
#include <string_view>

#include "core/files.hpp"

namespace wb::session {

inline constexpr std::string_view k_archive_suffix = ".tar.gz";

/// Removes trailing separators: "runs" for "runs/".
fs::path plain_path(const fs::path& path);

/// The canonical absolute path. For a folder, which need not exist yet, links, "." and ".." are
/// resolved, so that its last part is the folder's name. For an archive links are kept, since a
/// store may name the target by its hash.
fs::path whole_path(const fs::path& path);

/// The session's name, in either form: "mine" for "a/mine", "a/mine/", "a/mine/." and
/// "a/mine.tar.gz".
std::string session_name(const fs::path& path);

/// The name that find_sessions() sorts by; a link is listed under its own name.
std::string listed_name(const fs::path& path);

/// `name` + `suffix` as a file name, shortened when longer than file systems allow (255 bytes). Two
/// different long names stay different.
std::string file_name(const std::string& name, std::string_view suffix);

}  // namespace wb::session
