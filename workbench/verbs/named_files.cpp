// SPDX-License-Identifier: MIT
#include "verbs/named_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "audit/audit.hpp"
#include "core/text.hpp"
#include "core/writing.hpp"
#include "engine/services.hpp"
#include "session/storage.hpp"

namespace wb::verbs {

using engine::Services;

namespace {

/// The session that this file belongs to, or would belong to.
std::optional<fs::path> session_around(const fs::path& path) {
  constexpr std::array<std::string_view, 5> k_session_parts{"session.json", "blobs", "kernels",
                                                            "iterations", ".git"};
  std::error_code fault;
  const fs::path file = fs::weakly_canonical(path, fault);
  if (fault || fs::is_directory(file, fault)) return std::nullopt;
  for (fs::path folder = file.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (!session::is_session(folder)) continue;
    const std::string part = file.lexically_relative(folder).begin()->string();
    const bool is_named =
        std::find(k_session_parts.begin(), k_session_parts.end(), part) != k_session_parts.end();
    return is_named || part.starts_with("events.") ? std::optional(folder) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<void> write_named(const Services& services, const fs::path& path, std::string_view bytes,
                         Durability durability) {
  if (const auto session = session_around(path)) {
    return Error{ErrorCode::usage, "write to", path.string(),
                 "it is a part of the session " + session->string(), "name another file"};
  }
  return write_output(services.file_system, path, bytes, durability, services.stop_requested);
}

Result<std::string> read_report(const Services& services, const fs::path& path, const char* doing) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return Error{ErrorCode::usage, doing, path.string(),
                 "it is a folder, and no session (it has no session.json and no log)",
                 "name the report's file, or a session's folder or archive"};
  }
  auto bytes = services.file_system.read(path, audit::k_max_document_bytes);
  if (!bytes && bytes.error().code == ErrorCode::limit) {
    return Error{ErrorCode::limit, doing, path.string(),
                 fmt::format("it is larger than {} MiB", audit::k_max_document_bytes >> 20),
                 "give the report itself, not data or logs"};
  }
  if (bytes) {
    if (const auto encoding = foreign_encoding(*bytes); !encoding.empty()) {
      return Error{ErrorCode::invalid, doing, path.string(), "it is " + std::string(encoding),
                   "save it as UTF-8"};
    }
  }
  return bytes;
}

}  // namespace wb::verbs
