// SPDX-License-Identifier: MIT
// RAII for libgit2's handles and its error text. Private to Repository's files.
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
using GitCommit = GitHandle<git_commit, git_commit_free>;
using GitTree = GitHandle<git_tree, git_tree_free>;
using GitTreeEntry = GitHandle<git_tree_entry, git_tree_entry_free>;
using GitBlob = GitHandle<git_blob, git_blob_free>;
using GitObjects = GitHandle<git_odb, git_odb_free>;
using GitReference = GitHandle<git_reference, git_reference_free>;
using GitWorktree = GitHandle<git_worktree, git_worktree_free>;
using GitSignature = GitHandle<git_signature, git_signature_free>;

/// libgit2 gives handles through T**: git_call(commit, git_commit_lookup, repo, &oid).
template <typename T, auto Free, typename Call, typename... Args>
int git_call(GitHandle<T, Free>& handle, Call call, Args... args) {
  T* raw = nullptr;
  const int code = call(&raw, args...);
  handle.reset(raw);
  return code;
}

/// Whoever has one may use libgit2. Initialized once and for good: a build with network transports
/// reads the machine's certificates each time, 8 ms that every call on a session would pay.
class GitLibrary {
 public:
  GitLibrary() { [[maybe_unused]] static const int initialized = git_libgit2_init(); }
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
