// SPDX-License-Identifier: MIT
// Initializes libgit2, wraps its handles in RAII and reads its error text. Private to Repository's
// files.
#pragma once

#include <git2.h>

#include <memory>
#include <string>

namespace wb::session {

template <auto Free>
struct GitFree {
  template <typename T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
template <typename T, auto Free>
using GitHandle = std::unique_ptr<T, GitFree<Free>>;

using GitRepository = GitHandle<git_repository, git_repository_free>;
using GitConfig = GitHandle<git_config, git_config_free>;
using GitCommit = GitHandle<git_commit, git_commit_free>;
using GitTree = GitHandle<git_tree, git_tree_free>;
using GitTreeEntry = GitHandle<git_tree_entry, git_tree_entry_free>;
using GitBlob = GitHandle<git_blob, git_blob_free>;
using GitObjects = GitHandle<git_odb, git_odb_free>;
using GitReference = GitHandle<git_reference, git_reference_free>;
using GitReferences = GitHandle<git_reference_iterator, git_reference_iterator_free>;
using GitWorktree = GitHandle<git_worktree, git_worktree_free>;
using GitSignature = GitHandle<git_signature, git_signature_free>;

/// libgit2 returns handles through T**: git_call(commit, git_commit_lookup, repo, &oid).
template <typename T, auto Free, typename Call, typename... Args>
int git_call(GitHandle<T, Free>& handle, Call call, Args... args) {
  T* raw = nullptr;
  const int code = call(&raw, args...);
  handle.reset(raw);
  return code;
}

/// Holds libgit2 initialized; it may be used while one of these lives.
class GitLibrary {
 public:
  GitLibrary();
  /// Why a user or system configuration file is not read, such as ~/.gitconfig in another user's
  /// home; empty when all are read.
  [[nodiscard]] const std::string& unread() const { return *m_unread; }
  /// From now on only repositories' own configuration is read. Needed when a conditional include
  /// (includeIf) of another file cannot be read, which shows only when a matching repository is
  /// opened.
  void leave_out_configuration() const;
  /// True for git's rule safe.directory=*, which libgit2 1.5 does not know.
  [[nodiscard]] bool trusts_every_folder() const;

 private:
  const std::string* m_unread = nullptr;
};

/// Lets libgit2 open repositories of other users for its lifetime.
class WithoutOwnerCheck {
 public:
  WithoutOwnerCheck() { git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0); }
  WithoutOwnerCheck(const WithoutOwnerCheck&) = delete;
  WithoutOwnerCheck& operator=(const WithoutOwnerCheck&) = delete;
  ~WithoutOwnerCheck() { git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1); }
};

inline std::string git_message() {
  const git_error* error = git_error_last();
  return error == nullptr || error->message == nullptr ? std::string("libgit2 gave no reason")
                                                       : std::string(error->message);
}

inline std::string git_hex(const git_oid& oid) {
  char text[GIT_OID_HEXSZ + 1] = {};
  git_oid_tostr(text, sizeof text, &oid);
  return text;
}

}  // namespace wb::session
