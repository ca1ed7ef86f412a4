// SPDX-License-Identifier: MIT
// Where a program finds what belongs to it: kernels, playbooks and the loop of Python subjects. One
// rule for an installation (a wheel, `cmake --install`) and for a build folder, which CMake lets
// look like one. Who calls: cli (search path), worker (subject loop), the GPU tests.
#pragma once

#include <filesystem>
#include <optional>

namespace wb::variant {

/// The folder that holds kernels/, playbooks/ and bindings/ for a program in `program_folder`: that
/// of the nearest share/sdpa-workbench/kernels in the folder itself or above it. Links are
/// followed, so for a build folder it is the checkout. Nothing where there is none: the program was
/// copied away alone.
std::optional<std::filesystem::path> find_installed_root(
    const std::filesystem::path& program_folder);

}  // namespace wb::variant
