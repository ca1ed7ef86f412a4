// SPDX-License-Identifier: MIT
#include "core/writing.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "support/catch.hpp"
#include "support/processes.hpp"

using wb::Durability;
using wb::ErrorCode;
using wb::UnfinishedFolder;
using wb::Written;
using wb::testing::in_child;
namespace fs = std::filesystem;

namespace {

/// A folder of a test's own, and the verb's way to write in it.
struct Place {
  Place() : folder(*wb::TempDirectory::create("wb-writing-")) {}
  fs::path operator/(const char* name) const { return folder.path() / name; }
  wb::Result<void> write(const fs::path& path, std::string_view bytes,
                         const std::atomic<bool>* stop = nullptr) {
    return wb::write_output(files, path, bytes, Durability::none, stop);
  }
  std::string content(const fs::path& path) const { return *files.read(path, 1u << 20); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path()), {}));
  }
  wb::TempDirectory folder;
  wb::RealFileSystem files;
};

std::string all_read(const fs::path& path, std::size_t at_most = std::string::npos) {
  const wb::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> chunk{};
  while (text.size() < at_most) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return text;
}

ErrorCode write_fault(const wb::Result<void>& result) {
  REQUIRE_FALSE(result.ok());
  INFO(result.error().message());
  CHECK_FALSE(result.error().cause.empty());
  return result.error().code;
}

}  // namespace

TEST_CASE("a regular file is replaced as a whole, another name of it is not", "[core][writing]") {
  Place place;
  REQUIRE(place.write(place / "a", "old").ok());
  fs::create_hard_link(place / "a", place / "b");
  REQUIRE(place.write(place / "a", "new").ok());
  CHECK(place.content(place / "a") == "new");
  CHECK(place.content(place / "b") == "old");
  CHECK(place.entries() == 2);
}

TEST_CASE("links stay, and what they lead to is written", "[core][writing]") {
  Place place;
  fs::create_directory(place / "there");
  fs::create_symlink("there/second", place / "first");
  fs::create_symlink("../file", place / "there/second");
  for (const char* text : {"made", "replaced"}) {
    REQUIRE(place.write(place / "first", text).ok());
    CHECK(place.content(place / "file") == text);
  }
  CHECK(fs::is_symlink(place / "first"));
  CHECK(fs::is_symlink(place / "there/second"));
  fs::create_symlink("loop", place / "loop");
  CHECK(write_fault(place.write(place / "loop", "x")) == ErrorCode::not_found);
}

TEST_CASE("what cannot be output is refused by name", "[core][writing]") {
  Place place;
  fs::create_directory(place / "folder");
  CHECK(write_fault(place.write(place / "folder", "x")) == ErrorCode::usage);
  CHECK(write_fault(place.write(place / "none/", "x")) == ErrorCode::usage);
  CHECK(write_fault(place.write(place / "none/file", "x")) == ErrorCode::not_found);
  const wb::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (place / "socket").string();
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(write_fault(place.write(path, "x")) == ErrorCode::usage);
  CHECK(fs::is_socket(path));
}

