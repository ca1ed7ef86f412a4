// SPDX-License-Identifier: MIT
#include "support/places.hpp"

std::filesystem::path source_dir() {
  return WB_SOURCE_DIR;
}

std::filesystem::path binary_dir() {
  return WB_BINARY_DIR;
}
