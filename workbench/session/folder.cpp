// SPDX-License-Identifier: MIT
#include "session/folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "session/session.hpp"

namespace wb::session {
namespace {

constexpr std::string_view k_identity_name = "session.json";
constexpr std::string_view k_unfinished_prefix = ".new-";
constexpr std::string_view k_torn_prefix = "events.torn-";
constexpr const char* k_sub_folders[] = {"blobs", "kernels", "iterations", "reports"};

/// The file system syncs the folder of each written file; new folders need it too.
Result<void> sync_folder(const fs::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return errno_error("open the folder", folder, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) {
    return errno_error("sync the folder", folder, errno);
  }
  return {};
}

Error name_error(std::string attempted, std::string_view name, std::string cause) {
  return Error{ErrorCode::invalid, std::move(attempted), printable(name), std::move(cause),
               "use a plain name of letters, digits, '.', '_', '-' and '@'"};
}

/// "cpu_tiled/kernel.cpp": plain names joined by '/'.
bool is_safe_path(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    if (!is_safe_name(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

Result<void> SessionFolder::require_present() const {
  std::error_code error;
  if (fs::is_directory(path(), error)) return {};
  return Error{ErrorCode::io, "write to the session", path().string(),
               "its folder is not there any more",
               "if it was moved, go on with `sdpa-wb resume --session` where it is now"};
}

Result<void> SessionFolder::make_below(const fs::path& relative) {
  fs::path path = m_stored.path();
  for (const fs::path& part : relative) {
    path /= part;
    WB_TRY(m_file_system->make_directory(path));
  }
  return {};
}

Result<void> SessionFolder::write(const fs::path& relative, std::string_view text) {
  WB_TRY(require_present());
  WB_TRY_ASSIGN(const fs::path path, m_stored.resolve(relative));
  std::error_code ignored;
  const fs::path parent = path.parent_path();
  if (!fs::is_directory(parent, ignored)) {
    WB_TRY(make_below(relative.parent_path()));
    WB_TRY(sync_folder(parent.parent_path()));
  }
  return m_file_system->write_atomic(path, text, Durability::synced);
}

Result<void> SessionFolder::require_free() const {
  std::error_code error;
  const bool is_folder = fs::is_directory(path(), error);
  if (fs::is_symlink(fs::symlink_status(path(), error)) && !fs::exists(path(), error)) {
    return Error{ErrorCode::usage, "make a session in", path().string(),
                 "it is a link that leads nowhere", "choose a new folder"};
  }
  if (!fs::exists(path(), error) || (is_folder && fs::is_empty(path(), error))) return {};
  return Error{ErrorCode::invalid, "make a session in", path().string(),
               is_folder ? "the folder is not empty" : "it is not a folder",
               "choose a new folder, or resume the session that is there"};
}

Result<void> SessionFolder::create() {
  WB_TRY(require_free());
  std::error_code error;
  for (fs::path one = whole_path(path()); !fs::exists(one, error) && one.has_relative_path();
       one = one.parent_path()) {
    m_made.push_back(one);
  }
  for (const char* name : k_sub_folders) {
    WB_TRY(m_file_system->make_directories(path() / name));
  }
  const fs::path parent = whole_path(path()).parent_path();
  return sync_folder(parent);
}

void SessionFolder::undo_create(bool holds_log) {
  std::error_code ignored;
  for (const char* name : k_sub_folders) {
    if (holds_log) fs::remove_all(path() / name, ignored);
    fs::remove(path() / name, ignored);  // only if empty
  }
  if (holds_log) {
    fs::remove_all(path() / ".git", ignored);
    for (const std::string_view name : {k_identity_name, k_log_name}) {
      fs::remove(path() / name, ignored);
    }
  }
  const fs::path log = path() / k_log_name;
  const bool is_nobodys = fs::file_size(log, ignored) == 0 && !lock_holder(log);
  if (is_nobodys) fs::remove(log, ignored);
  for (const fs::path& one : m_made) fs::remove(one, ignored);  // innermost first
}

std::string SessionFolder::identity_text(const Json& identity) {
  Json whole = identity;
  whole["format"] = k_session_format;
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> SessionFolder::write_identity(const Json& identity) {
  return write(k_identity_name, identity_text(identity));
}

Result<void> SessionFolder::remove_leftovers() {
  WB_TRY_ASSIGN(const fs::path kernels, m_stored.resolve("kernels"));
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (auto it = fs::directory_iterator(kernels, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (it->path().filename().string().starts_with(k_unfinished_prefix)) {
      leftovers.push_back(it->path());
    }
  }
  error.clear();
  for (const fs::path& path : leftovers) {
    fs::remove_all(path, error);
    if (error) return errno_error("remove the unfinished", path, error.value());
  }
  return {};
}

std::vector<std::string> SessionFolder::torn_tails() const {
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = fs::directory_iterator(path(), error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(k_torn_prefix)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> SessionFolder::put_blob(std::string_view bytes) {
  std::string sha256 = sha256_hex(bytes);
  WB_TRY_ASSIGN(const fs::path path, m_stored.resolve(fs::path("blobs") / sha256));
  std::error_code error;
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) == bytes.size()) return sha256;
  WB_TRY(write(fs::path("blobs") / sha256, bytes));
  return sha256;
}

Result<void> SessionFolder::store_variant(std::string_view variant_id,
                                          const std::map<std::string, std::string>& files) {
  if (!is_safe_name(variant_id)) {
    return name_error("store the variant", variant_id, "its id is not a plain name");
  }
  for (const auto& [path, content] : files) {
    if (!is_safe_path(path)) {
      return name_error("store the variant's file", path, "its path is not one of plain names");
    }
  }
  WB_TRY(require_present());
  WB_TRY_ASSIGN(const fs::path target, m_stored.resolve(fs::path("kernels") / variant_id));
  std::error_code error;
  if (fs::is_directory(target, error)) return {};
  // Made under a temporary name first, so that a variant's folder is whole or absent.
  const fs::path below = fs::path("kernels") / fmt::format("{}{}", k_unfinished_prefix, variant_id);
  const fs::path unfinished = path() / below;
  fs::remove_all(unfinished, error);
  const auto fill = [&]() -> Result<void> {
    WB_TRY(make_below(below));
    for (const auto& [path, content] : files) {
      WB_TRY(make_below((below / path).parent_path()));
      WB_TRY(m_file_system->write_atomic(unfinished / path, content, Durability::synced));
    }
    WB_TRY(sync_folder(unfinished));
    std::error_code failure;
    fs::rename(unfinished, target, failure);
    if (failure) return errno_error("store the variant as", target, failure.value());
    return sync_folder(target.parent_path());
  };
  Result<void> done = fill();
  if (!done.ok()) fs::remove_all(unfinished, error);
  return done;
}

Result<void> SessionFolder::check_page_name(std::int64_t iteration, std::string_view name) const {
  const std::string prefix = iteration_name(iteration) + ".";
  if (name.starts_with(prefix) && name.size() > prefix.size() && is_safe_name(name)) return {};
  return name_error("write the page", name, fmt::format("it must be called {}<word>", prefix));
}

Result<void> SessionFolder::write_page(std::string_view name, std::string_view text) {
  return write(fs::path("iterations") / name, text);
}

Result<void> SessionFolder::write_report(std::string_view name, std::string_view text) {
  if (!is_safe_name(name)) return name_error("write the report", name, "it is not a plain name");
  return write(fs::path("reports") / name, text);
}

}  // namespace wb::session
