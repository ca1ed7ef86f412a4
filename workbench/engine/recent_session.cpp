// SPDX-License-Identifier: MIT
#include "engine/recent_session.hpp"

namespace wb {

Result<const Session*> RecentSession::read(FileSystem& file_system, const fs::path& folder) {
  if (m_session && m_session->folder() == folder) {
    WB_TRY_ASSIGN(const bool is_same, m_session->catch_up());
    if (is_same) return &*m_session;
  }
  m_session.reset();
  WB_TRY_ASSIGN(m_session, Session::open_reader(file_system, folder));
  return &*m_session;
}

}  // namespace wb
