// SPDX-License-Identifier: MIT
#include "core/unfinished_folder.hpp"

#include <utility>

namespace wb {

UnfinishedFolder::UnfinishedFolder(fs::path folder) : m_folder(std::move(folder)) {
  std::error_code fault;
  for (fs::path at = m_folder; !at.empty() && !fs::exists(at, fault) && !fault;
       at = at.parent_path()) {
    if (at.has_filename()) m_missing.push_back(at);
  }
  m_takes_content = !m_missing.empty() || (fs::is_empty(m_folder, fault) && !fault);
}

UnfinishedFolder::~UnfinishedFolder() {
  if (m_is_whole) return;
  std::error_code ignored;
  if (m_takes_content) {
    for (const auto& entry : fs::directory_iterator(m_folder, ignored)) {
      fs::remove_all(entry.path(), ignored);
    }
  }
  for (const fs::path& folder : m_missing) fs::remove(folder, ignored);
}

}  // namespace wb
