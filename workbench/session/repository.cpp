// SPDX-License-Identifier: MIT
#include "session/repository.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "session/archive.hpp"
#include "session/repository_state.hpp"

namespace wb::session {
namespace {

// In sum longer than the age at which an empty lock counts as stale.
constexpr std::array k_retry_waits_ms{10, 50, 200, 400, 500};

}  // namespace

Repository::Repository(std::unique_ptr<State> state) : m_state(std::move(state)) {}
Repository::Repository(Repository&&) noexcept = default;
Repository& Repository::operator=(Repository&&) noexcept = default;
Repository::~Repository() = default;

Result<Repository> Repository::open_or_create(const fs::path& folder,
                                              const std::string& known_tip) {
  auto state = std::make_unique<State>();
  state->git_folder = folder / ".git";
  std::error_code ignored;
  const fs::file_type type = fs::symlink_status(state->git_folder, ignored).type();
  if (type != fs::file_type::not_found && type != fs::file_type::directory) {
    return Error{ErrorCode::invalid, "open the repository", state->git_folder.string(),
                 "it is a file or a link that leads elsewhere, not the session's own repository",
                 "remove it: the history is made again from the log"};
  }
  // Uses the canonical path, since libgit2 creates nothing below "a/./b//".
  const std::string path = (whole_path(folder) / ".git").string();
  const unsigned flags =
      GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT | GIT_REPOSITORY_OPEN_BARE;
  int code = state->open(state->git_folder, flags);
  if (code == GIT_ENOTFOUND) {
    git_repository_init_options options{};
    git_repository_init_options_init(&options, GIT_REPOSITORY_INIT_OPTIONS_VERSION);
    options.flags =
        GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKDIR | GIT_REPOSITORY_INIT_NO_DOTGIT_DIR;
    options.initial_head = state->branch.c_str();
    code = state->by_configuration([&] {
      return git_call(state->repository, git_repository_init_ext, path.c_str(), &options);
    });
    if (code != 0) return state->error("create the repository", code);
  }
  if (code != 0) return state->error("open the repository", code);
  WB_TRY(state->check_format());
  GitReference head;
  if (git_call(head, git_reference_lookup, state->repo(), "HEAD") != 0) {
    fs::remove(state->git_folder / "HEAD", ignored);
    code = git_call(head, git_reference_symbolic_create, state->repo(), "HEAD",
                    state->ref().c_str(), 1, nullptr);
    if (code != 0) return state->error("mend HEAD of", code);
  }
  WB_TRY(state->mend(known_tip));
  return Repository(std::move(state));
}

const std::string& Repository::mended() const {
  return m_state->mended;
}

Result<std::string> Repository::tip() const {
  WB_TRY_ASSIGN(const std::optional<git_oid> id, m_state->tip());
  return id ? git_hex(*id) : std::string();
}

Result<Repository::Committed> Repository::commit(const CommitSpec& spec, const Clock& clock) {
  State& state = *m_state;
  if (!state.is_own) WB_TRY(state.refuse_checked_out());
  std::optional<git_oid> expected;
  if (!spec.expected_parent.empty()) {
    WB_TRY_ASSIGN(expected, state.oid(spec.expected_parent));
  }
  Committed committed;
  for (std::size_t attempt = 0;; ++attempt) {
    WB_TRY_ASSIGN(const std::optional<git_oid> tip, state.tip());
    const bool is_whole = expected && state.whole_commit(*expected) != nullptr;
    // A branch that does not exist yet begins at the parent.
    const std::optional<git_oid> parent = tip || !is_whole ? tip : expected;
    const bool same_parent = parent.has_value() == expected.has_value() &&
                             (!parent || git_oid_equal(&*parent, &*expected) != 0);
    if (!same_parent && tip && (!expected || is_whole)) {
      if (state.whole_commit(*tip) == nullptr) {
        return state.damage("read the tip of " + state.branch + " in", printable(git_message()));
      }
      WB_TRY_ASSIGN(const git_oid again, state.write_commit(expected, spec));
      WB_TRY_ASSIGN(const bool done, state.descends(*tip, again));
      if (done) {
        committed.oid = git_hex(again);
        return committed;
      }
    }
    WB_TRY_ASSIGN(const git_oid made, state.write_commit(parent, spec));
    GitReference reference;
    const git_oid* current = tip ? &*tip : nullptr;
    const int code = git_call(reference, git_reference_create_matching, state.repo(),
                              state.ref().c_str(), &made, tip ? 1 : 0, current, nullptr);
    if (code == 0) {
      committed.oid = git_hex(made);
      committed.moved = !same_parent;
      return committed;
    }
    const bool retry = code == GIT_ELOCKED || code == GIT_EMODIFIED || code == GIT_EEXISTS;
    const Error refused = state.error("move the branch " + state.branch + " of", code);
    if (!retry) return refused;
    if (code == GIT_ELOCKED && !committed.removed_stale_lock &&
        state.remove_stale_lock(made, current)) {
      committed.removed_stale_lock = true;
      continue;
    }
    if (attempt >= k_retry_waits_ms.size()) return refused;
    clock.sleep(std::chrono::milliseconds(k_retry_waits_ms[attempt]));
  }
}

Result<std::vector<std::pair<std::string, std::string>>> Repository::trailers(
    const std::string& oid) const {
  WB_TRY_ASSIGN(const git_oid id, m_state->oid(oid));
  GitCommit commit;
  int code = git_call(commit, git_commit_lookup, m_state->repo(), &id);
  if (code != 0) return m_state->error("read commit " + oid + " of", code);
  git_message_trailer_array array{};
  code = git_message_trailers(&array, git_commit_message(commit.get()));
  if (code != 0) return m_state->error("read the trailers in", code);
  std::vector<std::pair<std::string, std::string>> list;
  for (std::size_t i = 0; i < array.count; ++i) {
    list.emplace_back(array.trailers[i].key, array.trailers[i].value);
  }
  git_message_trailer_array_free(&array);
  return list;
}

Result<Repository> Repository::open_to_look(const fs::path& path, const std::string& branch,
                                            bool is_own) {
  auto state = std::make_unique<State>();
  state->git_folder = path;
  state->branch = branch;
  state->is_own = is_own;
  unsigned flags = GIT_REPOSITORY_OPEN_NO_SEARCH;
  if (is_own) flags |= GIT_REPOSITORY_OPEN_NO_DOTGIT | GIT_REPOSITORY_OPEN_BARE;
  const int code = state->open(path, flags);
  if (code == GIT_ENOTFOUND) {
    return Error{ErrorCode::not_found, "open the repository", path.string(), "there is none", ""};
  }
  if (code != 0) return state->error("open the repository", code);
  WB_TRY(state->check_format());
  return Repository(std::move(state));
}

Result<std::string> Repository::parent(const std::string& oid) const {
  WB_TRY_ASSIGN(const git_oid id, m_state->oid(oid));
  GitCommit commit;
  const int code = git_call(commit, git_commit_lookup, m_state->repo(), &id);
  if (code != 0) return m_state->error("read commit " + oid + " of", code);
  if (git_commit_parentcount(commit.get()) == 0) return std::string();
  return git_hex(*git_commit_parent_id(commit.get(), 0));
}

Result<std::string> Repository::id_at(const std::string& oid, const std::string& path) const {
  WB_TRY_ASSIGN(const git_oid id, m_state->oid(oid));
  GitCommit commit;
  GitTree tree;
  GitTreeEntry entry;
  int code = git_call(commit, git_commit_lookup, m_state->repo(), &id);
  if (code == 0) code = git_call(tree, git_commit_tree, commit.get());
  if (code == 0) code = git_call(entry, git_tree_entry_bypath, tree.get(), path.c_str());
  if (code == GIT_ENOTFOUND) return std::string();
  if (code != 0) return m_state->error("look for " + printable(path) + " in", code);
  return git_hex(*git_tree_entry_id(entry.get()));
}

Result<bool> Repository::has_path(const std::string& oid, const std::string& path) const {
  WB_TRY_ASSIGN(const git_oid id, m_state->oid(oid));
  GitCommit commit;
  GitTree tree;
  GitTreeEntry entry;
  int code = git_call(commit, git_commit_lookup, m_state->repo(), &id);
  if (code == 0) code = git_call(tree, git_commit_tree, commit.get());
  if (code == 0) code = git_call(entry, git_tree_entry_bypath, tree.get(), path.c_str());
  if (code != 0 && code != GIT_ENOTFOUND) {
    return m_state->error("look for " + printable(path) + " in", code);
  }
  return code == 0;
}

Result<std::string> Repository::file_at(const std::string& oid, const std::string& path) const {
  WB_TRY_ASSIGN(const git_oid id, m_state->oid(oid));
  GitCommit commit;
  GitTree tree;
  GitTreeEntry entry;
  GitBlob blob;
  int code = git_call(commit, git_commit_lookup, m_state->repo(), &id);
  if (code == 0) code = git_call(tree, git_commit_tree, commit.get());
  if (code == 0) code = git_call(entry, git_tree_entry_bypath, tree.get(), path.c_str());
  if (code == GIT_ENOTFOUND) {
    return Error{ErrorCode::not_found, "read", printable(path),
                 "commit " + oid + " has no such file", ""};
  }
  if (code == 0) {
    code = git_call(blob, git_blob_lookup, m_state->repo(), git_tree_entry_id(entry.get()));
  }
  if (code != 0) return m_state->error("read " + printable(path) + " in", code);
  return std::string(static_cast<const char*>(git_blob_rawcontent(blob.get())),
                     static_cast<std::size_t>(git_blob_rawsize(blob.get())));
}

}  // namespace wb::session
