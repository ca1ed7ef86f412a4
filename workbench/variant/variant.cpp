// SPDX-License-Identifier: MIT
// Reads variants, from a kernels root on disk or from a parent in memory with changes, and computes
// the id over their bytes. closure.hpp decides which files belong to one.
#include "variant/variant.hpp"

#include <fmt/format.h>

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

}  // namespace wb::variant
