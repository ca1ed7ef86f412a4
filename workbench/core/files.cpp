// SPDX-License-Identifier: MIT
#include "core/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/secret.hpp"
#include "core/streams.hpp"

namespace wb {
namespace {

using detail::folder_of;
using detail::open_fd;
using detail::retry_on_signal;
using detail::sync_folder;

constexpr std::size_t k_read_chunk_bytes = 64u << 10;

/// A file that is unlinked unless it was kept (renamed to its final name).
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(const fs::path& folder) {
    for (int attempt = 0; attempt < 16; ++attempt) {
      fs::path path = folder / fmt::format(".wb-tmp-{:016x}", draw_secret<std::uint64_t>());
      UniqueFd fd = open_fd(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
      if (fd.valid()) return TemporaryFile(std::move(path), std::move(fd));
      if (errno != EEXIST) return errno_error("create a temporary file in", folder, errno);
    }
    return errno_error("find a free temporary name in", folder, errno);
  }
  TemporaryFile(TemporaryFile&& other) noexcept
      : m_path(std::exchange(other.m_path, {})), m_fd(std::move(other.m_fd)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!m_path.empty()) ::unlink(m_path.c_str());
  }

  Result<void> fill(std::string_view bytes, Durability durability) {
    while (!bytes.empty()) {
      const ssize_t written =
          retry_on_signal([&] { return ::write(m_fd.get(), bytes.data(), bytes.size()); });
      if (written == -1) return errno_error("write", m_path, errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (durability == Durability::synced &&
        retry_on_signal([&] { return ::fsync(m_fd.get()); }) == -1) {
      return errno_error("sync", m_path, errno);
    }
    // Network file systems report a full disk only here.
    if (::close(m_fd.release()) == -1 && errno != EINTR) return errno_error("write", m_path, errno);
    return {};
  }

  /// Copies permissions and, if allowed, the owner of the regular file that it will replace.
  void take_after(const fs::path& target) {
    struct stat facts {};
    if (::stat(target.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return;
    // In this order, since changing the owner clears some permissions.
    if (::fchown(m_fd.get(), facts.st_uid, facts.st_gid) != 0) {
      (void)::fchown(m_fd.get(), static_cast<uid_t>(-1), facts.st_gid);
    }
    (void)::fchmod(m_fd.get(), facts.st_mode & 07777u);
  }

  Result<void> rename_to(const fs::path& target) {
    if (::rename(m_path.c_str(), target.c_str()) == -1) {
      return errno_error("replace", target, errno);
    }
    m_path.clear();
    return {};
  }

 private:
  TemporaryFile(fs::path path, UniqueFd fd) : m_path(std::move(path)), m_fd(std::move(fd)) {}
  fs::path m_path;
  UniqueFd m_fd;
};

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  // A folder without owner permissions hides its content: open them all and try once more.
  const auto options = fs::directory_options::skip_permission_denied;
  for (int depth = 0; depth < 64 && error; ++depth) {
    std::error_code ignored;
    fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, ignored);
    for (auto it = fs::recursive_directory_iterator(path, options, ignored);
         !ignored && it != fs::recursive_directory_iterator(); it.increment(ignored)) {
      if (it->symlink_status(ignored).type() != fs::file_type::directory) continue;
      fs::permissions(it->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
    fs::remove_all(path, error);
  }
}

}  // namespace

Result<void> detail::sync_folder(const fs::path& folder) {
  const UniqueFd fd = open_fd(folder, O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) return errno_error("open the folder", folder, errno);
  if (retry_on_signal([&] { return ::fsync(fd.get()); }) == -1 && errno != EINVAL) {
    return errno_error("sync the folder", folder, errno);
  }
  return {};
}

Error errno_error(std::string attempted, const fs::path& subject, int error_number) {
  Error error{ErrorCode::io, std::move(attempted), subject.string(),
              std::generic_category().message(error_number), ""};
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      error.code = ErrorCode::no_space;
      error.next = "free some disk space and try again";
      break;
    case EROFS:
    case EACCES:
    case EPERM:
      error.code = ErrorCode::read_only;
      error.next = "check the owner and the permissions, or choose another folder";
      break;
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      error.code = ErrorCode::not_found;
      error.next = "check the path";
      break;
    case ENAMETOOLONG:
      error.code = ErrorCode::usage;
      error.next = "use a shorter name";
      break;
    case EMFILE:
      error.next = "raise the limit of open files (ulimit -n)";
      break;
    case EFBIG:
      error.next = "raise the limit of a file's size (ulimit -f)";
      break;
    default:
      break;
  }
  return error;
}

Result<std::string> RealFileSystem::read(const fs::path& path, std::uint64_t max_bytes) const {
  // O_NONBLOCK prevents hanging on a named pipe; regular files ignore it.
  const UniqueFd fd = open_fd(path, O_RDONLY | O_NONBLOCK);
  if (!fd.valid()) return errno_error("read", path, errno);
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) return errno_error("read", path, errno);
  if (!S_ISREG(facts.st_mode)) {
    return Error{ErrorCode::usage, "read", path.string(),
                 S_ISDIR(facts.st_mode) ? "it is a folder" : "it is not a regular file",
                 "name a regular file"};
  }
  const Error too_long{ErrorCode::limit, "read", path.string(),
                       fmt::format("it is longer than the limit of {} bytes", max_bytes), ""};
  const auto known_bytes = static_cast<std::uint64_t>(facts.st_size);
  if (known_bytes > max_bytes) return too_long;
  std::string content;
  // One byte more than the known size shows the end of the file without growing. Files under /proc
  // claim a size of 0 and are still read.
  std::size_t used = 0;
  content.resize(std::max<std::size_t>(known_bytes + 1, 4096));
  while (true) {
    if (used == content.size()) content.resize(content.size() + k_read_chunk_bytes);
    const ssize_t got = retry_on_signal(
        [&] { return ::read(fd.get(), content.data() + used, content.size() - used); });
    if (got == -1) return errno_error("read", path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > max_bytes) return too_long;
  }
  content.resize(used);
  return content;
}

Result<void> RealFileSystem::write_atomic(const fs::path& path, std::string_view bytes,
                                          Durability durability) {
  const fs::path folder = folder_of(path);
  WB_TRY_ASSIGN(TemporaryFile file, TemporaryFile::create(folder));
  file.take_after(path);
  WB_TRY(file.fill(bytes, durability));
  WB_TRY(file.rename_to(path));
  return durability == Durability::synced ? sync_folder(folder) : Result<void>();
}

Result<void> RealFileSystem::make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return errno_error("create the folder", path, error.value());
  return {};
}

Result<void> RealFileSystem::make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return errno_error("create the folder", path, error.value());
  return {};
}

