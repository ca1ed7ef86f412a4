// SPDX-License-Identifier: MIT
#include "core/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "core/byte_source.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"

using wb::Durability;
using wb::ErrorCode;
using namespace wb;
namespace fs = std::filesystem;

namespace {

wb::TempDirectory temporary() {
  auto folder = wb::TempDirectory::create("wb-files-");
  REQUIRE(folder.ok());
  return *std::move(folder);
}

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

constexpr int k_skipped = 99;
constexpr uid_t k_nobody = 65534;

/// Permissions do not bind root: become somebody else first (in a forked child).
bool drop_root() {
  return ::geteuid() != 0 || ::seteuid(k_nobody) == 0;
}

}  // namespace

TEST_CASE("a file is read whole up to the cap", "[core][files]") {
  const auto folder = temporary();
  const fs::path path = folder.path() / "a";
  const std::string content = "one\n" + std::string(1, '\0') + "two";
  wb::RealFileSystem files;
  REQUIRE(files.write_atomic(path, content, Durability::none).ok());
  CHECK(*files.read(path, 100) == content);
  CHECK(*files.read(path, content.size()) == content);
  const auto short_cap = files.read(path, content.size() - 1);
  REQUIRE_FALSE(short_cap.ok());
  CHECK(short_cap.error().code == ErrorCode::limit);
}

TEST_CASE("an empty file and one of several chunks are read", "[core][files]") {
  const auto folder = temporary();
  wb::RealFileSystem files;
  for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 1u << 20}) {
    std::string content(size, 'x');
    if (size > 0) content.back() = 'y';
    REQUIRE(files.write_atomic(folder.path() / "f", content, Durability::none).ok());
    REQUIRE(files.read(folder.path() / "f", size).ok());
    CHECK(*files.read(folder.path() / "f", size) == content);
  }
}

TEST_CASE("files whose size is not known beforehand are capped all the same", "[core][files]") {
  const wb::RealFileSystem files;
  CHECK(files.read("/proc/self/status", 1 << 20).ok());
  CHECK(files.read("/proc/self/status", 10).error().code == ErrorCode::limit);
}

TEST_CASE("what cannot be read says why", "[core][files]") {
  const auto folder = temporary();
  const wb::RealFileSystem files;
  const auto missing = files.read(folder.path() / "none", 10);
  CHECK(missing.error().code == ErrorCode::not_found);
  CHECK(missing.error().message().find("none") != std::string::npos);
  CHECK(files.read(folder.path(), 10).error().cause == "it is a folder");
  const fs::path pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(files.read(pipe, 10).error().code == ErrorCode::usage);  // and does not hang
  CHECK(files.read(folder.path() / std::string(256, 'x'), 10).error().code == ErrorCode::usage);
  CHECK(files.read(pipe / "below", 10).error().code == ErrorCode::not_found);
}

TEST_CASE("an atomic write replaces, keeps the umask and leaves nothing else", "[core][files]") {
  const auto folder = temporary();
  wb::RealFileSystem files;
  const fs::path path = folder.path() / "a.json";
  const mode_t before = ::umask(0027);
  for (const auto durability : {Durability::none, Durability::synced}) {
    REQUIRE(files.write_atomic(path, "old", durability).ok());
    REQUIRE(files.write_atomic(path, "new", durability).ok());
    CHECK(*files.read(path, 10) == "new");
  }
  ::umask(before);
  CHECK(entries_in(folder.path()) == 1);
  CHECK((fs::status(path).permissions() & fs::perms::all) == static_cast<fs::perms>(0640));
}

TEST_CASE("a failed atomic write leaves the old content and no rubbish", "[core][files]") {
  const auto folder = temporary();
  wb::RealFileSystem files;
  CHECK(files.write_atomic(folder.path() / "no" / "a", "x", Durability::none).error().code ==
        ErrorCode::not_found);
  REQUIRE(files.make_directories(folder.path() / "taken" / "by").ok());
  CHECK_FALSE(files.write_atomic(folder.path() / "taken", "x", Durability::synced).ok());
  CHECK(entries_in(folder.path()) == 1);
}

