// SPDX-License-Identifier: MIT
#include "variant/installed.hpp"

#include <system_error>

namespace wb::variant {
namespace fs = std::filesystem;

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
