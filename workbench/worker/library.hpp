// SPDX-License-Identifier: MIT
// Library: a shared library that is opened at run time, and its functions by name. Used for the
// CUDA driver, NVML and variants. It is never closed: threads and state of its own may outlive
// whoever opened it.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "core/error.hpp"

namespace wb::worker {

class Library {
 public:
  /// The error is the loader's reason, or `without_reason` when it gives none.
  static Expected<Library, std::string> open(const char* path, const char* without_reason);
  /// Sets `to` to the function of that name; null without one. `name` must outlive this.
  template <typename Function>
  void find(const char* name, Function& to) {
    void* const symbol = look_up(name);
    static_assert(sizeof symbol == sizeof to);
    std::memcpy(&to, &symbol, sizeof to);  // C++ has no cast from void* to a function
  }
  /// Like find(), for functions that older libraries lack: they do not count as missing.
  template <typename Function>
  void find_optional(const char* name, Function& to) {
    const char* const missing_before = m_missing;
    find(name, to);
    m_missing = missing_before;
  }
  /// The first name that find() did not find; null when it found all.
  [[nodiscard]] const char* missing() const { return m_missing; }

 private:
  explicit Library(void* handle) : m_handle(handle) {}
  void* look_up(const char* name);
  void* m_handle;
  const char* m_missing = nullptr;
};

inline Expected<Library, std::string> Library::open(const char* path, const char* without_reason) {
  void* const handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return Library(handle);
  const char* const reason = ::dlerror();
  return std::string(reason == nullptr ? without_reason : reason);
}

inline void* Library::look_up(const char* name) {
  void* const symbol = ::dlsym(m_handle, name);
  if (symbol == nullptr && m_missing == nullptr) m_missing = name;
  return symbol;
}

}  // namespace wb::worker
