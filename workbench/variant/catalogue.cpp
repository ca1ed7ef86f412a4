// SPDX-License-Identifier: MIT
// The catalogue of kernel folders along a search path, the place of the installed ones, and the
// spelling suggestions.
#include <algorithm>
#include <numeric>
#include <system_error>

#include "variant/closure.hpp"
#include "variant/variant.hpp"

namespace wb::variant {

namespace {

/// Edits from a to b: insertions, deletions, replacements, swaps of neighbors.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before_last[j - 2] + 1);
      }
    }
    before_last = last;
    last = now;
  }
  return last[b.size()];
}

bool has_manifest(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "kernel.json", error);
}

std::vector<fs::path> kernels_roots(const SearchPath& search_path) {
  std::vector<fs::path> roots;
  for (const fs::path& root : search_path.roots) roots.push_back(root / "kernels");
  return roots;
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& words) {
  if (word.empty() || word.size() > 256) return {};
  std::string best;
  // Up to a third of the letters may be wrong: "cpu_tield" finds "cpu_tiled", "abc" finds nothing
  // unrelated.
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    if (candidate.size() > 256) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

Catalogue::Catalogue(const FileSystem& file_system, SearchPath search_path)
    : m_file_system(file_system), m_search_path(std::move(search_path)) {}

std::vector<Catalogue::Entry> Catalogue::list() const {
  std::map<std::string, fs::path> found;
  for (const fs::path& root : m_search_path.roots) {
    const fs::path kernels_root = root / "kernels";
    std::error_code error;
    for (fs::directory_iterator it(kernels_root, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (is_kernel_name(name) && has_manifest(it->path())) found.emplace(name, kernels_root);
    }
  }
  std::vector<Entry> entries;
  for (auto& [name, root] : found) entries.push_back({name, std::move(root)});
  return entries;
}

std::vector<Catalogue::Reading> Catalogue::read_all(const std::optional<std::string>& only) const {
  const std::vector<fs::path> roots = kernels_roots(m_search_path);
  std::map<fs::path, IncludeCache> shared;  // by a kernel's own root, which comes first
  std::vector<Reading> all;
  for (Entry& entry : list()) {
    if (only && entry.name != *only) continue;
    auto variant = read_variant(m_file_system, entry.kernels_root, entry.name, roots,
                                &shared[entry.kernels_root]);
    all.push_back({std::move(entry), std::move(variant)});
  }
  return all;
}

Result<Variant> Catalogue::find(std::string_view name) const {
  const std::vector<fs::path> roots = kernels_roots(m_search_path);
  if (is_kernel_name(name)) {
    for (const fs::path& root : roots) {
      if (has_manifest(root / name)) return read_variant(m_file_system, root, name, roots);
    }
  }
  std::vector<std::string> names;
  for (const Entry& entry : list()) names.push_back(entry.name);
  const std::string close = did_you_mean(name, names);
  std::string places;
  for (const fs::path& root : roots) places += (places.empty() ? "" : ", ") + root.string();
  return Error{ErrorCode::not_found, "find the kernel", std::string(name),
               "no such folder with a kernel.json in " + (places.empty() ? "any place" : places),
               close.empty() ? "`sdpa-wb kernels` lists what there is; --path DIR adds a place"
                             : "did you mean " + close + "?"};
}

std::optional<fs::path> find_installed_root(const fs::path& program_folder) {
  fs::path folder = program_folder;
  while (!folder.empty()) {
    std::error_code error;
    const fs::path kernels = fs::canonical(folder / "share" / "sdpa-workbench" / "kernels", error);
    if (!error && fs::exists(kernels / "suites.json", error)) return kernels.parent_path();
    if (!folder.has_relative_path()) break;
    folder = folder.parent_path();
  }
  return std::nullopt;
}

}  // namespace wb::variant
