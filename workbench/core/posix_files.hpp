// SPDX-License-Identifier: MIT
// Inside core only: the system calls under its files, with EINTR taken care of.
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

/// A descriptor of 3 or above. In a program that has closed one of the first three (a daemon, or
/// one that was started so), a file of ours would else get what others write to its standard
/// output.
inline UniqueFd above_stdio(UniqueFd fd) {
  if (!fd.valid() || fd.get() > 2) return fd;
  return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
}

/// errno says why it is not valid.
inline UniqueFd open_fd(const fs::path& path, int flags, mode_t mode = 0) {
  return above_stdio(
      UniqueFd(retry_on_signal([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); })));
}

inline fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Makes the folder's entries (a new file, a rename) survive a power cut. A file system that has
/// no such thing answers EINVAL, which is no fault of ours.
Result<void> sync_folder(const fs::path& folder);

}  // namespace wb::detail
