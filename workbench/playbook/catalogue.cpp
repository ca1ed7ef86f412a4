// SPDX-License-Identifier: MIT
// Finding playbooks: a path, or a name on the search path; with the files of its lib/ folder.
#include <algorithm>

#include "playbook/owner.hpp"

namespace wb {
namespace {

constexpr std::uint64_t k_max_playbook_bytes = 1u << 20;

Result<std::map<std::string, std::string>> read_lib(const FileSystem& file_system,
                                                    const fs::path& folder) {
  std::map<std::string, std::string> lib;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder / "lib", error)) {
    if (entry.path().extension() != ".lua" || !entry.is_regular_file()) continue;
    WB_TRY_ASSIGN(std::string text, file_system.read(entry.path(), k_max_playbook_bytes));
    lib["lib." + entry.path().stem().string()] = std::move(text);
  }
  return lib;
}

Result<PlaybookSource> read_playbook(const FileSystem& file_system, const fs::path& path) {
  PlaybookSource source;
  source.path = path.string();
  WB_TRY_ASSIGN(source.text, file_system.read(path, k_max_playbook_bytes));
  WB_TRY_ASSIGN(source.lib, read_lib(file_system, path.parent_path()));
  return source;
}

}  // namespace

std::string PlaybookSource::whole() const {
  std::string all = text;
  for (const auto& [name, source] : lib) all += "\n-- " + name + "\n" + source;
  return all;
}

Result<PlaybookSource> find_playbook(const FileSystem& file_system, const SearchPath& search_path,
                                     std::string_view name) {
  const fs::path given(name);
  std::error_code error;
  const bool is_path = given.has_parent_path() || given.extension() == ".lua";
  if (is_path) return read_playbook(file_system, given);
  std::vector<std::string> known;
  for (const fs::path& root : search_path.roots) {
    const fs::path path = root / "playbooks" / (std::string(name) + ".lua");
    if (fs::exists(path, error)) return read_playbook(file_system, path);
    for (const auto& entry : fs::directory_iterator(root / "playbooks", error)) {
      if (entry.path().extension() == ".lua") known.push_back(entry.path().stem().string());
    }
  }
  std::sort(known.begin(), known.end());
  const std::string near = did_you_mean(name, known);
  std::string list;
  for (const std::string& word : known) list += (list.empty() ? "" : ", ") + word;
  return Error{ErrorCode::not_found, "find the playbook", std::string(name),
               "no playbooks/ folder of the search path has it",
               near.empty() ? "known: " + list : "did you mean " + near + "?"};
}

}  // namespace wb
