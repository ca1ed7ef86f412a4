// SPDX-License-Identifier: MIT
// Inside core only: system calls for files, with EINTR handled.
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "core/files.hpp"

namespace wb::detail {

template <typename Call>
auto retry_on_signal(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Moves a descriptor to number 3 or above. In a program that has closed one of the first three (a
/// daemon), our file would otherwise receive what others write to standard output.
inline UniqueFd above_stdio(UniqueFd fd) {
  if (!fd.valid() || fd.get() > 2) return fd;
  return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
}

/// Returns an invalid descriptor on failure; errno says why.
inline UniqueFd open_fd(const fs::path& path, int flags, mode_t mode = 0) {
  return above_stdio(
      UniqueFd(retry_on_signal([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); })));
}

inline fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Syncs the folder, so that its entries (a new file, a rename) survive a power cut. EINVAL from a
/// file system without folder sync is no error.
Result<void> sync_folder(const fs::path& folder);

}  // namespace wb::detail
