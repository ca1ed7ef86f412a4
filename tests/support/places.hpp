// SPDX-License-Identifier: MIT
// Paths of the project's files and of the build's products. Only places.cpp is compiled with the
// paths, so that a compiler cache serves another checkout with all other objects.
#pragma once

#include <filesystem>

/// The folder of the sources; absolute.
std::filesystem::path source_dir();

/// The build folder; absolute.
std::filesystem::path binary_dir();
