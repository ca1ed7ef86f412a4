// SPDX-License-Identifier: MIT
// A branch of the user's repository: found and looked at with care, never mended.
#include <fmt/format.h>

#include "session/repository_state.hpp"

namespace wb::session {
namespace {

/// Whether HEAD of this work tree names the ref; an unborn branch counts.
bool head_names(git_repository* repository, const std::string& ref) {
  GitReference head;
  if (git_repository_is_bare(repository) != 0) return false;
  if (git_call(head, git_reference_lookup, repository, "HEAD") != 0) return false;
  const char* target = git_reference_symbolic_target(head.get());
  return target != nullptr && ref == target;
}

}  // namespace

Result<void> Repository::State::refuse_checked_out() const {
  const auto refusal = [&](const std::string& where) {
    return Error{ErrorCode::locked, "commit to branch " + branch + " of", git_folder.string(),
                 "it is checked out in " + where + ", whose files would fall behind",
                 "check out another branch there, or name a branch of the session's own"};
  };
  // `repo()` may itself be a linked work tree: all of them hang on the common folder.
  GitRepository main;
  const std::string common = git_folder.string();
  if (git_call(main, git_repository_open, common.c_str()) == 0 && head_names(main.get(), ref())) {
    return refusal("its work tree");
  }
  git_strarray names{};
  if (const int code = git_worktree_list(&names, repo()); code != 0) {
    return error("list the work trees of", code);
  }
  std::string found;
  for (std::size_t i = 0; i < names.count && found.empty(); ++i) {
    GitWorktree tree;
    GitRepository opened;
    // One whose folder is gone cannot fall behind.
    if (git_call(tree, git_worktree_lookup, repo(), names.strings[i]) != 0) continue;
    if (git_call(opened, git_repository_open_from_worktree, tree.get()) != 0) continue;
    if (head_names(opened.get(), ref())) found = printable(names.strings[i]);
  }
  git_strarray_dispose(&names);
  if (!found.empty()) return refusal("the work tree " + found);
  return {};
}

Result<Repository> Repository::open_branch(const fs::path& path, const std::string& branch) {
  auto state = std::make_unique<State>();
  state->git_folder = path;
  state->branch = branch;
  state->is_own = false;
  git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
  int is_valid = 0;
  const bool plain = !branch.empty() && branch[0] != '-' && branch != "HEAD";
  if (!plain || git_reference_name_is_valid(&is_valid, state->ref().c_str()) != 0 ||
      is_valid == 0) {
    return Error{ErrorCode::invalid, "commit to branch", printable(branch, 200),
                 "git takes no branch of that name", "give --branch another name"};
  }
  const int code = git_call(state->repository, git_repository_open_ext, path.c_str(),
                            static_cast<unsigned>(GIT_REPOSITORY_OPEN_NO_SEARCH), nullptr);
  if (is_another_users(code)) return state->another_users();
  if (code == GIT_ENOTFOUND) {
    return Error{ErrorCode::not_found, "open the repository", path.string(),
                 "there is no git repository", "name its work tree, or make it with git init"};
  }
  if (code != 0) return state->error("open the repository", code);
  state->git_folder = git_repository_commondir(state->repo());
  GitReference found;
  const int lookup = git_call(found, git_reference_lookup, state->repo(), state->ref().c_str());
  if (lookup == 0 && git_reference_type(found.get()) == GIT_REFERENCE_SYMBOLIC) {
    return Error{ErrorCode::invalid, "commit to branch", printable(branch, 200),
                 "it is a symbolic ref to another branch", "name that branch"};
  }
  WB_TRY_ASSIGN(const auto tip, state->tip());
  if (tip && state->whole_commit(*tip) == nullptr) {
    return state->damage("read the tip of " + branch + " in", printable(git_message()));
  }
  WB_TRY(state->refuse_checked_out());
  return Repository(std::move(state));
}

Result<std::string> Repository::start() const {
  WB_TRY_ASSIGN(const std::string found, tip());
  if (!found.empty()) return found;
  git_oid head;
  const int code = git_reference_name_to_id(&head, m_state->repo(), "HEAD");
  if (code == GIT_ENOTFOUND || code == GIT_EUNBORNBRANCH) return std::string();
  if (code != 0) return m_state->error("read HEAD of", code);
  return git_hex(head);
}

}  // namespace wb::session
