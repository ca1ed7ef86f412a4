// SPDX-License-Identifier: MIT
#include "engine/recent_session.hpp"

namespace wb::engine {

Result<const session::Session*> RecentSession::read(FileSystem& file_system,
                                                    const fs::path& folder) {
  if (m_session && m_asked == folder) {
    WB_TRY_ASSIGN(const bool is_same, m_session->catch_up());
    if (is_same) return &*m_session;
  }
  m_session.reset();
  m_asked = folder;
  WB_TRY_ASSIGN(m_session, session::Session::open_reader(file_system, folder));
  return &*m_session;
}

}  // namespace wb::engine