Result<TempDirectory> TempDirectory::create(std::string_view prefix) {
  const char* const named = std::getenv("TMPDIR");
  std::error_code error;
  // Absolute, since children use it from other working folders.
  const fs::path root = fs::absolute(named == nullptr || *named == '\0' ? "/tmp" : named, error);
  auto made =
      error ? Result<TempDirectory>(errno_error("use the temporary folder", named, error.value()))
            : create_in(root, prefix);
  if (made.ok() || made.error().code == ErrorCode::no_space) return made;
  Error refused = made.error();
  refused.next = "set the variable TMPDIR to a folder that is there and may be written";
  return refused;
}

Result<TempDirectory> TempDirectory::create_in(const fs::path& root, std::string_view prefix) {
  if (prefix.find('/') != std::string_view::npos) {
    throw std::logic_error("the prefix of a temporary folder holds a '/'");
  }
  std::string pattern = (root / fmt::format("{}XXXXXX", prefix)).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return errno_error("create a temporary folder in", root, errno);
  }
  return TempDirectory(fs::path(pattern));
}

TempDirectory::TempDirectory(TempDirectory&& other) noexcept
    : m_path(std::exchange(other.m_path, {})) {}

TempDirectory& TempDirectory::operator=(TempDirectory&& other) noexcept {
  if (this != &other) {
    if (!m_path.empty()) remove_tree(m_path);
    m_path = std::exchange(other.m_path, {});
  }
  return *this;
}

TempDirectory::~TempDirectory() {
  if (!m_path.empty()) remove_tree(m_path);
}

bool is_inside(const fs::path& relative) {
  if (relative.empty() || relative.is_absolute()) return false;
  if (relative.native().find('\0') != std::string::npos) return false;
  bool names_something = false;
  for (const fs::path& part : relative) {
    if (part == "..") return false;
    if (!part.empty() && part != ".") names_something = true;
  }
  return names_something;
}

}  // namespace wb
