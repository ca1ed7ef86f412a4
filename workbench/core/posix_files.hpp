// SPDX-License-Identifier: MIT
// Inside core only: the system calls under files.cpp and append_file.cpp, with EINTR taken care of.
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

inline UniqueFd open_fd(const fs::path& path, int flags, mode_t mode = 0) {
  return UniqueFd(retry_on_signal([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

inline fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Makes the folder's entries (a new file, a rename) survive a power cut. A file system that has
/// no such thing answers EINVAL, which is no fault of ours.
Result<void> sync_folder(const fs::path& folder);

}  // namespace wb::detail
