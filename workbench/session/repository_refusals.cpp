// SPDX-License-Identifier: MIT
// Errors of libgit2 with reason and remedy, and which repositories are accepted.
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "session/repository_state.hpp"

namespace wb::session {
namespace {

constexpr std::string_view k_other_repository =
    "name another repository, or leave out --repo and --branch: the session then has one of its "
    "own";

/// True when opening failed because git trusts only repositories of its user. libgit2 1.5 reports a
/// missing safe.directory setting as a missing repository.
bool is_another_users(int code) {
  return code == GIT_EOWNER ||
         (code == GIT_ENOTFOUND && git_message().find("safe.directory") != std::string::npos);
}

bool is_of_configuration() {
  const git_error* last = git_error_last();
  return last != nullptr && last->klass == GIT_ERROR_CONFIG;
}

bool has(const std::string& message, std::string_view words) {
  return message.find(words) != std::string::npos;
}

/// True when libgit2's message contains one of these system errors, which it reports only as text.
bool says(const std::string& message, std::initializer_list<int> numbers) {
  for (const int number : numbers) {
    if (has(message, std::strerror(number))) return true;
  }
  return false;
}

bool is_of_stored_objects(int error_class) {
  for (const int one :
       {GIT_ERROR_REFERENCE, GIT_ERROR_ZLIB, GIT_ERROR_ODB, GIT_ERROR_OBJECT, GIT_ERROR_TREE}) {
    if (error_class == one) return true;
  }
  return false;
}

/// The value of a setting; empty without it or without a repository.
std::string setting(git_repository* repository, const char* key) {
  if (repository == nullptr) return {};
  GitConfig config;
  const char* value = nullptr;
  if (git_call(config, git_repository_config_snapshot, repository) != 0) return {};
  if (git_config_get_string(&value, config.get(), key) != 0) return {};
  return value;
}

}  // namespace

std::string Repository::State::start_anew(std::string otherwise) const {
  if (!is_own) return otherwise;
  return fmt::format(
      "move {} away and open the session again: the history is made again from the log",
      git_folder.string());
}

std::string Repository::State::cure_of_damage() const {
  if (!is_own && !setting(repo(), "extensions.partialclone").empty()) {
    return fmt::format("it is a partial clone: fetch what it lacks, with git -C '{}' log --stat {}",
                       git_folder.string(), branch);
  }
  return start_anew("see what `git fsck` says there; the session's log has everything");
}

Error Repository::State::damage(std::string attempted, std::string cause) const {
  return Error{ErrorCode::damaged, std::move(attempted), git_folder.string(), std::move(cause),
               cure_of_damage()};
}

Error Repository::State::error(std::string attempted, int code) const {
  const std::string message = git_message();
  const git_error* last = git_error_last();
  const int error_class = last == nullptr ? GIT_ERROR_NONE : last->klass;
  const auto made = [&](ErrorCode kind, std::string next) {
    return Error{kind, std::move(attempted), git_folder.string(), printable(message, 300),
                 std::move(next)};
  };
  if (code == GIT_ELOCKED) {
    return made(ErrorCode::locked,
                fmt::format("wait for the git command that holds the branch, or, where none runs "
                            "any more, remove {}; the commit is made at the next try",
                            (git_folder / (ref() + ".lock")).string()));
  }
  if (code == GIT_EOWNER) {
    std::error_code ignored;
    Error refused =
        made(ErrorCode::invalid, fmt::format("work as the user whose it is, or trust it: git "
                                             "config --global --add safe.directory '{}'",
                                             fs::absolute(git_folder, ignored).string()));
    refused.cause = "it belongs to another user, and git trusts only its user's own repositories";
    if (!library.unread().empty()) {
      refused.cause +=
          " (what git's own configuration says cannot be read: " + library.unread() + ")";
    }
    return refused;
  }
  if (says(message, {ENOSPC, EDQUOT})) {
    return made(ErrorCode::no_space, "free some disk space and try again");
  }
  if (says(message, {EROFS, EACCES, EPERM})) {
    return made(ErrorCode::read_only, "check the owner and the permissions of that folder");
  }
  if (says(message, {ELOOP, ENAMETOOLONG, ENOTDIR})) {
    return made(ErrorCode::usage, "name another folder");
  }
  if (has(message, "unsupported extension") || has(message, "unsupported repository version") ||
      has(message, "object format")) {
    return made(ErrorCode::too_new, start_anew(std::string(k_other_repository)));
  }
  if (code == GIT_EDIRECTORY || has(message, "refs beneath that folder") ||
      has(message, "collides with existing")) {
    return made(ErrorCode::usage, "give --branch another name");
  }
  if (has(message, "malformed") && has(message, ".git`")) {
    return made(ErrorCode::invalid, "mend that file, or give --repo another folder");
  }
  if (has(message, "invalid name for a tree entry") || has(message, "D/F conflict")) {
    return made(ErrorCode::usage, "give --session another name");
  }
  if (is_of_configuration()) {
    return made(ErrorCode::invalid,
                start_anew("mend the repository's file `config`, which git does not read either"));
  }
  if (is_of_stored_objects(error_class)) return made(ErrorCode::io, cure_of_damage());
  return made(ErrorCode::io,
              "mend what the system refused there and try again; the session's log has everything");
}

int Repository::State::by_configuration(const std::function<int()>& call) const {
  const int code = call();
  if (code == 0 || is_another_users(code) || !is_of_configuration()) return code;
  library.leave_out_configuration();
  return call();
}

int Repository::State::open(const fs::path& path, unsigned flags) {
  const auto call = [&] {
    return git_call(repository, git_repository_open_ext, path.c_str(), flags, nullptr);
  };
  int code = by_configuration(call);
  if (is_another_users(code) && library.trusts_every_folder()) {
    const WithoutOwnerCheck every;
    code = call();
  }
  return is_another_users(code) ? static_cast<int>(GIT_EOWNER) : code;
}

Result<void> Repository::State::check_format() const {
  constexpr std::array<std::pair<const char*, std::string_view>, 2> k_readable{
      {{"extensions.objectformat", "sha1"}, {"extensions.refstorage", "files"}}};
  for (const auto& [key, readable] : k_readable) {
    const std::string value = setting(repo(), key);
    if (value.empty() || value == readable) continue;
    return Error{ErrorCode::too_new, "use the repository", git_folder.string(),
                 fmt::format("its {} is {}, and only {} can be read here", key,
                             printable(value, 40), readable),
                 start_anew(std::string(k_other_repository))};
  }
  return {};
}

}  // namespace wb::session
