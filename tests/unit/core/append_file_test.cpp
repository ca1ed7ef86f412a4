// SPDX-License-Identifier: MIT
// The file under the session log: whole lines or none, one holder at a time.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "core/files.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"

using wb::AppendFile;
using wb::ErrorCode;
using wb::RealFileSystem;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t k_plenty = 1 << 20;
constexpr int k_skipped = 99;

wb::TempDirectory temporary() {
  auto folder = wb::TempDirectory::create("wb-append-");
  REQUIRE(folder.ok());
  return *std::move(folder);
}

ErrorCode code_of(const wb::Result<void>& result) {
  return result.ok() ? ErrorCode::internal : result.error().code;
}

}  // namespace

TEST_CASE("appends add up over openings", "[core][append]") {
  const auto folder = temporary();
  const fs::path path = folder.path() / "log";
  RealFileSystem files;
  {
    auto file = files.open_append(path);
    REQUIRE(file.ok());
    CHECK((*file)->size_bytes() == 0);
    CHECK((*file)->append_synced("one\n").ok());
    CHECK((*file)->append_synced("").ok());
    CHECK((*file)->append_synced("two\n").ok());
    CHECK((*file)->size_bytes() == 8);
  }
  auto again = files.open_append(path);
  REQUIRE(again.ok());
  CHECK((*again)->size_bytes() == 8);
  CHECK((*again)->append_synced("three\n").ok());
  CHECK(*files.read(path, k_plenty) == "one\ntwo\nthree\n");
}

TEST_CASE("who holds a lock can be asked without taking it", "[core][append]") {
  const auto folder = temporary();
  const fs::path path = folder.path() / "log";
  RealFileSystem files;
  CHECK_FALSE(wb::lock_holder(path).has_value());
  {
    auto file = files.open_append(path);
    REQUIRE(file.ok());
    CHECK(wb::lock_holder(path) == ::getpid());
    CHECK(wb::lock_holder(path) == ::getpid());
  }
  CHECK_FALSE(wb::lock_holder(path).has_value());
  CHECK(files.open_append(path).ok());
}

TEST_CASE("a torn tail can be cut, but a file not be lengthened", "[core][append]") {
  const auto folder = temporary();
  const fs::path path = folder.path() / "log";
  RealFileSystem files;
  auto file = files.open_append(path);
  REQUIRE(file.ok());
  REQUIRE((*file)->append_synced("whole\ntor").ok());
  CHECK((*file)->truncate(6).ok());
  CHECK((*file)->size_bytes() == 6);
  CHECK((*file)->truncate(7).error().code == ErrorCode::invalid);
  CHECK((*file)->append_synced("next\n").ok());
  CHECK(*files.read(path, k_plenty) == "whole\nnext\n");
}

TEST_CASE("a second holder is refused and told who holds it", "[core][append][lock]") {
  const auto folder = temporary();
  const fs::path path = folder.path() / "log";
  RealFileSystem files;
  std::unique_ptr<AppendFile> held;
  wb::testing::BackgroundChild other([&] {
    RealFileSystem own;
    auto file = own.open_append(path);
    if (!file.ok()) return false;
    held = *std::move(file);
    return held->append_synced("theirs\n").ok();
  });
  REQUIRE(other.succeeded());
  const auto refused = files.open_append(path);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::locked);
  const std::string message = refused.error().message();
  INFO(message);
  CHECK(message.find("process " + std::to_string(other.pid())) != std::string::npos);
  CHECK(message.find("wait until") != std::string::npos);
  CHECK(*files.read(path, k_plenty) == "theirs\n");  // reading needs no lock

  other.kill();  // the kernel frees the lock of a dead holder
  const auto free = files.open_append(path);
  REQUIRE(free.ok());
  CHECK((*free)->size_bytes() == 7);
}

TEST_CASE("the same process is refused a second opening, too", "[core][append][lock]") {
  const auto folder = temporary();
  RealFileSystem files;
  auto first = files.open_append(folder.path() / "log");
  REQUIRE(first.ok());
  CHECK(files.open_append(folder.path() / "log").error().code == ErrorCode::locked);
  CHECK(files.open_append(folder.path() / "other").ok());
  *first = nullptr;
  CHECK(files.open_append(folder.path() / "log").ok());
}

TEST_CASE("what is no regular file is refused", "[core][append]") {
  const auto folder = temporary();
  RealFileSystem files;
  CHECK(files.open_append(folder.path()).error().code == ErrorCode::io);
  CHECK(files.open_append("/dev/null").error().cause == "it is not a regular file");
  const fs::path pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(files.open_append(pipe).ok());  // and does not hang
  CHECK(files.open_append(folder.path() / "no" / "log").error().code == ErrorCode::not_found);
}

TEST_CASE("a short write is cut back: a line is whole or absent", "[core][append][full]") {
  const auto folder = temporary();
  const fs::path path = folder.path() / "log";
  const int step = wb::testing::in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    RealFileSystem files;
    auto file = files.open_append(path);
    if (!file.ok() || !(*file)->append_synced(std::string(60, 'a')).ok()) return 1;
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 100;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    // 40 bytes fit, 60 were asked for.
    if (code_of((*file)->append_synced(std::string(60, 'b'))) != ErrorCode::no_space) return 3;
    if (fs::file_size(path) != 60 || (*file)->size_bytes() != 60) return 4;
    if (!(*file)->append_synced(std::string(40, 'c')).ok()) return 5;
    if ((*file)->append_synced("d").ok()) return 6;  // not one byte more
    if (fs::file_size(path) != 100) return 7;
    limit.rlim_cur = before;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 8;
    return (*file)->append_synced("e").ok() ? 0 : 9;
  });
  CHECK(step == 0);
  CHECK(*RealFileSystem().read(path, k_plenty) ==
        std::string(60, 'a') + std::string(40, 'c') + "e");
}

TEST_CASE("a full disk loses nothing that was logged", "[core][append][full]") {
  const auto folder = temporary();
  const int step = wb::testing::in_child([&] {
    // A name space of our own, so that the mount goes with this process.
    const int spaces = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (::unshare(spaces) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      return k_skipped;
    }
    RealFileSystem files;
    const fs::path path = folder.path() / "log";
    auto file = files.open_append(path);
    if (!file.ok()) return 1;
    const std::string line(5000, 'x');
    std::uint64_t logged = 0;
    wb::Result<void> result;
    while ((result = (*file)->append_synced(line)).ok()) logged += line.size();
    if (result.error().code != ErrorCode::no_space || logged == 0) return 2;
    if (fs::file_size(path) != logged || (*file)->size_bytes() != logged) return 3;
    if (code_of(files.write_atomic(folder.path() / "page", std::string(50'000, 'y'),
                                   wb::Durability::synced)) != ErrorCode::no_space)
      return 4;
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++entries;
    if (entries != 1) return 5;  // no temporary file stayed to fill the disk further
    if (!(*file)->truncate(5000).ok()) return 6;
    return (*file)->append_synced(line).ok() ? 0 : 7;
  });
  if (step == k_skipped) {
    WARN("skipped: cannot mount a small tmpfs here");
    return;
  }
  CHECK(step == 0);
}
