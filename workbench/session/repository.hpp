// SPDX-License-Identifier: MIT
// Repository: the session's git history through libgit2 (the only place that includes it): one
// commit an iteration, made with tree builders and without an index, so no index.lock can go stale.
// A session's own repository is bare: it is a copy made from the log, and no checkout can overwrite
// the log. In a repository of the user's only the one branch is written.
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

/// The trailer of a session's commit that names the hash of the log's line it was made from.
inline constexpr std::string_view k_log_head_trailer = "Log-Head";

struct Signature {
  std::string name, email;
};

struct CommitSpec {
  std::string subject;                                        ///< first line
  std::vector<std::pair<std::string, std::string>> trailers;  ///< "Iteration" -> "3", in order
  std::map<std::string, std::string> files;  ///< path -> content; added to the tree
  Signature author, committer;
  std::int64_t time_s = 0;      ///< both dates, UTC: the same spec on the same parent gives the
                                ///< same oid
  std::string expected_parent;  ///< oid hex; empty for the root commit
};

class Repository {
 public:
  /// Creates <folder>/.git with branch `main`, or opens it. Nothing of the user's configuration is
  /// needed for it. A branch that cannot be read (an empty
  /// ref file, a lost commit) is set back to `known_tip` when that commit is whole, else removed;
  /// mended() then says so. Errors: io, invalid (another user's repository, a link), too_new,
  /// damaged.
  static Result<Repository> open_or_create(const fs::path& folder,
                                           const std::string& known_tip = {});
  /// An existing repository (`path`: a work tree, a bare repository or .git) and a branch of it,
  /// which need not exist yet. Nothing in it is ever mended. Errors: not_found (no repository
  /// there), usage (no branch's name, a symbolic ref's, or one that another branch is in the way
  /// of), invalid (another user's repository, a configuration that does not parse), too_new (an
  /// extension or object format that is not known), locked (some work tree has the branch checked
  /// out), read_only, damaged.
  static Result<Repository> open_branch(const fs::path& path, const std::string& branch);
  /// To read it, whatever its state: nothing is made, mended or refused for being checked out.
  /// Errors: not_found, io, invalid, too_new.
  static Result<Repository> open_to_look(const fs::path& path, const std::string& branch,
                                         bool is_own);
  Repository(Repository&&) noexcept;
  Repository& operator=(Repository&&) noexcept;
  ~Repository();

  /// What opening had to mend, in one sentence; empty when nothing.
  [[nodiscard]] const std::string& mended() const;
  /// Tip of the branch, empty while there is none.
  [[nodiscard]] Result<std::string> tip() const;
  /// Where the first commit of a session goes: the tip; of a branch that does not exist yet the
  /// commit that HEAD names, as with `git branch`; empty in an empty repository.
  [[nodiscard]] Result<std::string> start() const;
  /// Commits on expected_parent when it still is the tip or there is no branch; else, when this
  /// very commit already is the tip or an ancestor of it, returns its oid; else commits on the new
  /// tip and says so in `moved`. A ref lock left by a killed process is removed when it holds the
  /// oid that is about to be written or, in the session's own repository, is older than 60 s, which
  /// only the holder of the session's lock may do. Errors: locked (another git process holds the
  /// branch, or somebody checked it out; tried again for a second by `clock`), no_space, read_only,
  /// io, invalid.
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
  /// The id of what a commit has at this path, a file or a folder; empty when it has nothing.
  [[nodiscard]] Result<std::string> id_at(const std::string& oid, const std::string& path) const;
  /// Content of a file in a commit. Errors: not_found.
  [[nodiscard]] Result<std::string> file_at(const std::string& oid, const std::string& path) const;
  /// Asks all that could keep these files from being committed on top of a commit (empty: of
  /// nothing), before anything else is made: they are stored as a tree that no branch names.
  /// Errors: usage (a name that git takes for no file, a file in a folder's place), no_space,
  /// read_only, io, damaged.
  [[nodiscard]] Result<void> try_commit(const std::string& parent,
                                        const std::map<std::string, std::string>& files) const;
  /// Whether a commit has something at this path, a file or a folder.
  [[nodiscard]] Result<bool> has_path(const std::string& oid, const std::string& path) const;

 private:
  struct State;
  explicit Repository(std::unique_ptr<State> state);
  std::unique_ptr<State> m_state;
};

}  // namespace wb::session
