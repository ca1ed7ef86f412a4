// SPDX-License-Identifier: MIT
// Session: one session, owned in its folder (one writer, flock on the log) or read from a folder or
// an archive. Combines log, blobs, variants, pages and git; does not know how an iteration is run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "session/log.hpp"
#include "session/repository.hpp"
#include "session/view.hpp"

namespace wb::session {

class SessionStorage;

inline constexpr int k_session_format = 1;

/// The key in session_opened and session.json that marks a redacted copy.
inline constexpr std::string_view k_redacted_key = "redacted";

/// The folder of a new session without a name: s-0001, s-0002 … below `root`, which need not exist.
fs::path next_session_folder(const fs::path& root);

class Session {
 public:
  /// Makes the folder with session.json (identity + "format"), the log with session_opened, and the
  /// root commit. `identity` is the payload of session_opened; an author is added if it has none.
  /// With its `repository` {path (from the folder), branch} the commits go to that branch, below
  /// sessions/<name>/, instead of a repository in the folder.
  /// Errors: invalid (folder not empty, an archive of that name), io, no_space, read_only; those of
  /// Repository::open_branch.
  static Result<Session> create(FileSystem& file_system, const Clock& clock, const fs::path& folder,
                                const Json& identity);
  /// Opens for writing; there is one writer. Cuts a torn tail (recovered event) and commits what
  /// was closed but not committed. Errors: locked (names the holder), too_new, damaged (also when
  /// the log lost lines that commits were made from), not_found, read_only (also an archive).
  static Result<Session> open_owner(FileSystem& file_system, const Clock& clock,
                                    const fs::path& folder);
  /// Reads the log as of this moment. `folder` may be an archive, as in open_storage(). Errors:
  /// too_new, damaged, not_found; those of unpack_archive().
  static Result<Session> open_reader(FileSystem& file_system, const fs::path& folder);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// The session's folder, or the archive's file.
  [[nodiscard]] const fs::path& folder() const;
  [[nodiscard]] const SessionStorage& storage() const;
  [[nodiscard]] const EventLog& log() const;
  Result<std::int64_t> append(std::string_view type, const Json& payload);
  /// A warning for readers that the log lost lines which commits were made from, with the advice;
  /// empty when nothing is wrong.
  [[nodiscard]] Result<std::string> warning() const;
  /// Errors: io, when the folder was removed or replaced since it was opened for writing.
  [[nodiscard]] Result<void> check_place() const;
  /// For readers: takes in events appended by another process. False when the log was replaced or
  /// changed: open it anew. Errors: damaged, io.
  Result<bool> catch_up();
  /// A copy of the current state, including the events appended since the last call. Copying costs
  /// time in proportion to the session; current() does not copy.
  Result<SessionView> view(FoldDepth depth) const;
  /// The current state without a copy: valid until the next call that appends or folds, or until
  /// the session is moved.
  Result<const SessionView*> current(FoldDepth depth) const;

  /// Content-addressed; fsynced before it returns. Returns the sha256.
  Result<std::string> put_blob(std::string_view bytes);
  /// Errors: invalid (not a sha256), not_found, damaged (the content has another hash).
  Result<std::string> read_blob(std::string_view sha256) const;
  /// Stores kernels/<variant id>/<path> once, whole or not at all. `files` as in Variant::files.
  /// Errors: invalid (an id or path that could leave the folder), no_space, io.
  Result<void> store_variant(std::string_view variant_id,
                             const std::map<std::string, std::string>& files);
  /// Errors: not_found, invalid, damaged (a link or a special file among them).
  Result<std::map<std::string, std::string>> load_variant_files(std::string_view variant_id) const;

  /// Closes an iteration: writes iterations/NNNN.<ext> pages (fsynced), appends iteration_closed
  /// with their hashes, commits sources and pages with trailers (docs/contracts/session_format.md),
  /// appends iteration_committed. Returns the oid. `closed` is the payload without pages, time,
  /// author, committer, parent_oid and commit (subject, trailers, variant_id), which are added, as
  /// is the trailer Log-Head. If only the commit fails, the iteration is closed nevertheless, and
  /// the next close_iteration(), close() or open_owner() commits it.
  struct Closing {
    std::int64_t iteration = 0;
    Json closed;
    std::map<std::string, std::string> pages;  ///< "0003.md" -> text
    std::string variant_id;                    ///< sources to commit; empty: none
    std::string subject;                       ///< commit subject line
    std::vector<std::pair<std::string, std::string>> trailers;
  };
  Result<std::string> close_iteration(const Closing& closing);

  /// Writes reports/<name> atomically.
  Result<void> write_report(std::string_view name, std::string_view text);
  /// Appends session_closed, runs `before_commit` (which writes the final report, so that it
  /// includes the closing), then commits log and reports. Returns the oid.
  Result<std::string> close(const Json& payload,
                            const std::function<Result<void>(Session&)>& before_commit = {});

  /// The commit that close() made, made now if it is missing. Errors: invalid (not closed, or a
  /// reader), those of a commit.
  Result<std::string> commit_of_closing();

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

/// "0003" for 3.
std::string iteration_name(std::int64_t number);

}  // namespace wb::session
