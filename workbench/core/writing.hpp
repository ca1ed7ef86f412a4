// SPDX-License-Identifier: MIT
// Output to what a user named or gave: standard output, devices, pipes, links, files. Nothing that
// he has is replaced but a regular file, and that as a whole.
#pragma once

#include <atomic>
#include <string_view>

#include "core/files.hpp"

namespace wb {

enum class Written { all, reader_left };

/// All of it to an open descriptor that is called `name` in errors. Where a reader is slow it is
/// waited for, also where the descriptor does not block; where he has left, no SIGPIPE comes.
/// Errors: canceled (`stop` became true), no_space, io (closed, or the system refuses).
Result<Written> write_all(int fd, std::string_view bytes, const fs::path& name,
                          const std::atomic<bool>* stop = nullptr);

/// What a user names as output. A regular file, also at the end of links, is replaced by
/// write_atomic() and keeps its permissions and owner, or overwritten where only that can be (it is
/// another user's, is mounted by itself or lies in a folder where none can be made). Devices and
/// pipes are written through, and so are open descriptors: "-" and /dev/stdout for standard output,
/// /dev/fd/N, >(…) of a shell. A pipe waits for its reader until `stop` becomes true; that the
/// reader leaves is no error. Errors: usage (a folder, a socket, a descriptor that is not the
/// user's), and as above.
Result<void> write_output(FileSystem& files, const fs::path& path, std::string_view bytes,
                          Durability durability, const std::atomic<bool>* stop = nullptr);

/// Whether write_output() would write there to standard output.
bool is_standard_output(const fs::path& path);

}  // namespace wb
