// SPDX-License-Identifier: MIT
#include "verbs/report_file.hpp"

#include <fmt/format.h>

#include "audit/audit.hpp"
#include "core/text.hpp"
#include "core/writing.hpp"
#include "engine/services.hpp"

namespace wb::verbs {

using engine::Services;

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
