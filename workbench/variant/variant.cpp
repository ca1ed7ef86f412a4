// SPDX-License-Identifier: MIT
// Reading a variant: the include closure through a FileSource (a kernels root on disk, or a parent
// in memory with changes over it), and the id over its bytes.
#include "variant/variant.hpp"

#include <deque>
#include <functional>

#include "core/hash.hpp"
#include "variant/include_scan.hpp"

namespace wb {

namespace {

constexpr std::string_view k_manifest_file = "kernel.json";
constexpr std::string_view k_common = "common";

Error refuse(std::string_view subject, std::string cause, std::string next) {
  return Error{ErrorCode::invalid, "read the kernel file", std::string(subject), std::move(cause),
               std::move(next)};
}

/// Content of a path relative to the kernels root; an empty optional when there is no such file.
using FileSource = std::function<Result<std::optional<std::string>>(const std::string& path)>;

/// Reads below `root`, refusing links that lead out of it and everything that is not a plain file
/// (a pipe would block, a device would never end).
Result<std::optional<std::string>> read_below(const FileSystem& file_system, const fs::path& root,
                                              const std::string& relative) {
  const fs::path path = root / relative;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    // A file system that is not the disk's may still know it.
    auto text = file_system.read(path, k_source_max_bytes);
    if (text.ok()) return std::optional<std::string>(*std::move(text));
    if (text.error().code != ErrorCode::not_found) return std::move(text).error();
    return std::optional<std::string>();
  }
  if (!fs::is_regular_file(status)) {
    return refuse(path.string(), "it is not a plain file", "replace it by a plain file");
  }
  // The allowed folder is the first component: a kernel's own folder, or common.
  const fs::path folder = fs::canonical(root / *fs::path(relative).begin(), error);
  const fs::path real = error ? fs::path() : fs::canonical(path, error);
  if (error || !is_inside(real.lexically_relative(folder))) {
    return refuse(path.string(), "it is a link to a file outside its folder",
                  "copy the file into the kernel's folder");
  }
  auto text = file_system.read(path, k_source_max_bytes);
  if (!text.ok()) return std::move(text).error();
  return std::optional<std::string>(*std::move(text));
}

/// A path below common/ from the first root that has it.
Result<std::optional<std::string>> read_common(const FileSystem& file_system,
                                               const std::vector<fs::path>& roots,
                                               const std::string& relative) {
  if (!relative.starts_with(std::string(k_common) + "/")) return std::optional<std::string>();
  for (const fs::path& root : roots) {
    WB_TRY_ASSIGN(auto text, read_below(file_system, root, relative));
    if (text) return text;
  }
  return std::optional<std::string>();
}

/// "common/x.h" or "<folder>/x.h" for an include of `name` from `including`; the including file's
/// own folder first (as the compiler does), then the kernel's folder, then common.
class Closure {
 public:
  Closure(const Manifest& manifest, std::string folder, const FileSource& source)
      : m_manifest(manifest), m_folder(std::move(folder)), m_source(source) {}

  Result<void> add_source(const std::string& name) {
    const std::string path = m_folder + "/" + name;
    WB_TRY_ASSIGN(const bool found, add_if_there(path));
    if (found) return {};
    return Error{ErrorCode::not_found, "read the kernel file", path,
                 "the manifest lists it but it does not exist", "add the file or correct sources"};
  }

  Result<void> add_file(const std::string& path, std::string text) {
    if (text.size() > k_source_max_bytes) return refuse(path, "above 1 MiB", "make it smaller");
    m_total_bytes += text.size();
    if (m_total_bytes > k_closure_max_bytes || m_files.size() >= k_closure_max_files) {
      return refuse(path, "the kernel and its includes exceed 8 MiB or 256 files",
                    "include fewer files, or grant a library with --allow-include");
    }
    if (text.find('\0') != std::string::npos) {
      return refuse(path, "it holds a NUL byte, so it is not source text", "remove it");
    }
    m_files.emplace(path, std::move(text));
    m_pending.push_back(path);
    return {};
  }

  /// Follows the quoted includes of everything added so far; of Python the imports from common.
  Result<void> follow() {
    while (!m_pending.empty()) {
      const std::string path = std::move(m_pending.front());
      m_pending.pop_front();
      if (path == m_folder + "/" + std::string(k_manifest_file)) continue;
      if (m_manifest.backend == Backend::python) {
        for (const std::string& name : scan_common_imports(m_files.at(path))) {
          WB_TRY(add_import(name, path));
        }
        continue;
      }
      auto includes = scan_includes(m_files.at(path), path);
      if (!includes.ok()) return std::move(includes).error();
      for (const std::string& name : *includes) WB_TRY(add_include(name, path));
    }
    return {};
  }

