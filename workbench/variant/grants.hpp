// SPDX-License-Identifier: MIT
// Grants: header folders and libraries outside the kernels root, which a manifest requests by name
// and the user allows with --allow-include DIR. Used by the artifact id and the toolchains.
#pragma once

#include <string>
#include <vector>

#include "variant/builder.hpp"

namespace wb::variant {

struct Grants {
  std::vector<fs::path> include_folders;  ///< for -isystem; each allowed DIR at most once
  std::vector<fs::path> library_files;    ///< lib<name>.so or lib<name>.a, absolute
  std::string digest;                     ///< over names, sizes and times of the granted files
};

/// An include "x" is granted by an allowed DIR that holds the folder x; a library "x" by one that
/// holds libx.so or libx.a, directly or in lib/. Errors: invalid (a name no allowed DIR grants),
/// limit (a granted folder of more than 50,000 files).
Result<Grants> resolve_grants(const Manifest& manifest, const BuildOptions& options);

}  // namespace wb::variant