TEST_CASE("a pipe is written through, and waits for its reader", "[core][writing]") {
  Place place;
  REQUIRE(::mkfifo((place / "pipe").c_str(), 0600) == 0);
  const std::string bytes(300'000, 'x');  // more than it holds
  std::string got;
  std::thread reader([&] { got = all_read(place / "pipe"); });
  const auto written = place.write(place / "pipe", bytes);
  reader.join();
  CHECK(written.ok());
  CHECK(got == bytes);
  CHECK(fs::is_fifo(place / "pipe"));
}

TEST_CASE("the wait for a reader ends with a stop", "[core][writing]") {
  Place place;
  REQUIRE(::mkfifo((place / "pipe").c_str(), 0600) == 0);
  std::atomic<bool> stop{true};
  CHECK(write_fault(place.write(place / "pipe", "x", &stop)) == ErrorCode::canceled);
  // A reader that takes nothing: the pipe is full, and nobody waits for ever.
  const wb::UniqueFd idle(::open((place / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  stop = false;
  std::thread stopper([&] {
    // What it holds shows that the write has begun; the rest finds no room.
    wb::testing::until([&] {
      int held = 0;
      return ::ioctl(idle.get(), FIONREAD, &held) == 0 && held > 0;
    });
    stop = true;
  });
  const auto written = place.write(place / "pipe", std::string(300'000, 'x'), &stop);
  stopper.join();
  CHECK(write_fault(written) == ErrorCode::canceled);
}

TEST_CASE("a reader that leaves is no error", "[core][writing]") {
  Place place;
  REQUIRE(::mkfifo((place / "pipe").c_str(), 0600) == 0);
  std::thread reader([&] { all_read(place / "pipe", 1); });
  CHECK(place.write(place / "pipe", std::string(300'000, 'x')).ok());
  reader.join();
}

TEST_CASE("devices are written through", "[core][writing]") {
  Place place;
  fs::create_symlink("/dev/null", place / "null");
  fs::create_symlink("/dev/full", place / "full");
  CHECK(place.write(place / "null", "x").ok());
  if (fs::exists("/dev/full")) {
    CHECK(write_fault(place.write(place / "full", "x")) == ErrorCode::no_space);
  }
  CHECK(fs::is_symlink(place / "null"));
  CHECK(fs::is_symlink(place / "full"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("standard output has one place, however it is named", "[core][writing]") {
  Place place;
  fs::create_symlink("/proc/self/fd/1", place / "link");
  const fs::path file = place / "out";
  CHECK(
      in_child([&] {
        ::close(1);
        if (::open(file.c_str(), O_WRONLY | O_CREAT, 0600) != 1) return 1;
        if (::write(1, "before ", 7) != 7) return 2;
        for (const fs::path& name : {fs::path("-"), fs::path("/proc/self/fd/1"), place / "link"}) {
          if (!wb::is_standard_output(name)) return 3;
          if (!place.write(name, "page ").ok()) return 4;
        }
        return ::write(1, "after", 5) == 5 ? 0 : 5;
      }) == 0);
  CHECK(place.content(file) == "before page page page after");
  CHECK_FALSE(wb::is_standard_output(file));
  CHECK_FALSE(wb::is_standard_output("/proc/self/fd/2"));
  CHECK_FALSE(wb::is_standard_output("./-"));
}

TEST_CASE("a file that we opened for ourselves is nobody's output", "[core][writing]") {
  Place place;
  const auto log = place.files.open_append(place / "log");
  REQUIRE(log.ok());
  int number = -1;
  for (int fd = 3; fd < 100 && number < 0; ++fd) {
    std::error_code none;
    const fs::path link = "/proc/self/fd/" + std::to_string(fd);
    if (fs::read_symlink(link, none) == fs::canonical(place / "log")) number = fd;
  }
  REQUIRE(number > 2);
  const std::string name = "/proc/self/fd/" + std::to_string(number);
  CHECK(write_fault(place.write(name, "foreign")) == ErrorCode::usage);
  CHECK(write_fault(place.write("/proc/self/fd/999", "foreign")) == ErrorCode::usage);
  CHECK(place.content(place / "log").empty());
}

TEST_CASE("a slow reader of a pipe that does not block gets all of it", "[core][writing]") {
  std::array<int, 2> ends{-1, -1};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const wb::UniqueFd read_end(ends[0]);
  wb::UniqueFd write_end(ends[1]);
  ::fcntl(write_end.get(), F_SETFL, O_NONBLOCK);
  const std::string bytes(300'000, 'x');
  std::string got;
  std::thread reader([&] {
    std::array<char, 4096> chunk{};
    ssize_t count = 0;
    while ((count = ::read(read_end.get(), chunk.data(), chunk.size())) > 0) {
      got.append(chunk.data(), static_cast<std::size_t>(count));
    }
  });
  const auto written = wb::write_all(write_end.get(), bytes, "a pipe");
  write_end.reset();
  reader.join();
  REQUIRE(written.ok());
  CHECK(*written == Written::all);
  CHECK(got == bytes);
}

TEST_CASE("a closed descriptor is an error, a reader that left is seen without SIGPIPE",
          "[core][writing]") {
  CHECK(in_child([] {
          ::signal(SIGPIPE, SIG_DFL);
          std::array<int, 2> ends{-1, -1};
          if (::pipe2(ends.data(), O_CLOEXEC) != 0) return 1;
          ::close(ends[0]);
          const auto left = wb::write_all(ends[1], "x", "a pipe");
          if (!left.ok() || *left != Written::reader_left) return 2;
          ::close(ends[1]);
          const auto closed = wb::write_all(ends[1], "x", "a pipe");
          return !closed.ok() && closed.error().code == ErrorCode::io ? 0 : 3;
        }) == 0);
}

TEST_CASE("a file in a folder where none can be made is overwritten", "[core][writing]") {
  Place place;
  constexpr int k_skipping = 99;
  constexpr uid_t k_nobody = 65534;
  const fs::path file = place / "file";
  REQUIRE(place.write(file, "longer than what comes").ok());
  ::chmod(file.c_str(), 0666);
  ::chmod(place.folder.path().c_str(), 0555);
  const int step = in_child([&] {
    if (::geteuid() == 0 && ::seteuid(k_nobody) != 0) return k_skipping;
    return place.write(file, "short").ok() ? 0 : 1;
  });
  ::chmod(place.folder.path().c_str(), 0755);
  if (step == k_skipping) return;  // root, and nobody else can be become
  CHECK(step == 0);
  CHECK(place.content(file) == "short");
}

namespace {

struct UnfinishedPlace {
  wb::TempDirectory folder = wb::TempDirectory::create("wb-unfinished-").value();
  fs::path root = folder.path();

  /// As a verb does that writes one file and then fails, or not.
  void fill(const fs::path& out, bool is_whole, bool takes_content = true) const {
    UnfinishedFolder made(out);
    if (!takes_content) made.leave_content();
    fs::create_directories(out);
    std::ofstream(out / "part") << "x";
    if (is_whole) made.keep();
  }
};

}  // namespace

TEST_CASE("what was not written whole goes away with the folders made for it", "[core]") {
  const UnfinishedPlace place;
  fs::create_directories(place.root / "here");
  place.fill(place.root / "here" / "a" / "b", false);
  CHECK(fs::is_empty(place.root / "here"));
  place.fill(place.root / "here" / "a" / "b", true);
  CHECK(fs::exists(place.root / "here" / "a" / "b" / "part"));
}

TEST_CASE("a folder that was there stays", "[core]") {
  const UnfinishedPlace place;
  fs::create_directories(place.root / "empty");
  place.fill(place.root / "empty", false);
  CHECK(fs::is_empty(place.root / "empty"));

  fs::create_directories(place.root / "used");
  std::ofstream(place.root / "used" / "old") << "x";
  place.fill(place.root / "used", false);
  CHECK(fs::exists(place.root / "used" / "old"));
  CHECK(fs::exists(place.root / "used" / "part"));
}

TEST_CASE("folders above stay where others have put something", "[core]") {
  const UnfinishedPlace place;
  {
    UnfinishedFolder made(place.root / "a" / "b");
    fs::create_directories(place.root / "a" / "b");
    std::ofstream(place.root / "a" / "of others") << "x";
  }
  CHECK_FALSE(fs::exists(place.root / "a" / "b"));
  CHECK(fs::exists(place.root / "a" / "of others"));
  place.fill(place.root / "c", false, false);
  CHECK(fs::exists(place.root / "c" / "part"));
}

TEST_CASE("relative names and a slash at the end are no matter", "[core]") {
  const UnfinishedPlace place;
  const fs::path before = fs::current_path();
  fs::current_path(place.root);
  place.fill("x/y/", false);
  place.fill("./z", false);
  fs::current_path(before);
  CHECK(fs::is_empty(place.root));
}
