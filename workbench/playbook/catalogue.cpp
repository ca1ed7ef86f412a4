// SPDX-License-Identifier: MIT
// Finds playbooks by path or by name on the search path, with the files of their lib/ folder. Those
// of a topic's folder are named "TOPIC/NAME"; NAME alone serves where no root has that name outside
// of a topic's folder.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "core/text.hpp"
#include "playbook/agent_file.hpp"
#include "variant/variant.hpp"

namespace wb::playbook {
namespace {

constexpr std::uint64_t k_max_file_bytes = 1u << 20, k_max_total_bytes = 2u << 20;

std::vector<std::string> lua_files(const fs::path& folder) {
  return stems_of(folder, ".lua");
}

/// Sources are sent as JSON text, and bytecode is not accepted.
bool is_text(const std::string& bytes) {
  if (bytes.find('\0') != std::string::npos) return false;
  try {
    (void)Json(bytes).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

Result<std::string> read_source(const FileSystem& file_system, const fs::path& path) {
  WB_TRY_ASSIGN(std::string text,
                read_plain_text(file_system, path, k_max_file_bytes, "read the playbook"));
  if (!is_text(text)) {
    return Error{ErrorCode::invalid, "read the playbook", path.string(),
                 "it is not UTF-8 text (compiled Lua is not accepted)", "give the Lua source"};
  }
  // Like Lua's own file reader; the line stays empty, so that line numbers are unchanged.
  if (text.starts_with('#')) text.erase(0, std::min(text.find('\n'), text.size()));
  return text;
}

/// The folder lib/ beside the playbook; playbooks/documents/x.lua shares playbooks/lib/.
fs::path lib_of(const fs::path& playbook) {
  const fs::path folder = playbook.parent_path();
  const bool in_topic = folder.has_parent_path() && folder.parent_path().filename() == "playbooks";
  return (in_topic ? folder.parent_path() : folder) / "lib";
}

Result<PlaybookSource> read_playbook(const FileSystem& file_system, const fs::path& path) {
  PlaybookSource source;
  source.path = path.string();
  WB_TRY_ASSIGN(source.text, read_source(file_system, path));
  std::size_t total_bytes = source.text.size();
  const fs::path lib = lib_of(path);
  for (const std::string& stem : lua_files(lib)) {
    WB_TRY_ASSIGN(std::string text, read_source(file_system, lib / (stem + ".lua")));
    total_bytes += text.size();
    source.lib["lib." + stem] = std::move(text);
  }
  if (total_bytes <= k_max_total_bytes) return source;
  return Error{ErrorCode::limit, "read the playbook", path.string(),
               fmt::format("it and {} hold {} bytes together", lib.string(), total_bytes),
               fmt::format("at most {} are taken", k_max_total_bytes)};
}

}  // namespace

std::vector<std::string> stems_of(const fs::path& folder, std::string_view extension) {
  std::vector<std::string> stems;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == extension && entry->is_regular_file(ignored)) {
      stems.push_back(entry->path().stem().string());
    }
  }
  std::sort(stems.begin(), stems.end());
  return stems;
}

std::vector<std::string> topics_of(const fs::path& playbooks) {
  std::vector<std::string> topics;
  std::error_code error;
  for (fs::directory_iterator entry(playbooks, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool holds_others = name == "lib" || name == "editor" || name == "agents";
    std::error_code ignored;
    if (!holds_others && entry->is_directory(ignored)) topics.push_back(name);
  }
  std::sort(topics.begin(), topics.end());
  return topics;
}

std::string PlaybookSource::whole() const {
  std::string all = text;
  for (const auto& [name, source] : lib) all += "\n-- " + name + "\n" + source;
  return all;
}

Result<PlaybookSource> find_playbook(const FileSystem& file_system,
                                     const variant::SearchPath& search_path,
                                     std::string_view name) {
  const fs::path given(name);
  if (given.is_relative() && given.has_parent_path() && given.extension() != ".lua") {
    for (const fs::path& root : search_path.roots) {  // a topic: "documents/n6_baseline"
      const fs::path file = root / "playbooks" / (given.string() + ".lua");
      std::error_code ignored;
      if (fs::is_regular_file(file, ignored)) return read_playbook(file_system, file);
    }
  }
  if (given.has_parent_path() || given.extension() == ".lua") {
    return read_playbook(file_system, given);
  }
  std::vector<std::string> known;
  for (const fs::path& root : search_path.roots) {
    const std::vector<std::string> here = lua_files(root / "playbooks");
    if (std::binary_search(here.begin(), here.end(), given.string())) {
      return read_playbook(file_system, root / "playbooks" / (given.string() + ".lua"));
    }
    known.insert(known.end(), here.begin(), here.end());
  }
  for (const fs::path& root : search_path.roots) {
    for (const std::string& topic : topics_of(root / "playbooks")) {
      const fs::path folder = root / "playbooks" / topic;
      const std::vector<std::string> here = lua_files(folder);
      if (std::binary_search(here.begin(), here.end(), given.string())) {
        return read_playbook(file_system, folder / (given.string() + ".lua"));
      }
      known.insert(known.end(), here.begin(), here.end());
    }
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::string near = variant::did_you_mean(name, known);
  return Error{ErrorCode::not_found, "find the playbook", printable(name),
               "no playbooks/ folder of the search path has it",
               !near.empty()   ? fmt::format("did you mean {}?", near)
               : known.empty() ? "run in a checkout, or give --path DIR or a .lua file"
                               : fmt::format("known: {}", fmt::join(known, ", "))};
}

}  // namespace wb::playbook
