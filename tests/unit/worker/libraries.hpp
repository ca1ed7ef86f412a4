// SPDX-License-Identifier: MIT
// The shared libraries that are built beside the worker's tests (described in CMakeLists.txt).
#pragma once

#include <string>

#include "support/places.hpp"

namespace wb {

/// The file of library NAME, such as "libfake_nvml_now.so".
inline std::string library(const std::string& name) {
  return binary_dir() / "tests/unit/worker" / name;
}

inline const std::string k_fake_nvml_file = library("libfake_nvml_now.so");
inline const std::string k_fake_nvml_old_file = library("libfake_nvml_old.so");
inline const std::string k_played_cuda_file = library("libplayed_cuda_driver.so");

// As dlopen() takes them.
inline const char* const k_fake_nvml = k_fake_nvml_file.c_str();
inline const char* const k_fake_nvml_old = k_fake_nvml_old_file.c_str();
inline const char* const k_played_cuda = k_played_cuda_file.c_str();

}  // namespace wb