  std::map<std::string, std::string> take() { return std::move(m_files); }

 private:
  Result<bool> add_if_there(const std::string& path) {
    if (m_files.contains(path)) return true;
    auto text = m_source(path);
    if (!text.ok()) return std::move(text).error();
    if (!text->has_value()) return false;
    WB_TRY(add_file(path, **std::move(text)));
    return true;
  }

  Result<void> add_import(const std::string& name, const std::string& importing) {
    const std::string path = std::string(k_common) + "/" + name + ".py";
    WB_TRY_ASSIGN(const bool found, add_if_there(path));
    if (found) return {};
    return Error{ErrorCode::not_found, "resolve import common." + name + " of", importing,
                 "kernels/common has no " + name + ".py", "correct the name"};
  }

  Result<void> add_include(const std::string& name, const std::string& including) {
    if (!is_inside(name)) {
      return refuse(including, "#include \"" + name + "\" leaves the kernel's folder",
                    "include files of the folder or of kernels/common by their plain names");
    }
    const std::string first = fs::path(name).begin()->string();
    for (const std::string& granted : m_manifest.includes) {
      if (granted == first) return {};  // the toolchain finds it in a granted folder
    }
    for (const fs::path& folder :
         {fs::path(including).parent_path(), fs::path(m_folder), fs::path(k_common)}) {
      const fs::path path = (folder / name).lexically_normal();
      WB_TRY_ASSIGN(const bool found, add_if_there(path.generic_string()));
      if (found) return {};
    }
    return Error{ErrorCode::not_found, "resolve #include \"" + name + "\" of", including,
                 "it is neither in the kernel's folder nor in kernels/common",
                 "write system headers as #include <" + name + ">"};
  }

  const Manifest& m_manifest;
  std::string m_folder;
  const FileSource& m_source;
  std::map<std::string, std::string> m_files;
  std::deque<std::string> m_pending;
  std::size_t m_total_bytes = 0;
};

/// Every part is framed by its length, so no two different sets of files give the same bytes.
std::string closure_id(const std::map<std::string, std::string>& files) {
  Sha256 hash;
  hash.update("wb variant 1\n");
  for (const auto& [path, text] : files) {
    hash.update(std::to_string(path.size()) + " " + std::to_string(text.size()) + "\n");
    hash.update(path);
    hash.update(text);
  }
  return hash.hex();
}

Result<Variant> assemble(std::string manifest_text, const std::string& folder,
                         const std::string& what, const FileSource& source) {
  Variant variant;
  WB_TRY_ASSIGN(variant.manifest, parse_manifest(manifest_text, what));
  if (variant.manifest.name != folder) {
    return Error{
        ErrorCode::invalid, "read the manifest", what,
        "its name \"" + variant.manifest.name + "\" differs from its folder \"" + folder + "\"",
        "give both the same name"};
  }
  Closure closure(variant.manifest, folder, source);
  WB_TRY(closure.add_file(folder + "/" + std::string(k_manifest_file), std::move(manifest_text)));
  for (const std::string& name : variant.manifest.sources) WB_TRY(closure.add_source(name));
  WB_TRY(closure.follow());
  variant.files = closure.take();
  variant.id = closure_id(variant.files);
  return variant;
}

/// The manifest text under a new name, other keys and their order as they were.
Result<std::string> renamed_manifest(const std::string& text, const std::string& what,
                                     std::string_view new_name, const std::string& parent) {
  WB_TRY_ASSIGN(const Json checked, parse_json(text, what));  // refuses what ordered_json would not
  if (!checked.is_object()) return refuse(what, "it is not a JSON object", "");
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
                             std::string_view folder_name,
                             const std::vector<fs::path>& more_roots) {
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
  WB_TRY_ASSIGN(Variant variant, assemble(*std::move(manifest_text), folder, what, source));
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
      return refuse(path, "it is not a plain path inside the kernel's folder",
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
      return refuse(path, "neither the manifest nor an include names it, so it changes nothing",
                    "add it to sources or include it");
    }
  }
  variant.common_roots = parent.common_roots;
  return variant;
}

}  // namespace wb
