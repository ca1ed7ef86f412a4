// SPDX-License-Identifier: MIT
// Removes an unfinished output folder. A half-filled folder would look complete and block the next
// attempt under that name.
#pragma once

#include <system_error>
#include <vector>

#include "core/files.hpp"

namespace wb {

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
