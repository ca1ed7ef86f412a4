// SPDX-License-Identifier: MIT
#include "worker/library.hpp"

#include <dlfcn.h>

namespace wb::worker {

Expected<Library, std::string> Library::open(const char* path, const char* without_reason) {
  void* const handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return Library(handle);
  const char* const reason = ::dlerror();
  return std::string(reason == nullptr ? without_reason : reason);
}

void* Library::look_up(const char* name) {
  void* const symbol = ::dlsym(m_handle, name);
  if (symbol == nullptr && m_missing == nullptr) m_missing = name;
  return symbol;
}

}  // namespace wb::worker
