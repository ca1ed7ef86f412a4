// SPDX-License-Identifier: MIT
// File systems for tests: one in memory, one whose Nth call of a kind fails, and one that passes
// all calls on to the disk.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/files.hpp"

namespace wb::testing {

/// With the rules of the real one: parents must exist, a file held for appending is locked, an open
/// file outlives nothing. For tests that must not touch a disk.
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

// A FileSystem around another one (real or in memory) whose Nth call of a kind fails with a chosen
// error. An append can also stop half-way, as after a power cut: then part of the bytes stays.

enum class FileCall { read, write_atomic, make_directories, open_append, append, truncate };

struct FileFault {
  FileCall call = FileCall::append;
  int nth = 1;  ///< counted from 1 over the life of the FaultFileSystem, all files together
  ErrorCode code = ErrorCode::no_space;
  bool stays = false;  ///< every later call of this kind fails, too
  /// append only: this many bytes reach the file before the failure and stay there (a torn line);
  /// the file then refuses further appends, as the real one does when it cannot cut back.
  std::optional<std::size_t> torn_bytes{};
};

class FaultFileSystem final : public FileSystem {
 public:
  /// `inner` must outlive this object and the files that it opened.
  explicit FaultFileSystem(FileSystem& inner) : m_inner(inner) {}

  void add(FileFault fault) { m_plan->faults.push_back(fault); }
  void clear() { m_plan->faults.clear(); }
  [[nodiscard]] int calls(FileCall call) const { return m_plan->count(call); }

  Result<std::string> read(const fs::path& path, std::uint64_t max_bytes) const override {
    if (const auto fault = m_plan->next(FileCall::read)) return made_up("read", path, *fault);
    return m_inner.read(path, max_bytes);
  }
  Result<void> write_atomic(const fs::path& path, std::string_view bytes,
                            Durability durability) override {
    if (const auto fault = m_plan->next(FileCall::write_atomic)) {
      return made_up("write", path, *fault);
    }
    return m_inner.write_atomic(path, bytes, durability);
  }
  Result<void> make_directories(const fs::path& path) override {
    if (const auto fault = m_plan->next(FileCall::make_directories)) {
      return made_up("create the folder", path, *fault);
    }
    return m_inner.make_directories(path);
  }
  Result<void> make_directory(const fs::path& path) override {
    if (const auto fault = m_plan->next(FileCall::make_directories)) {
      return made_up("create the folder", path, *fault);
    }
    return m_inner.make_directory(path);
  }
  Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) override {
    if (const auto fault = m_plan->next(FileCall::open_append)) {
      return made_up("open for appending", path, *fault);
    }
    WB_TRY_ASSIGN(std::unique_ptr<AppendFile> file, m_inner.open_append(path));
    return std::unique_ptr<AppendFile>(
        std::make_unique<FaultAppendFile>(m_plan, path, std::move(file)));
  }

 private:
  static constexpr std::size_t k_call_kinds = 6;

  struct Plan {
    std::vector<FileFault> faults;
    std::array<int, k_call_kinds> counts{};

    int& count(FileCall call) { return counts.at(static_cast<std::size_t>(call)); }
    /// Counts the call and says which fault it meets.
    std::optional<FileFault> next(FileCall call) {
      const int nth = ++count(call);
      for (const FileFault& fault : faults) {
        if (fault.call != call) continue;
        if (fault.nth == nth || (fault.stays && nth > fault.nth)) return fault;
      }
      return std::nullopt;
    }
  };

  static Error made_up(std::string attempted, const fs::path& path, const FileFault& fault) {
    return Error{fault.code, std::move(attempted), path.string(), "a planted fault", ""};
  }

  class FaultAppendFile final : public AppendFile {
   public:
    FaultAppendFile(std::shared_ptr<Plan> plan, fs::path path, std::unique_ptr<AppendFile> inner)
        : m_plan(std::move(plan)), m_path(std::move(path)), m_inner(std::move(inner)) {}

    Result<void> append_synced(std::string_view bytes) override {
      const auto fault = m_plan->next(FileCall::append);
      if (m_torn) {
        return Error{ErrorCode::io, "append to", m_path.string(), "an earlier write was torn", ""};
      }
      if (!fault) return m_inner->append_synced(bytes);
      if (fault->torn_bytes) {
        m_torn = true;
        WB_TRY(m_inner->append_synced(bytes.substr(0, *fault->torn_bytes)));
      }
      return made_up("append to", m_path, *fault);
    }
    Result<void> truncate(std::uint64_t size_bytes) override {
      if (const auto fault = m_plan->next(FileCall::truncate))
        return made_up("cut", m_path, *fault);
      return m_inner->truncate(size_bytes);
    }
    std::uint64_t size_bytes() const override { return m_inner->size_bytes(); }

   private:
    std::shared_ptr<Plan> m_plan;
    fs::path m_path;
    std::unique_ptr<AppendFile> m_inner;
    bool m_torn = false;
  };

  FileSystem& m_inner;
  std::shared_ptr<Plan> m_plan = std::make_shared<Plan>();
};

/// The disk, for tests that watch or disturb some of its calls: they override those.
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
