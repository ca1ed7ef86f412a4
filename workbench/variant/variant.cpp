// SPDX-License-Identifier: MIT
// Reads variants, from a kernels root on disk or from a parent in memory with changes, and computes
// the id over their bytes. closure.hpp decides which files belong to one.
#include "variant/variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <system_error>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "variant/closure.hpp"

namespace wb::variant {

namespace {

/// Every part is preceded by its length, so that different sets of files never give the same bytes.
std::string closure_id(const std::map<std::string, std::string>& files) {
  Sha256 hash;
  hash.update("wb variant 1\n");
  for (const auto& [path, text] : files) {
    hash.update(fmt::to_string(path.size()) + " " + fmt::to_string(text.size()) + "\n");
    hash.update(path);
    hash.update(text);
  }
  return hash.hex();
}

Result<Variant> assemble(std::string manifest_text, const std::string& folder,
                         const std::string& what, const FileSource& source,
                         IncludeCache* shared = nullptr) {
  Variant variant;
  WB_TRY_ASSIGN(variant.manifest, parse_manifest(manifest_text, what));
  if (variant.manifest.name != folder) {
    return Error{
        ErrorCode::invalid, "read the manifest", what,
        "its name \"" + variant.manifest.name + "\" differs from its folder \"" + folder + "\"",
        "give both the same name"};
  }
  Closure closure(variant.manifest, folder, source, shared);
  WB_TRY(closure.add_file(folder + "/" + std::string(k_manifest_file), std::move(manifest_text)));
  for (const std::string& name : variant.manifest.sources) WB_TRY(closure.add_source(name));
  WB_TRY(closure.follow());
  variant.files = closure.take();
  variant.id = closure_id(variant.files);
  return variant;
}

/// The manifest text under a new name, with other keys and their order unchanged.
Result<std::string> renamed_manifest(const std::string& text, const std::string& what,
                                     std::string_view new_name, const std::string& parent) {
  WB_TRY_ASSIGN(const Json checked, parse_json(text, what));  // stricter than ordered_json
  if (!checked.is_object()) return refuse_file(what, "it is not a JSON object", "");
  auto manifest = nlohmann::ordered_json::parse(text);
  manifest["name"] = std::string(new_name);
  manifest["parent"] = parent;
  return manifest.dump(2) + "\n";
}

}  // namespace

std::string label(const Variant& variant) {
  return variant.manifest.name + "@" + short_hash(variant.id);
}

Result<Variant> read_variant(const FileSystem& file_system, const fs::path& kernels_root,
                             std::string_view folder_name, const std::vector<fs::path>& more_roots,
                             IncludeCache* shared) {
  const std::string folder(folder_name);
  if (!is_kernel_name(folder) || folder == k_common) {
    return Error{ErrorCode::usage, "read the kernel", folder, "this is not a kernel name",
                 "use lower-case letters, digits and '_'"};
  }
  std::vector<fs::path> common_roots = {kernels_root};
  common_roots.insert(common_roots.end(), more_roots.begin(), more_roots.end());
  const FileSource source = [&](const std::string& path) {
    return path.starts_with(folder + "/") ? read_below(file_system, kernels_root, path)
                                          : read_common(file_system, common_roots, path);
  };
  const std::string manifest_path = folder + "/" + std::string(k_manifest_file);
  const std::string what = (kernels_root / manifest_path).string();
  WB_TRY_ASSIGN(auto manifest_text, source(manifest_path));
  if (!manifest_text) {
    return Error{ErrorCode::not_found, "read the kernel", what, "there is no such file",
                 "a kernel is a folder with a kernel.json"};
  }
  WB_TRY_ASSIGN(Variant variant, assemble(*std::move(manifest_text), folder, what, source, shared));
  variant.common_roots = std::move(common_roots);
  return variant;
}

Result<Variant> variant_from_files(std::string_view folder_name,
                                   std::map<std::string, std::string> files) {
  const std::string folder(folder_name);
  if (!is_kernel_name(folder) || folder == k_common) {
    return Error{ErrorCode::invalid, "read the stored kernel", folder, "this is not a kernel name",
                 "use lower-case letters, digits and '_'"};
  }
  const FileSource source = [&](const std::string& path) -> Result<std::optional<std::string>> {
    const auto found = files.find(path);
    if (found == files.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  };
  const std::string what = folder + "/" + std::string(k_manifest_file);
  const auto manifest = files.find(what);
  if (manifest == files.end()) {
    return Error{ErrorCode::not_found, "read the stored kernel", what, "there is no such file",
                 "store a variant with all its files"};
  }
  return assemble(manifest->second, folder, what, source);
}

Result<Variant> derive_variant(const FileSystem& file_system, const Variant& parent,
                               const std::map<std::string, std::string>& changed_files,
                               std::string_view new_name) {
  const std::string old_folder = parent.manifest.name;
  const std::string folder = new_name.empty() ? old_folder : std::string(new_name);
  if (!is_kernel_name(folder) || folder == k_common) {
    return Error{ErrorCode::invalid, "derive a variant of " + old_folder + " named", folder,
                 "this is not a kernel name", "use lower-case letters, digits and '_'"};
  }
  for (const auto& [path, text] : changed_files) {
    if (!is_inside(path) || fs::path(path).lexically_normal().generic_string() != path) {
      return refuse_file(path, "it is not a plain path inside the kernel's folder",
                         "give changed files by their path relative to the folder");
    }
  }
  const FileSource source = [&](const std::string& path) -> Result<std::optional<std::string>> {
    const std::string own = folder + "/";
    if (path.starts_with(own)) {
      const std::string relative = path.substr(own.size());
      const auto changed = changed_files.find(relative);
      if (changed != changed_files.end()) return std::optional<std::string>(changed->second);
      const auto kept = parent.files.find(old_folder + "/" + relative);
      if (kept != parent.files.end()) return std::optional<std::string>(kept->second);
      return std::optional<std::string>();
    }
    const auto kept = parent.files.find(path);
    if (kept != parent.files.end()) return std::optional<std::string>(kept->second);
    return read_common(file_system, parent.common_roots, path);
  };
  const std::string what = folder + "/" + std::string(k_manifest_file);
  WB_TRY_ASSIGN(auto manifest_text, source(what));
  if (!manifest_text) throw std::logic_error("derive_variant: the parent holds no manifest");
  if (folder != old_folder) {
    WB_TRY_ASSIGN(manifest_text, renamed_manifest(*manifest_text, what, folder, old_folder));
  }
  WB_TRY_ASSIGN(Variant variant, assemble(*std::move(manifest_text), folder, what, source));
  for (const auto& [path, text] : changed_files) {
    if (!variant.files.contains(folder + "/" + path)) {
      return refuse_file(path,
                         "neither the manifest nor an include names it, so it changes nothing",
                         "add it to sources or include it");
    }
  }
  variant.common_roots = parent.common_roots;
  return variant;
}

// The catalogue of kernel folders along a search path, the place of the installed ones, and the
// spelling suggestions.

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
