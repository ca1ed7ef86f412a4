// SPDX-License-Identifier: MIT
// Where tests find the project's files and what the build made. Only places.cpp is compiled with
// the paths, so that a compiler cache serves another checkout with all the rest.
#pragma once

#include <filesystem>

/// The folder of the sources; absolute.
std::filesystem::path source_dir();

/// The build folder; absolute.
std::filesystem::path binary_dir();
