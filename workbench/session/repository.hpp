// SPDX-License-Identifier: MIT
// Repository: the session's git history through libgit2 (its only includer). Each iteration is one
// commit, made with tree builders and without an index, so that no index.lock can go stale. A
// session's own repository is bare: it is a copy made from the log, and no checkout can overwrite
// the log. In a user's repository only the named branch is written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/files.hpp"

namespace wb::session {

/// The commit trailer with the hash of the log line that the commit was made from.
inline constexpr std::string_view k_log_head_trailer = "Log-Head";

struct Signature {
  std::string name, email;
};

struct CommitSpec {
  std::string subject;                                        ///< first line
  std::vector<std::pair<std::string, std::string>> trailers;  ///< "Iteration" -> "3", in order
  std::map<std::string, std::string> files;  ///< path -> content; added to the tree
  Signature author, committer;
  /// Time of both dates, UTC; the same spec on the same parent gives the same oid.
  std::int64_t time_s = 0;
  std::string expected_parent;  ///< oid hex; empty for the root commit
};

class Repository {
 public:
  /// Creates <folder>/.git with branch `main`, or opens it, without the user's configuration. An
  /// unreadable branch (an empty ref file, a lost commit) is reset to `known_tip` if that commit is
  /// whole, else removed; mended() then says so. Errors: io, invalid (another user's repository, a
  /// link), too_new, damaged.
  static Result<Repository> open_or_create(const fs::path& folder,
                                           const std::string& known_tip = {});
  /// Opens an existing repository (`path`: a work tree, a bare repository or .git) and a branch,
  /// which need not exist yet. Nothing is ever repaired. Errors: not_found (no repository there),
  /// usage (no valid branch name, a symbolic ref's, or one that collides with another branch),
  /// invalid (another user's repository, a configuration that does not parse), too_new (an unknown
  /// extension or object format), locked (a work tree has the branch checked out), read_only,
  /// damaged.
  static Result<Repository> open_branch(const fs::path& path, const std::string& branch);
  /// Opens it for reading in any state: creates and repairs nothing, and accepts a checked-out
  /// branch. Errors: not_found, io, invalid, too_new.
  static Result<Repository> open_to_look(const fs::path& path, const std::string& branch,
                                         bool is_own);
  Repository(Repository&&) noexcept;
  Repository& operator=(Repository&&) noexcept;
  ~Repository();

  /// What opening repaired, in one sentence; empty when nothing.
  [[nodiscard]] const std::string& mended() const;
  /// Tip of the branch; empty when it has no commit.
  [[nodiscard]] Result<std::string> tip() const;
  /// The parent of a session's first commit: the tip; for a new branch the commit of HEAD, as with
  /// `git branch`; empty in an empty repository.
  [[nodiscard]] Result<std::string> start() const;
  /// Commits on expected_parent if it is the tip or there is no branch. If this very commit already
  /// is the tip or an ancestor of it, returns its oid. Else commits on the new tip and sets
  /// `moved`. Removes a ref lock of a killed process if the lock holds the oid about to be written
  /// or, in the session's own repository, is older than 60 s; only the holder of the session's lock
  /// may do that. Errors: locked (another git process holds the branch, or it is checked out;
  /// retried for a second by `clock`), no_space, read_only, io, invalid.
  struct Committed {
    std::string oid;
    bool moved = false;
    bool removed_stale_lock = false;
  };
  Result<Committed> commit(const CommitSpec& spec, const Clock& clock = RealClock());
  /// Trailers of a commit, for tests and `show`.
  [[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> trailers(
      const std::string& oid) const;
  /// The commit's first parent; empty for a root commit.
  [[nodiscard]] Result<std::string> parent(const std::string& oid) const;
  /// The object id at this path in a commit, for a file or a folder; empty when there is nothing.
  [[nodiscard]] Result<std::string> id_at(const std::string& oid, const std::string& path) const;
  /// Content of a file in a commit. Errors: not_found.
  [[nodiscard]] Result<std::string> file_at(const std::string& oid, const std::string& path) const;
  /// Checks everything that could prevent committing these files on top of a commit (empty: on
  /// none), before anything else is made, by storing them as an unreferenced tree. Errors: usage (a
  /// name that git refuses, a file in a folder's place), no_space, read_only, io, damaged.
  [[nodiscard]] Result<void> try_commit(const std::string& parent,
                                        const std::map<std::string, std::string>& files) const;
  /// True when a commit has a file or folder at this path.
  [[nodiscard]] Result<bool> has_path(const std::string& oid, const std::string& path) const;

 private:
  struct State;
  explicit Repository(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

}  // namespace wb::session
