// SPDX-License-Identifier: MIT
// What the session tests share: a scratch folder that is quick to sync, and raw file access.
#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "session/session.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"

namespace wb::testing {

/// A folder of its own, in memory where the machine has /dev/shm: these tests sync a lot.
class Scratch {
 public:
  Scratch() {
    std::string name = "/dev/shm/wb-session-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) {
      m_path = name;
      return;
    }
    Result<TempDirectory> made = TempDirectory::create("wb-session");
    if (!made.ok()) throw std::runtime_error(made.error().message());
    m_fallback = std::move(*made);
    m_path = m_fallback->path();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!m_fallback) fs::remove_all(m_path, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return m_path; }
  fs::path operator/(const fs::path& name) const { return m_path / name; }

 private:
  fs::path m_path;
  std::optional<TempDirectory> m_fallback;
};

inline std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void spill(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

/// The value of a Result, or a failed test that shows its message.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) FAIL(result.error().message());
  return *std::move(result);
}
inline void must(Result<void> result) {
  if (!result.ok()) FAIL(result.error().message());
}

}  // namespace wb::testing
