// SPDX-License-Identifier: MIT
#include "engine/call.hpp"

#include "engine/context.hpp"

namespace wb::engine {

Result<fs::path> folder_to_read(const Call& call) {
  if (call.context.session) return call.context.session->folder();
  if (!call.folder.empty()) return call.folder;
  return Error{ErrorCode::usage, "read", "the session", "no session was named",
               "give --session DIR"};
}

Result<const session::Session*> session_to_read(const Call& call) {
  if (call.context.session) return &*call.context.session;
  WB_TRY_ASSIGN(const fs::path folder, folder_to_read(call));
  return call.context.recent.read(call.context.services.file_system, folder);
}

}  // namespace wb::engine
