// SPDX-License-Identifier: MIT
// Where a program finds kernels, playbooks and the loop of Python subjects. The same rule holds for
// an installation (a wheel, `cmake --install`) and for a build folder, which CMake lays out alike.
// Used by cli (search path), worker (subject loop) and the GPU tests.
#pragma once

#include <filesystem>
#include <optional>

namespace wb::variant {

/// The folder that holds kernels/, playbooks/ and bindings/ for a program in `program_folder`: that
/// of the nearest share/sdpa-workbench/kernels in it or above it. Links are followed, so for a
/// build folder it is the checkout. Nothing when there is none, as for a program that was copied
/// alone.
std::optional<std::filesystem::path> find_installed_root(
    const std::filesystem::path& program_folder);

}  // namespace wb::variant
