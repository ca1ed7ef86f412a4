// SPDX-License-Identifier: MIT
// Repository::State: the libgit2 handle and the steps that a commit is made of. Private to
// repository.cpp, repository_refusals.cpp, repository_state.cpp and users_branch.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "session/git_handles.hpp"
#include "session/repository.hpp"

namespace wb::session {

struct Repository::State {
  GitLibrary library;  // outlives the handle below
  fs::path git_folder;
  GitRepository repository;
  std::string branch = "main";
  bool is_own = true;  ///< the session's, not the user's
  std::string mended;

  /// An Error for what libgit2 has just refused with this code: its cause and that cause's cure.
  [[nodiscard]] Error error(std::string attempted, int code) const;
  /// What `call` of libgit2 returns; where it fails by a configuration beside the repository's own,
  /// that counts as none from then on, and it is called again.
  int by_configuration(const std::function<int()>& call) const;
  /// git_repository_open_ext of `path`, with git's own rule about whom to trust.
  int open(const fs::path& path, unsigned flags);
  /// Errors: too_new, when its objects or refs are stored in a way that libgit2 does not read.
  [[nodiscard]] Result<void> check_format() const;
  [[nodiscard]] Error damage(std::string attempted, std::string cause) const;
  [[nodiscard]] std::string cure_of_damage() const;
  /// The advice for what only a new repository cures: the session's own is made again; for the
  /// user's, `otherwise`.
  [[nodiscard]] std::string start_anew(std::string otherwise) const;
  [[nodiscard]] git_repository* repo() const { return repository.get(); }
  [[nodiscard]] std::string ref() const { return "refs/heads/" + branch; }

  Result<git_oid> oid(const std::string& hex) const;
  /// A commit whose tree can be read, or null.
  GitCommit whole_commit(const git_oid& id) const;
  Result<std::optional<git_oid>> tip() const;
  Result<void> mend(const std::string& known_tip);
  /// Errors: usage, when git can keep no branch of that name beside those that are there.
  [[nodiscard]] Result<void> refuse_collision() const;
  /// Errors: locked, when a work tree of the repository stands on the branch, born or unborn.
  [[nodiscard]] Result<void> refuse_checked_out() const;
  Result<git_oid> write_tree(const git_commit* parent, const CommitSpec& spec) const;
  Result<git_oid> write_commit(const std::optional<git_oid>& parent, const CommitSpec& spec) const;
  Result<bool> descends(const git_oid& descendant, const git_oid& ancestor) const;
  /// `target` is about to be committed; `tip` is where the branch is, or null.
  bool remove_stale_lock(const git_oid& target, const git_oid* tip) const;
};

}  // namespace wb::session
