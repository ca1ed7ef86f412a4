// SPDX-License-Identifier: MIT
// A folder of files as one .tar.gz: written so that equal files give equal bytes, and read with
// distrust, as archives come from anywhere. The only place that knows libarchive. Also the names of
// sessions, derived from the paths of their folders and archives.
//
// Reading refuses, with one error: invalid (a path that is absolute, leaves its folder or is not
// written plainly; a link, a special or a sparse file; a name that is there twice; more than one
// folder at the top), limit (more files or bytes than ArchiveLimits), damaged (cut off, changed, no
// archive).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/files.hpp"

namespace wb::session {

/// Limits of an archive. In addition, an archive that unpacks to more than 256 MiB must be packed
/// to at least a 200th of that.
struct ArchiveLimits {
  std::uint64_t entries = 100'000;
  std::uint64_t file_bytes = 1ull << 30;   ///< size of one file
  std::uint64_t total_bytes = 2ull << 30;  ///< size of all files, headers included
};

/// Path below the top folder ("blobs/…") -> content.
using ArchiveFiles = std::map<std::string, std::string>;

struct Archive {
  std::string top;  ///< the one folder that holds everything
  ArchiveFiles files;
};

/// Packs files below the folder `top`. Owner, times and modes are left out, and files are ordered
/// by name. Errors: invalid, limit (what reading would refuse); io.
Result<std::string> pack_archive(const std::string& top, const ArchiveFiles& files,
                                 const ArchiveLimits& limits = {});

/// Unpacks an archive; `path` is for messages. Errors: see above.
Result<Archive> unpack_archive(std::string_view bytes, const fs::path& path,
                               const ArchiveLimits& limits = {});

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
