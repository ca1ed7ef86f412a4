// SPDX-License-Identifier: MIT
#include "variant/grants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.hpp"

namespace wb::variant {

namespace {

constexpr std::size_t k_granted_max_files = 50'000;

std::string stamp(const fs::path& path, const fs::path& root) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, error).time_since_epoch().count();
  return path.lexically_relative(root).generic_string() + " " + fmt::to_string(size) + " " +
         fmt::to_string(time) + "\n";
}

/// Names, sizes and times, not contents, since a header library has hundreds of files and this runs
/// before every cache look-up.
Result<std::string> folder_listing(const fs::path& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    lines.push_back(stamp(it->path(), folder));
    if (lines.size() > k_granted_max_files) {
      return Error{ErrorCode::limit, "list the granted include folder", folder.string(),
                   "it holds more than 50,000 files", "grant a narrower folder"};
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

Error not_granted(const Manifest& manifest, const std::string& kind, const std::string& name) {
  return Error{ErrorCode::invalid, "build", manifest.name,
               "its manifest asks for the " + kind + " \"" + name + "\", which is not granted",
               "pass --allow-include DIR with the folder that holds it"};
}

}  // namespace

Result<Grants> resolve_grants(const Manifest& manifest, const BuildOptions& options) {
  Grants grants;
  if (manifest.includes.empty() && manifest.libraries.empty()) return grants;
  std::vector<fs::path> allowed;
  for (const fs::path& folder : options.allowed_includes) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (!error) allowed.push_back(real);
  }
  Sha256 digest;
  for (const std::string& name : manifest.includes) {
    const auto folder = std::find_if(allowed.begin(), allowed.end(), [&](const fs::path& dir) {
      std::error_code error;
      return fs::is_directory(dir / name, error);
    });
    if (folder == allowed.end()) return not_granted(manifest, "include", name);
    if (std::find(grants.include_folders.begin(), grants.include_folders.end(), *folder) ==
        grants.include_folders.end()) {
      grants.include_folders.push_back(*folder);
    }
    WB_TRY_ASSIGN(const std::string listing, folder_listing(*folder / name));
    digest.update("include " + (*folder / name).string() + "\n" + listing);
  }
  for (const std::string& name : manifest.libraries) {
    fs::path found;
    for (const fs::path& dir : allowed) {
      for (const fs::path& file :
           {dir / ("lib" + name + ".so"), dir / ("lib" + name + ".a"),
            dir / "lib" / ("lib" + name + ".so"), dir / "lib" / ("lib" + name + ".a")}) {
        std::error_code error;
        if (found.empty() && fs::is_regular_file(file, error)) found = file;
      }
    }
    if (found.empty()) return not_granted(manifest, "library", name);
    digest.update("library " + found.string() + "\n" + stamp(found, found.parent_path()));
    grants.library_files.push_back(std::move(found));
  }
  grants.digest = digest.hex();
  return grants;
}

}  // namespace wb::variant
