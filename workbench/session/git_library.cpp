// SPDX-License-Identifier: MIT
// Initializes libgit2 once per process: which repositories it accepts, and which configuration
// beside theirs it reads.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.hpp"
#include "session/git_library.hpp"

namespace wb::session {
namespace {

/// Extensions that libgit2 must be told to accept. The first four do not affect commits to a
/// branch; State::check_format() checks the values of the others.
constexpr std::array k_extensions{"worktreeconfig",    "partialclone", "preciousobjects",
                                  "relativeworktrees", "objectformat", "refstorage"};

struct Level {
  git_config_level_t level;
  std::string_view file;
};
constexpr std::array<Level, 4> k_levels{{{GIT_CONFIG_LEVEL_PROGRAMDATA, "config"},
                                         {GIT_CONFIG_LEVEL_SYSTEM, "gitconfig"},
                                         {GIT_CONFIG_LEVEL_XDG, "config"},
                                         {GIT_CONFIG_LEVEL_GLOBAL, ".gitconfig"}}};

/// Why a file of this level cannot be read; empty when all can be read or none exists.
std::string fault_of(const Level& one) {
  git_buf found{};
  if (git_libgit2_opts(GIT_OPT_GET_SEARCH_PATH, one.level, &found) != 0) return {};
  const std::string folders(found.ptr == nullptr ? "" : found.ptr);
  git_buf_dispose(&found);
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string path = folders.substr(begin, end - begin) + "/" + std::string(one.file);
    begin = end + 1;
    GitConfig config;
    const int code = git_call(config, git_config_open_ondisk, path.c_str());
    if (code != 0 && code != GIT_ENOTFOUND) return printable(git_message(), 300);
  }
  return {};
}

/// Ignores configuration files that cannot be read, which would keep libgit2 from opening any
/// repository although little is taken from them. Returns the reason for the last one.
std::string make_ready() {
  git_libgit2_init();
  // Syncs every object and ref, so that a power cut leaves no empty objects.
  git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
  auto extensions = k_extensions;
  git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions.data(), extensions.size());
  std::string unread;
  for (const Level& one : k_levels) {
    const std::string fault = fault_of(one);
    if (fault.empty()) continue;
    git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, one.level, "");
    unread = fault;
  }
  return unread;
}

}  // namespace

// Never shut down, since a build with network transports reads the machine's certificates at each
// start, 8 ms for every call on a session.
GitLibrary::GitLibrary() {
  static const std::string unread = make_ready();
  m_unread = &unread;
}

void GitLibrary::leave_out_configuration() const {
  for (const Level& one : k_levels) git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, one.level, "");
}

bool GitLibrary::trusts_every_folder() const {
  GitConfig config;
  if (git_call(config, git_config_open_default) != 0) return false;
  bool is_every = false;
  const auto look = [](const git_config_entry* entry, void* answer) {
    // An empty value cancels the earlier ones.
    const std::string_view value = entry->value == nullptr ? "" : entry->value;
    if (value.empty() || value == "*") *static_cast<bool*>(answer) = !value.empty();
    return 0;
  };
  const int code =
      git_config_get_multivar_foreach(config.get(), "safe.directory", nullptr, look, &is_every);
  return code == 0 && is_every;
}

}  // namespace wb::session
