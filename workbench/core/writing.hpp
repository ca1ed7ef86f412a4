// SPDX-License-Identifier: MIT
// Output to what a user named: standard output, devices, pipes, links, files. Only a regular file
// is replaced, and only as a whole; an unfinished folder is removed, since it would look complete
// and block the next attempt under that name.
#pragma once

#include <atomic>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/files.hpp"

namespace wb {

enum class Written { all, reader_left };

/// Writes all bytes to an open descriptor, called `name` in errors. Waits for a slow reader, also
/// on a non-blocking descriptor; raises no SIGPIPE when the reader has left. Errors: canceled
/// (`stop` became true), no_space, io (closed, or refused by the system).
Result<Written> write_all(int fd, std::string_view bytes, const fs::path& name,
                          const std::atomic<bool>* stop = nullptr);

/// Writes to a path that a user named. A regular file, also behind links, is replaced by
/// write_atomic() and keeps its permissions and owner; it is overwritten in place where it cannot
/// be replaced (another user's file, a file mount, a folder without write permission). Devices,
/// pipes and open descriptors are written through: "-" and /dev/stdout for standard output,
/// /dev/fd/N, a shell's >(…). A pipe waits for its reader until `stop` becomes true; a reader that
/// leaves is no error. Errors: usage (a folder, a socket, a descriptor that is not the user's), and
/// as above.
Result<void> write_output(FileSystem& files, const fs::path& path, std::string_view bytes,
                          Durability durability, const std::atomic<bool>* stop = nullptr);

/// True when write_output() would write `path` to standard output.
bool is_standard_output(const fs::path& path);

/// Construct it before the folder is made. Unless keep() is called, the destructor removes what did
/// not exist before: the folder with its content, and the folders above it while they are empty. A
/// folder that existed and was empty is emptied; one with content stays as it is.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(fs::path folder);
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
  ~UnfinishedFolder();

  void keep() { m_is_whole = true; }
  /// For a folder that others may fill meanwhile: it is removed only when it is empty.
  void leave_content() { m_takes_content = false; }

 private:
  fs::path m_folder;
  /// The folder and its parents that did not exist, innermost first.
  std::vector<fs::path> m_missing;
  bool m_takes_content, m_is_whole = false;
};

}  // namespace wb
