// SPDX-License-Identifier: MIT
#include "variant/closure.hpp"

#include <algorithm>

#include "variant/include_scan.hpp"
#include "variant/variant.hpp"

namespace wb::variant {

namespace {

bool is_of_common(std::string_view path) {
  return path.starts_with(k_common) && path.substr(k_common.size()).starts_with('/');
}

/// `name` in `folder`, in normal form. Avoids fs::path for the usual names, which are in normal
/// form already.
std::string joined(const std::string& folder, const std::string& name) {
  std::string path = folder + "/" + name;
  const bool is_normal =
      path.find("/.") == std::string::npos && path.find("//") == std::string::npos;
  return is_normal ? path : fs::path(path).lexically_normal().generic_string();
}

/// True for a plain file directly in its folder, where only the folder itself can be a link. Avoids
/// canonical() for the usual case, which checks every part of a path on disk.
bool is_plain_entry(const fs::path& path, std::string_view relative) {
  std::error_code error;
  return std::ranges::count(relative, '/') == 1 &&
         fs::symlink_status(path, error).type() == fs::file_type::regular;
}

Result<std::optional<std::string>> read_text(const FileSystem& file_system, const fs::path& path) {
  WB_TRY_ASSIGN(auto text, file_system.read(path, k_source_max_bytes));
  return std::optional<std::string>(std::move(text));
}

}  // namespace

Error refuse_file(std::string_view subject, std::string cause, std::string next) {
  return Error{ErrorCode::invalid, "read the kernel file", std::string(subject), std::move(cause),
               std::move(next)};
}

Result<std::optional<std::string>> read_below(const FileSystem& file_system, const fs::path& root,
                                              const std::string& relative) {
  const fs::path path = root / relative;
  if (is_plain_entry(path, relative)) return read_text(file_system, path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    // A file system other than the disk may have it.
    auto text = file_system.read(path, k_source_max_bytes);
    if (text.ok()) return std::optional<std::string>(*std::move(text));
    if (text.error().code != ErrorCode::not_found) return std::move(text).error();
    return std::optional<std::string>();
  }
  if (!fs::is_regular_file(status)) {
    return refuse_file(path.string(), "it is not a plain file", "replace it by a plain file");
  }
  // The allowed folder is the first component: the kernel's own folder, or common.
  const fs::path folder = fs::canonical(root / *fs::path(relative).begin(), error);
  const fs::path real = error ? fs::path() : fs::canonical(path, error);
  if (error || !is_inside(real.lexically_relative(folder))) {
    return refuse_file(path.string(), "it is a link to a file outside its folder",
                       "copy the file into the kernel's folder");
  }
  return read_text(file_system, path);
}

Result<std::optional<std::string>> read_common(const FileSystem& file_system,
                                               const std::vector<fs::path>& roots,
                                               const std::string& relative) {
  if (!is_of_common(relative)) return std::optional<std::string>();
  for (const fs::path& root : roots) {
    WB_TRY_ASSIGN(auto text, read_below(file_system, root, relative));
    if (text) return text;
  }
  return std::optional<std::string>();
}

Closure::Closure(const Manifest& manifest, std::string folder, const FileSource& source,
                 IncludeCache* shared)
    : m_manifest(manifest), m_folder(std::move(folder)), m_source(source), m_shared(shared) {}

Result<void> Closure::add_source(const std::string& name) {
  const std::string path = m_folder + "/" + name;
  WB_TRY_ASSIGN(const bool found, add_if_there(path));
  if (found) return {};
  return Error{ErrorCode::not_found, "read the kernel file", path,
               "the manifest lists it but it does not exist", "add the file or correct sources"};
}

Result<void> Closure::add_file(const std::string& path, std::string text) {
  if (text.size() > k_source_max_bytes) return refuse_file(path, "above 1 MiB", "make it smaller");
  m_total_bytes += text.size();
  if (m_total_bytes > k_closure_max_bytes || m_files.size() >= k_closure_max_files) {
    return refuse_file(path, "the kernel and its includes exceed 8 MiB or 256 files",
                       "include fewer files, or grant a library with --allow-include");
  }
  if (text.find('\0') != std::string::npos) {
    return refuse_file(path, "it holds a NUL byte, so it is not source text", "remove it");
  }
  m_files.emplace(path, std::move(text));
  m_pending.push_back(path);
  return {};
}

Result<void> Closure::follow() {
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
    WB_TRY_ASSIGN(const auto names, includes_of(path));
    for (const std::string& name : names) WB_TRY(add_include(name, path));
  }
  return {};
}

Result<bool> Closure::add_if_there(const std::string& path) {
  if (m_files.contains(path)) return true;
  const bool is_shared = m_shared != nullptr && is_of_common(path);
  if (is_shared) {
    if (const auto known = m_shared->files.find(path); known != m_shared->files.end()) {
      if (known->second) WB_TRY(add_file(path, *known->second));
      return known->second.has_value();
    }
  }
  WB_TRY_ASSIGN(auto text, m_source(path));
  if (is_shared) m_shared->files.emplace(path, text);
  if (!text) return false;
  WB_TRY(add_file(path, *std::move(text)));
  return true;
}

Result<std::vector<std::string>> Closure::includes_of(const std::string& path) {
  const bool is_shared = m_shared != nullptr && is_of_common(path);
  if (is_shared) {
    if (const auto known = m_shared->includes.find(path); known != m_shared->includes.end()) {
      return known->second;
    }
  }
  WB_TRY_ASSIGN(auto names, scan_includes(m_files.at(path), path));
  if (is_shared) m_shared->includes.emplace(path, names);
  return names;
}

Result<void> Closure::add_import(const std::string& name, const std::string& importing) {
  const std::string path = std::string(k_common) + "/" + name + ".py";
  WB_TRY_ASSIGN(const bool found, add_if_there(path));
  if (found) return {};
  return Error{ErrorCode::not_found, "resolve import common." + name + " of", importing,
               "kernels/common has no " + name + ".py", "correct the name"};
}

Result<void> Closure::add_include(const std::string& name, const std::string& including) {
  if (!is_inside(name)) {
    return refuse_file(including, "#include \"" + name + "\" leaves the kernel's folder",
                       "include files of the folder or of kernels/common by their plain names");
  }
  for (const std::string& granted : m_manifest.includes) {
    // The toolchain finds it in a granted folder.
    if (*fs::path(name).begin() == granted) return {};
  }
  const std::string beside = including.substr(0, including.rfind('/'));
  std::string looked_at;
  for (const std::string& folder : {beside, m_folder, std::string(k_common)}) {
    const std::string path = joined(folder, name);
    if (path == looked_at)
      continue;  // for a file directly in the kernel's folder the first two are equal
    WB_TRY_ASSIGN(const bool found, add_if_there(path));
    if (found) return {};
    looked_at = path;
  }
  return Error{ErrorCode::not_found, "resolve #include \"" + name + "\" of", including,
               "it is neither in the kernel's folder nor in kernels/common",
               "write system headers as #include <" + name + ">"};
}

}  // namespace wb::variant
