// SPDX-License-Identifier: MIT
#include "session/repository_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

namespace wb::session {
namespace {

constexpr auto k_stale_lock_age = std::chrono::seconds(60);
constexpr auto k_empty_lock_age = std::chrono::seconds(1);

bool is_oid(const std::string& text) {
  return text.size() == GIT_OID_HEXSZ &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string message_of(const CommitSpec& spec) {
  std::string message = printable(spec.subject, 200) + "\n";
  for (std::size_t i = 0; i < spec.trailers.size(); ++i) {
    if (i == 0) message += "\n";
    message += fmt::format("{}: {}\n", printable(spec.trailers[i].first, 60),
                           printable(spec.trailers[i].second, 400));
  }
  return message;
}

}  // namespace

Result<git_oid> Repository::State::oid(const std::string& hex) const {
  git_oid id;
  if (is_oid(hex) && git_oid_fromstr(&id, hex.c_str()) == 0) return id;
  return Error{ErrorCode::invalid, "read the commit id", printable(hex),
               "it is not 40 hexadecimal digits", ""};
}

GitCommit Repository::State::whole_commit(const git_oid& id) const {
  GitCommit commit;
  GitTree tree;
  if (git_call(commit, git_commit_lookup, repo(), &id) != 0) return {};
  if (git_call(tree, git_commit_tree, commit.get()) != 0) return {};
  return commit;
}

Result<std::optional<git_oid>> Repository::State::tip() const {
  git_oid id;
  const int code = git_reference_name_to_id(&id, repo(), ref().c_str());
  if (code == GIT_ENOTFOUND) return std::optional<git_oid>();
  if (code != 0) return damage("read the tip of " + branch + " in", printable(git_message()));
  return std::optional(id);
}

Result<void> Repository::State::mend(const std::string& known_tip) {
  const auto found = tip();
  if (found.ok() && (!*found || whole_commit(**found) != nullptr)) return {};
  const std::string cause =
      found.ok() ? std::string("its commit cannot be read") : found.error().cause;
  std::error_code failure;
  fs::remove(git_folder / ref(), failure);
  if (failure) return errno_error("remove the broken branch", git_folder, failure.value());
  mended = fmt::format("branch main was broken ({}) and is made again from the log", cause);
  if (!is_oid(known_tip)) return {};
  WB_TRY_ASSIGN(const git_oid known, oid(known_tip));
  if (whole_commit(known) == nullptr) return {};
  GitReference reference;
  const int code =
      git_call(reference, git_reference_create, repo(), ref().c_str(), &known, 1, nullptr);
  if (code != 0) return error("mend the branch main of", code);
  mended = fmt::format("branch main was broken ({}) and was set back to {}", cause, known_tip);
  return {};
}

Result<git_oid> Repository::State::write_tree(const git_commit* parent,
                                              const CommitSpec& spec) const {
  GitTree base;
  if (parent != nullptr) {
    const int code = git_call(base, git_commit_tree, parent);
    if (code != 0) return error("read the parent's tree in", code);
  }
  GitObjects objects;
  const int opened = git_call(objects, git_repository_odb, repo());
  if (opened != 0) return error("open the objects of", opened);
  std::vector<git_tree_update> updates;
  updates.reserve(spec.files.size());
  for (const auto& [path, content] : spec.files) {
    git_tree_update update{GIT_TREE_UPDATE_UPSERT, {}, GIT_FILEMODE_BLOB, path.c_str()};
    // Existing content is not written again: most sources equal those of the last commit.
    const int code =
        git_odb_write(&update.id, objects.get(), content.data(), content.size(), GIT_OBJECT_BLOB);
    if (code != 0) return error("store " + printable(path) + " in", code);
    updates.push_back(update);
  }
  git_oid tree;
  const int code =
      git_tree_create_updated(&tree, repo(), base.get(), updates.size(), updates.data());
  if (code != 0) return error("write a tree in", code);
  return tree;
}

Result<git_oid> Repository::State::write_commit(const std::optional<git_oid>& parent,
                                                const CommitSpec& spec) const {
  GitCommit parent_commit;
  if (parent) {
    parent_commit = whole_commit(*parent);
    if (parent_commit == nullptr) {
      return damage("read the parent commit in", printable(git_message()));
    }
  }
  WB_TRY_ASSIGN(const git_oid tree_id, write_tree(parent_commit.get(), spec));
  GitTree tree;
  GitSignature author, committer;
  int code = git_call(tree, git_tree_lookup, repo(), &tree_id);
  if (code == 0) {
    code = git_call(author, git_signature_new, spec.author.name.c_str(), spec.author.email.c_str(),
                    spec.time_s, 0);
  }
  if (code == 0) {
    code = git_call(committer, git_signature_new, spec.committer.name.c_str(),
                    spec.committer.email.c_str(), spec.time_s, 0);
  }
  if (code != 0) return error("prepare a commit in", code);
  const git_commit* parents[] = {parent_commit.get()};
  git_oid commit;
  code = git_commit_create(&commit, repo(), nullptr, author.get(), committer.get(), nullptr,
                           message_of(spec).c_str(), tree.get(), parent ? 1 : 0, parents);
  if (code != 0) return error("write a commit in", code);
  return commit;
}

Result<bool> Repository::State::descends(const git_oid& descendant, const git_oid& ancestor) const {
  if (git_oid_equal(&descendant, &ancestor) != 0) return true;
  const int code = git_graph_descendant_of(repo(), &descendant, &ancestor);
  if (code == GIT_ENOTFOUND) return false;
  if (code < 0) return error("walk the history of", code);
  return code == 1;
}

bool Repository::State::remove_stale_lock(const git_oid& target, const git_oid* tip) const {
  const fs::path path = git_folder / (ref() + ".lock");
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!fd.valid() || ::fstat(fd.get(), &facts) != 0) return false;
  char content[GIT_OID_HEXSZ] = {};
  const ssize_t got = ::read(fd.get(), content, sizeof content);
  // A lock with the oid of this very commit, made from this session's log, belongs to an earlier
  // holder of the session's lock, who has ended since we hold it now. A holder that was killed
  // earlier left an empty file, which a git command leaves only for an instant. One that was killed
  // between linking and unlinking the lock (as libgit2 creates a branch) left the branch's oid.
  const std::string held(content, sizeof content);
  const bool ours = got == GIT_OID_HEXSZ && (held == git_hex(target) ||
                                             (is_own && tip != nullptr && held == git_hex(*tip)));
  const auto age = std::chrono::system_clock::now() -
                   std::chrono::system_clock::from_time_t(facts.st_mtim.tv_sec) -
                   std::chrono::nanoseconds(facts.st_mtim.tv_nsec);
  const bool forgotten = is_own && ((got == 0 && age > k_empty_lock_age) || age > k_stale_lock_age);
  if (!ours && !forgotten) return false;
  return ::unlink(path.c_str()) == 0;
}

}  // namespace wb::session
