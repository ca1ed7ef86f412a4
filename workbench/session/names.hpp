// SPDX-License-Identifier: MIT
// What sessions are called: by their folders and archives, however those are named.
#pragma once

#include <string>
#include <string_view>

#include "core/files.hpp"

namespace wb::session {

inline constexpr std::string_view k_archive_suffix = ".tar.gz";

/// The path without what may stand behind a folder's name: "runs" for "runs/".
fs::path plain_path(const fs::path& path);

/// The one path of what `path` names: absolute; of a folder, which need not be there yet, without
/// links, "." and "..". Its last part is what the folder is called, however it was named. That of
/// an archive keeps its links: the name is the link's, where a store names the file by its hash.
fs::path whole_path(const fs::path& path);

/// What a session is called, in either form: "mine" for "a/mine", "a/mine/", "a/mine/." and
/// "a/mine.tar.gz".
std::string session_name(const fs::path& path);

/// What an entry of find_sessions() is called in its list, where a link has a name of its own.
std::string listed_name(const fs::path& path);

/// A file's name: `name` with `suffix` behind it, shortened where both together are longer than a
/// file system takes (255 bytes). Two long names stay two.
std::string file_name(const std::string& name, std::string_view suffix);

}  // namespace wb::session
