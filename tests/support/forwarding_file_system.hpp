// SPDX-License-Identifier: MIT
// The disk, for tests that watch or disturb some of its calls: they override those.
#pragma once

#include <memory>
#include <string>

#include "core/files.hpp"

namespace wb::testing {

class ForwardingFileSystem : public FileSystem {
 public:
  Result<std::string> read(const fs::path& path, std::uint64_t max_bytes) const override {
    return m_real.read(path, max_bytes);
  }
  Result<void> write_atomic(const fs::path& path, std::string_view bytes,
                            Durability durability) override {
    return m_real.write_atomic(path, bytes, durability);
  }
  Result<void> make_directories(const fs::path& path) override {
    return m_real.make_directories(path);
  }
  Result<void> make_directory(const fs::path& path) override { return m_real.make_directory(path); }
  Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) override {
    return m_real.open_append(path);
  }

 protected:
  RealFileSystem m_real;
};

}  // namespace wb::testing
