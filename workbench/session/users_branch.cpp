// SPDX-License-Identifier: MIT
// A branch of the user's repository: found and read with care, never repaired.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "session/repository_state.hpp"

namespace wb::session {
namespace {

constexpr std::size_t k_name_bytes_max = 250;  // of the 255 of a file name, minus ".lock"

/// True when HEAD of this work tree names the ref, even an unborn branch.
bool head_names(git_repository* repository, const std::string& ref) {
  GitReference head;
  if (git_repository_is_bare(repository) != 0) return false;
  if (git_call(head, git_reference_lookup, repository, "HEAD") != 0) return false;
  const char* target = git_reference_symbolic_target(head.get());
  return target != nullptr && ref == target;
}

/// Reads core.bare from the place that extensions.worktreeConfig moves it to. libgit2 does not look
/// there and would take a bare repository for one with a work tree.
bool is_bare_by_worktree_config(const fs::path& git_folder) {
  GitConfig config;
  int is_bare = 0;
  const std::string path = (git_folder / "config.worktree").string();
  return git_call(config, git_config_open_ondisk, path.c_str()) == 0 &&
         git_config_get_bool(&is_bare, config.get(), "core.bare") == 0 && is_bare != 0;
}

Error no_branch(const std::string& branch, std::string cause, std::string next) {
  return Error{ErrorCode::usage, "commit to branch", printable(branch, 200), std::move(cause),
               std::move(next)};
}

Result<void> check_name(const std::string& branch, const std::string& ref) {
  int is_valid = 0;
  const bool plain = !branch.empty() && branch[0] != '-' && branch != "HEAD";
  if (!plain || git_reference_name_is_valid(&is_valid, ref.c_str()) != 0 || is_valid == 0) {
    return no_branch(branch, "git takes no branch of that name", "give --branch another name");
  }
  for (const fs::path& part : fs::path(branch)) {
    if (part.native().size() <= k_name_bytes_max) continue;
    return no_branch(branch,
                     fmt::format("a part of it has more than the {} bytes that git has room for",
                                 k_name_bytes_max),
                     "give --branch a shorter name");
  }
  return {};
}

/// The work tree above a folder that is no repository itself; empty without one.
std::string repository_above(const fs::path& path) {
  git_buf found{};
  std::string above;
  const std::string place = path.string();
  if (git_repository_discover(&found, place.c_str(), 0, nullptr) == 0) {
    above = fs::path(found.ptr).parent_path().string();
    if (above.ends_with("/.git")) above.resize(above.size() - 5);
  }
  git_buf_dispose(&found);
  return above;
}

}  // namespace

Result<void> Repository::State::refuse_checked_out() const {
  const auto refusal = [&](const std::string& where) {
    return Error{ErrorCode::locked, "commit to branch " + branch + " of", git_folder.string(),
                 "it is checked out in " + where + ", whose files would fall behind",
                 "check out another branch there, or name a branch of the session's own"};
  };
  // `repo()` may itself be a linked work tree; all are registered in the common folder. Only their
  // HEADs are read, so their owner does not matter.
  const WithoutOwnerCheck every;
  GitRepository main;
  const std::string common = git_folder.string();
  if (git_call(main, git_repository_open, common.c_str()) == 0 && head_names(main.get(), ref()) &&
      !is_bare_by_worktree_config(git_folder)) {
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
    // A work tree whose folder is gone cannot fall behind.
    if (git_call(tree, git_worktree_lookup, repo(), names.strings[i]) != 0) continue;
    if (git_call(opened, git_repository_open_from_worktree, tree.get()) != 0) continue;
    if (head_names(opened.get(), ref())) found = printable(names.strings[i]);
  }
  git_strarray_dispose(&names);
  if (!found.empty()) return refusal("the work tree " + found);
  return {};
}

Result<void> Repository::State::refuse_collision() const {
  GitReferences others;
  int code = git_call(others, git_reference_iterator_glob_new, repo(), "refs/heads/*");
  if (code != 0) return error("list the branches of", code);
  const std::string own = ref();
  const auto is_below = [](std::string_view one, const std::string& other) {
    return one.starts_with(other + "/");
  };
  const char* name = nullptr;
  while ((code = git_reference_next_name(&name, others.get())) == 0) {
    if (!is_below(name, own) && !is_below(own, name)) continue;
    return no_branch(branch,
                     fmt::format("{} has the branch {}, and git keeps none of one name and one "
                                 "below it",
                                 git_folder.string(), printable(name + 11, 200)),
                     "give --branch another name, or rename that one");
  }
  return code == GIT_ITEROVER ? Result<void>() : error("list the branches of", code);
}

Result<Repository> Repository::open_branch(const fs::path& path, const std::string& branch) {
  auto state = std::make_unique<State>();
  state->git_folder = path;
  state->branch = branch;
  state->is_own = false;
  WB_TRY(check_name(branch, state->ref()));
  const int code = state->open(path, GIT_REPOSITORY_OPEN_NO_SEARCH);
  if (code == GIT_ENOTFOUND) {
    const std::string above = repository_above(path);
    return Error{ErrorCode::not_found, "open the repository", path.string(),
                 "there is no git repository",
                 above.empty() ? "name its work tree, or make it with git init"
                               : fmt::format("name its work tree: --repo '{}'", above)};
  }
  if (code != 0) return state->error("open the repository", code);
  WB_TRY(state->check_format());
  state->git_folder = git_repository_commondir(state->repo());
  GitReference found;
  const int lookup = git_call(found, git_reference_lookup, state->repo(), state->ref().c_str());
  if (lookup == 0 && git_reference_type(found.get()) == GIT_REFERENCE_SYMBOLIC) {
    return no_branch(branch, "it is a symbolic ref to another branch", "name that branch");
  }
  WB_TRY_ASSIGN(const auto tip, state->tip());
  if (tip && state->whole_commit(*tip) == nullptr) {
    return state->damage("read the tip of " + branch + " in", printable(git_message()));
  }
  WB_TRY(state->refuse_checked_out());
  if (!tip) WB_TRY(state->refuse_collision());
  return Repository(std::move(state));
}

Result<void> Repository::try_commit(const std::string& parent,
                                    const std::map<std::string, std::string>& files) const {
  const State& state = *m_state;
  // The folder of the branch's file, which may not exist yet.
  fs::path folder = (state.git_folder / state.ref()).parent_path();
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return errno_error("move the branch " + state.branch + ": write to", folder, errno);
  }
  GitCommit base;
  if (!parent.empty()) {
    WB_TRY_ASSIGN(const git_oid id, state.oid(parent));
    base = state.whole_commit(id);
    if (base == nullptr) {
      return state.damage("read commit " + parent + " of", printable(git_message()));
    }
  }
  CommitSpec spec;
  spec.files = files;
  const auto tree = state.write_tree(base.get(), spec);
  return tree ? Result<void>() : tree.error();
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
