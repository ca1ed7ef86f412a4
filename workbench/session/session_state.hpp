// SPDX-License-Identifier: MIT
// Session::State: the parts of a session, and how commits are made or made up for. Private to
// session.cpp and session_state.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "session/fold.hpp"
#include "session/folder.hpp"
#include "session/session.hpp"

namespace wb::session {

struct Session::State {
  State(FileSystem& file_system, const fs::path& path)
      : folder(file_system, path), storage(std::make_unique<FolderStorage>(file_system, path)) {}
  /// For a reader, which may read an archive.
  State(FileSystem& file_system, std::unique_ptr<SessionStorage> where)
      : folder(file_system, where->path()), storage(std::move(where)) {}

  SessionFolder folder;  // for writing
  std::unique_ptr<SessionStorage> storage;
  const Clock* clock = nullptr;          // null for a reader
  std::optional<EventLog> log;           // always there once a Session exists
  std::optional<Repository> repository;  // none for a reader
  std::string tree_prefix;               // "sessions/s-0001/" on a user's branch, else ""
  bool history_lost = false;             // the repository was recreated from an older log
  // Folded as deep as was requested so far: a full view also serves brief requests, so that a long
  // session is not held twice.
  mutable LogFold folded{FoldDepth::brief};

  Result<const SessionView*> current(FoldDepth wanted) const;
  [[nodiscard]] Result<void> require_owner(std::string_view what) const;
  Result<void> note_recovery(std::uint64_t cut_bytes, const Json& saved_as, std::string reason);
  Result<void> record_recoveries();
  /// For a new session: opens the user's branch if `identity` names one, records in `identity` the
  /// commit that the session begins at, and checks that its first commit can be made. Errors: as of
  /// Repository::open_branch and try_commit; invalid (no usable folder name, or the branch has a
  /// session of that name), usage (a file in its folder's place).
  Result<void> begin_on_branch(Json& identity);
  Result<void> open_branch(const Json& opened);
  Result<void> open_repository();
  Result<void> commit_root();
  Result<Repository::Committed> commit(CommitSpec spec);
  Result<void> commit_pending();
  Result<std::string> commit_iteration(const IterationView& iteration);
  Result<std::map<std::string, std::string>> files_of(const Fact& closed,
                                                      std::string& missing) const;
  Result<void> note_commit(const Repository::Committed& committed, std::string_view what);
  Result<std::string> commit_closing();
  Result<bool> closing_is_committed(const SessionView& view) const;
  Result<Json> stamped(Json payload) const;
};

}  // namespace wb::session
