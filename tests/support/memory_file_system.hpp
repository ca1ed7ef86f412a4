// SPDX-License-Identifier: MIT
// A FileSystem in memory with the rules of the real one: parents must exist, a file held for
// appending is locked, an open file outlives nothing. For tests that must not touch a disk.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/files.hpp"

namespace wb::testing {

class MemoryFileSystem final : public FileSystem {
 public:
  Result<std::string> read(const fs::path& path, std::uint64_t max_bytes) const override {
    const auto found = m_disk->files.find(key(path));
    if (found == m_disk->files.end()) return errno_error("read", path, ENOENT);
    if (found->second.size() > max_bytes) {
      return Error{ErrorCode::limit, "read", path.string(), "it is longer than the limit", ""};
    }
    return found->second;
  }

  Result<void> write_atomic(const fs::path& path, std::string_view bytes, Durability) override {
    WB_TRY(check_parent("create a temporary file in", path));
    m_disk->files[key(path)] = std::string(bytes);
    return {};
  }

  Result<void> make_directories(const fs::path& path) override {
    for (fs::path folder = key(path); !folder.empty(); folder = folder.parent_path()) {
      if (m_disk->files.contains(folder.string())) {
        return errno_error("create the folder", path, ENOTDIR);
      }
      m_disk->folders.insert(folder.string());
      if (folder == folder.parent_path()) break;
    }
    return {};
  }

  Result<void> make_directory(const fs::path& path) override {
    WB_TRY(check_parent("create the folder", path));
    return make_directories(path);
  }

  Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) override {
    WB_TRY(check_parent("open for appending", path));
    if (!m_disk->locked.insert(key(path)).second) {
      return Error{ErrorCode::locked, "open for appending", path.string(),
                   "another holder has its lock", "close it first"};
    }
    m_disk->files.try_emplace(key(path));
    return std::unique_ptr<AppendFile>(std::make_unique<MemoryAppendFile>(m_disk, key(path)));
  }

  /// The content as a crash would leave it; for looking at and for damaging. Creates the file.
  std::string& content(const fs::path& path) { return m_disk->files[key(path)]; }
  [[nodiscard]] bool contains(const fs::path& path) const {
    return m_disk->files.contains(key(path));
  }
  [[nodiscard]] std::size_t file_count() const { return m_disk->files.size(); }

 private:
  struct Disk {
    std::map<std::string, std::string> files;
    std::set<std::string> folders;
    std::set<std::string> locked;
  };

  class MemoryAppendFile final : public AppendFile {
   public:
    MemoryAppendFile(std::shared_ptr<Disk> disk, std::string name)
        : m_disk(std::move(disk)), m_name(std::move(name)) {}
    ~MemoryAppendFile() override { m_disk->locked.erase(m_name); }
    Result<void> append_synced(std::string_view bytes) override {
      m_disk->files[m_name] += bytes;
      return {};
    }
    Result<void> truncate(std::uint64_t size_bytes) override {
      std::string& content = m_disk->files[m_name];
      if (size_bytes > content.size()) {
        return Error{ErrorCode::invalid, "cut", m_name, "it is shorter than that", ""};
      }
      content.resize(size_bytes);
      return {};
    }
    std::uint64_t size_bytes() const override { return m_disk->files[m_name].size(); }

   private:
    std::shared_ptr<Disk> m_disk;
    std::string m_name;
  };

  static std::string key(const fs::path& path) {
    fs::path plain = path.lexically_normal();
    return (plain.has_filename() ? plain : plain.parent_path()).string();
  }
  Result<void> check_parent(std::string attempted, const fs::path& path) const {
    const std::string parent = fs::path(key(path)).parent_path().string();
    if (parent.empty() || parent == "/" || m_disk->folders.contains(parent)) return {};
    return errno_error(std::move(attempted), path, ENOENT);
  }

  std::shared_ptr<Disk> m_disk = std::make_shared<Disk>();
};

}  // namespace wb::testing
