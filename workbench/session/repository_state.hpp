// SPDX-License-Identifier: MIT
// Repository::State: the libgit2 handle and the steps of a commit. Private to repository.cpp,
// repository_refusals.cpp, repository_state.cpp and users_branch.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "session/git_library.hpp"
#include "session/repository.hpp"

namespace wb::session {

struct Repository::State {
  GitLibrary library;  // outlives the handle below
  fs::path git_folder;
  GitRepository repository;
  std::string branch = "main";
  bool is_own = true;  ///< the session's own repository, not a user's
  std::string mended;

  /// The Error for libgit2's last failure with this code: its cause and the remedy.
  [[nodiscard]] Error error(std::string attempted, int code) const;
  /// Calls `call`. If it fails because of a configuration outside the repository, that
  /// configuration is ignored from then on and the call is repeated. Returns libgit2's code.
  int by_configuration(const std::function<int()>& call) const;
  /// git_repository_open_ext of `path`, with git's rule about whom to trust.
  int open(const fs::path& path, unsigned flags);
  /// Errors: too_new, when libgit2 cannot read how objects or refs are stored.
  [[nodiscard]] Result<void> check_format() const;
  [[nodiscard]] Error damage(std::string attempted, std::string cause) const;
  [[nodiscard]] std::string cure_of_damage() const;
  /// The advice when only a new repository helps: the session's own can be made again; for a user's
  /// it is `otherwise`.
  [[nodiscard]] std::string start_anew(std::string otherwise) const;
  [[nodiscard]] git_repository* repo() const { return repository.get(); }
  [[nodiscard]] std::string ref() const { return "refs/heads/" + branch; }

  Result<git_oid> oid(const std::string& hex) const;
  /// A commit whose tree can be read, or null.
  GitCommit whole_commit(const git_oid& id) const;
  Result<std::optional<git_oid>> tip() const;
  Result<void> mend(const std::string& known_tip);
  /// Errors: usage, when git cannot keep a branch of that name beside the existing ones.
  [[nodiscard]] Result<void> refuse_collision() const;
  /// Errors: locked, when a work tree of the repository has the branch checked out, even without a
  /// commit.
  [[nodiscard]] Result<void> refuse_checked_out() const;
  Result<git_oid> write_tree(const git_commit* parent, const CommitSpec& spec) const;
  Result<git_oid> write_commit(const std::optional<git_oid>& parent, const CommitSpec& spec) const;
  Result<bool> descends(const git_oid& descendant, const git_oid& ancestor) const;
  /// `target`: the commit about to be written; `tip`: where the branch is, or null.
  bool remove_stale_lock(const git_oid& target, const git_oid* tip) const;
};

}  // namespace wb::session
