// SPDX-License-Identifier: MIT
#include "variant/cache_search.hpp"
#include "core/json.hpp"

#include <algorithm>

namespace wb::variant {

namespace {

constexpr std::uint64_t k_record_max_bytes = 1u << 20;

std::vector<fs::path> folders_in(const fs::path& parent) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) folders.push_back(it->path());
  }
  return folders;
}

bool is_made_of(const Json& record, const ArtifactInputs& made_of) {
  if (!record.is_object()) return false;
  const auto is = [](const Json& object, const char* key, const Json& value) {
    const auto found = object.find(key);
    return found != object.end() && *found == value;
  };
  const auto variant = record.find("variant");
  // Older records lack grants, which few variants need.
  const bool same_grants = is(record, "grants", made_of.grants) ||
                           (made_of.grants.empty() && !record.contains("grants"));
  return variant != record.end() && variant->is_object() &&
         is(*variant, "id", made_of.variant_id) &&
         is(record, "configuration", made_of.configuration) &&
         is(record, "target", made_of.target) && same_grants;
}

}  // namespace

std::vector<std::string> find_entries(const FileSystem& file_system, const fs::path& root,
                                      const ArtifactInputs& made_of) {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  for (const fs::path& shelf : folders_in(root)) {
    if (shelf.filename().string().size() != 2) continue;  // tmp, compilers
    for (const fs::path& folder : folders_in(shelf)) {
      const fs::path file = folder / "build.json";
      const auto text = file_system.read(file, k_record_max_bytes);
      // Only records that mention this variant are parsed.
      if (!text.ok() || text->find(made_of.variant_id) == std::string::npos) continue;
      const auto record = parse_json(*text, file.string());
      if (!record.ok() || !is_made_of(*record, made_of)) continue;
      std::error_code error;
      const auto time = fs::last_write_time(file, error);
      if (!error) found.emplace_back(time, folder.filename().string());
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> ids;
  ids.reserve(found.size());
  for (auto& [time, id] : found) ids.push_back(std::move(id));
  return ids;
}

}  // namespace wb::variant
