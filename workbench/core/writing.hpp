// SPDX-License-Identifier: MIT
// Output to what a user named: standard output, devices, pipes, links, files. Only a regular file
// is replaced, and only as a whole.
#pragma once

#include <atomic>
#include <string_view>

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

}  // namespace wb