TEST_CASE("readers see the old or the new content, never a part", "[core][files]") {
  const auto folder = temporary();
  wb::RealFileSystem files;
  const fs::path path = folder.path() / "a";
  const std::string first(100'000, '1');
  const std::string second(50'000, '2');
  REQUIRE(files.write_atomic(path, first, Durability::none).ok());
  std::atomic<bool> done{false};
  std::thread writer([&] {
    wb::RealFileSystem own;
    for (int i = 0; i < 200; ++i) {
      if (!own.write_atomic(path, i % 2 == 0 ? second : first, Durability::none).ok()) break;
    }
    done = true;
  });
  int torn = 0;
  while (!done) {
    const auto content = files.read(path, 1 << 20);
    if (!content.ok() || (*content != first && *content != second)) ++torn;
  }
  writer.join();
  CHECK(torn == 0);
}

TEST_CASE("relative paths without a folder part work", "[core][files]") {
  const auto folder = temporary();
  const int step = wb::testing::in_child([&] {
    if (::chdir(folder.path().c_str()) != 0) return 1;
    wb::RealFileSystem files;
    if (!files.write_atomic("plain", "x", Durability::synced).ok()) return 2;
    if (!files.open_append("log").ok()) return 3;
    return 0;
  });
  CHECK(step == 0);
  CHECK(fs::exists(folder.path() / "plain"));
}

TEST_CASE("folders are created with their parents", "[core][files]") {
  const auto folder = temporary();
  wb::RealFileSystem files;
  CHECK(files.make_directories(folder.path() / "a" / "b" / "c").ok());
  CHECK(files.make_directories(folder.path() / "a" / "b" / "c").ok());
  REQUIRE(files.write_atomic(folder.path() / "file", "x", Durability::none).ok());
  CHECK_FALSE(files.make_directories(folder.path() / "file" / "d").ok());
  CHECK_FALSE(files.make_directories(folder.path() / "file").ok());
}

TEST_CASE("one folder is created in a parent that is there", "[core][files]") {
  const auto folder = temporary();
  wb::RealFileSystem files;
  CHECK(files.make_directory(folder.path() / "a").ok());
  CHECK(files.make_directory(folder.path() / "a").ok());
  CHECK_FALSE(files.make_directory(folder.path() / "b" / "c").ok());
  CHECK_FALSE(fs::exists(folder.path() / "b"));
}

TEST_CASE("a folder without write permission is read_only", "[core][files]") {
  const auto folder = temporary();
  REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
  const int step = wb::testing::in_child([&] {
    if (!drop_root()) return k_skipped;
    wb::RealFileSystem files;
    const auto code = [](const auto& result) {
      return result.ok() ? ErrorCode::internal : result.error().code;
    };
    if (code(files.write_atomic(folder.path() / "a", "x", Durability::none)) !=
        ErrorCode::read_only)
      return 1;
    if (code(files.open_append(folder.path() / "a")) != ErrorCode::read_only) return 2;
    if (code(files.make_directories(folder.path() / "d")) != ErrorCode::read_only) return 3;
    return 0;
  });
  if (step == k_skipped) {
    WARN("skipped: cannot change the user");
    return;
  }
  CHECK(step == 0);
}

TEST_CASE("a temporary folder goes with all its content", "[core][files]") {
  fs::path kept;
  {
    auto folder = temporary();
    kept = folder.path();
    wb::RealFileSystem files;
    REQUIRE(files.make_directories(kept / "a" / "b").ok());
    REQUIRE(files.write_atomic(kept / "a" / "b" / "f", "x", Durability::none).ok());
    fs::create_symlink("/etc", kept / "a" / "link");
    wb::TempDirectory moved = std::move(folder);
    CHECK(fs::exists(kept));
    wb::TempDirectory other = temporary();
    const fs::path replaced = other.path();
    other = std::move(moved);
    CHECK_FALSE(fs::exists(replaced));
    CHECK(fs::exists(kept));
  }
  CHECK_FALSE(fs::exists(kept));
  CHECK(fs::exists("/etc/passwd"));
  CHECK_THROWS_AS(wb::TempDirectory::create("a/b"), std::logic_error);
}

TEST_CASE("a temporary folder goes even when its folders were closed", "[core][files]") {
  const int step = wb::testing::in_child([] {
    if (!drop_root()) return k_skipped;
    fs::path kept;
    {
      auto folder = wb::TempDirectory::create("wb-files-");
      if (!folder.ok()) return 1;
      kept = folder->path();
      fs::create_directories(kept / "a" / "b" / "c");
      std::ofstream(kept / "a" / "b" / "f") << "x";
      if (::chmod((kept / "a" / "b").c_str(), 0) != 0) return 2;
      if (::chmod((kept / "a").c_str(), 0500) != 0) return 3;
    }
    return fs::exists(kept) ? 4 : 0;
  });
  if (step == k_skipped) {
    WARN("skipped: cannot change the user");
    return;
  }
  CHECK(step == 0);
}

TEST_CASE("a descriptor is closed once, by its last owner", "[core][files]") {
  int number = -1;
  {
    wb::UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = fd.get();
    wb::UniqueFd moved = std::move(fd);
    CHECK_FALSE(fd.valid());  // NOLINT(bugprone-use-after-move)
    CHECK(moved.get() == number);
    moved.reset(moved.get());
    CHECK(::fcntl(number, F_GETFD) != -1);
    wb::UniqueFd third;
    third = std::move(moved);
    CHECK(::fcntl(number, F_GETFD) != -1);
  }
  CHECK(::fcntl(number, F_GETFD) == -1);
}

TEST_CASE("errno becomes a code, a reason and an advice", "[core][files]") {
  const auto code = [](int number) { return wb::errno_error("write", "f", number).code; };
  CHECK(code(ENOSPC) == ErrorCode::no_space);
  CHECK(code(EDQUOT) == ErrorCode::no_space);
  CHECK(code(EROFS) == ErrorCode::read_only);
  CHECK(code(EACCES) == ErrorCode::read_only);
  CHECK(code(EPERM) == ErrorCode::read_only);
  CHECK(code(ENOENT) == ErrorCode::not_found);
  CHECK(code(EIO) == ErrorCode::io);
  CHECK(wb::errno_error("write", "f", ENOSPC).message() ==
        "cannot write f: No space left on device; free some disk space and try again");
}

TEST_CASE("only paths that stay below their folder are inside", "[core][files]") {
  for (const char* good : {"a", "a/b.cpp", "./a", "a/./b", "..a", "a..", "a/...", "a/"}) {
    INFO(good);
    CHECK(wb::is_inside(good));
  }
  for (const char* bad :
       {"", "/", "/etc/passwd", "..", "../a", "a/../b", "a/..", ".", "./", "//a"}) {
    INFO(bad);
    CHECK_FALSE(wb::is_inside(bad));
  }
  CHECK_FALSE(wb::is_inside(std::string("a\0b", 3)));
}

TEST_CASE("a forked child closes what the descriptors' owners own, and nothing else", "[core]") {
  // In a child of its own: from the call on every fork of a process closes.
  const int step = wb::testing::in_child([] {
    wb::UniqueFd released(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const wb::UniqueFd others(::dup(released.get()));
    const int kept = ::dup(released.release());
    wb::UniqueFd moved(::dup(kept));
    const int number = moved.get();
    const wb::UniqueFd owned(std::move(moved));
    wb::UniqueFd replaced(::dup(kept));
    replaced = wb::UniqueFd(::dup(kept));
    if (!wb::close_in_forked_children().ok()) return 1;
    const int forked = wb::testing::in_child([&] {
      if (::fcntl(kept, F_GETFD) == -1) return 1;
      if (owned.get() != number || ::fcntl(owned.get(), F_GETFD) != -1) return 2;
      if (::fcntl(replaced.get(), F_GETFD) != -1) return 3;
      return ::fcntl(others.get(), F_GETFD) != -1 ? 4 : 0;
    });
    if (forked != 0) return 10 + forked;
    return ::fcntl(owned.get(), F_GETFD) == -1 || ::fcntl(replaced.get(), F_GETFD) == -1 ? 2 : 0;
  });
  CHECK(step == 0);
}

TEST_CASE("what is no file of bytes is refused at once, and too much is not read",
          "[core][byte_source]") {
  const auto folder = TempDirectory::create("wb-bytes");
  REQUIRE(folder.ok());
  const fs::path pipe = folder->path() / "pipe", plain = folder->path() / "plain";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);  // without a writer: opening it must not wait
  CHECK(read_all(pipe, 100).error().code == ErrorCode::invalid);
  CHECK(read_all(folder->path(), 100).error().code == ErrorCode::invalid);
  CHECK(read_all(folder->path() / "none", 100).error().code == ErrorCode::not_found);

  std::ofstream(plain) << std::string(100, 'x');
  const auto whole = read_all(plain, 100);
  REQUIRE(whole.ok());
  CHECK(*whole == std::string(100, 'x'));
  CHECK(read_all(plain, 99).error().code == ErrorCode::limit);
}
