// SPDX-License-Identifier: MIT
#include "session/names.hpp"

#include "core/hash.hpp"

namespace wb::session {

fs::path plain_path(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

fs::path whole_path(const fs::path& path) {
  std::error_code error;
  // weakly_canonical() does not make a relative path absolute if its first folder does not exist.
  const fs::path named = fs::absolute(path.empty() ? fs::path(".") : path, error);
  fs::path whole = fs::is_directory(named, error) || !fs::exists(named, error)
                       ? fs::weakly_canonical(named, error)
                       : named;
  // If the folder cannot be read, the path is resolved by its text only.
  if (error || whole.empty()) whole = named;
  return plain_path(whole.lexically_normal());
}

std::string listed_name(const fs::path& path) {
  std::string name = plain_path(path).filename().string();
  std::error_code error;
  if (name.size() > k_archive_suffix.size() && name.ends_with(k_archive_suffix) &&
      !fs::is_directory(path, error)) {
    name.resize(name.size() - k_archive_suffix.size());
  }
  return name;
}

std::string session_name(const fs::path& path) {
  return listed_name(whole_path(path));
}

std::string file_name(const std::string& name, std::string_view suffix) {
  constexpr std::size_t k_most_bytes = 255;
  if (name.size() + suffix.size() <= k_most_bytes) return name + std::string(suffix);
  const std::string mark = "~" + short_hash(sha256_hex(name));
  std::size_t kept = k_most_bytes - suffix.size() - mark.size();
  const auto is_inside_letter = [&](std::size_t at) {
    return (static_cast<unsigned char>(name[at]) & 0xc0u) == 0x80u;  // of UTF-8
  };
  while (kept > 0 && is_inside_letter(kept)) --kept;
  return name.substr(0, kept) + mark + std::string(suffix);
}

}  // namespace wb::session
