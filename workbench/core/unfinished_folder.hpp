// SPDX-License-Identifier: MIT
// A folder that a verb fills for its user. Half of it would look like the whole, and keep the next
// try from that name.
#pragma once

#include <system_error>
#include <vector>

#include "core/files.hpp"

namespace wb {

/// Made before the folder is. Unless keep() is called, what was not there before goes away again at
/// the end: the folder with its content, and the folders above it as long as they are empty. A
/// folder that was there and empty is emptied; one that had something in it stays as it is.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(fs::path folder);
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
  ~UnfinishedFolder();

  void keep() { m_is_whole = true; }
  /// Others may put things into the folder meanwhile: it goes away only when it is empty.
  void leave_content() { m_takes_content = false; }

 private:
  fs::path m_folder;
  std::vector<fs::path> m_missing;  ///< the folder and those above it, the innermost first
  bool m_takes_content, m_is_whole = false;
};

}  // namespace wb
