// SPDX-License-Identifier: MIT
// The fakes of the file-system seam keep the promises that tests of higher floors rest on.
#include "support/catch.hpp"
#include "support/fault_file_system.hpp"
#include "support/memory_file_system.hpp"

using wb::Durability;
using wb::ErrorCode;
using wb::testing::FaultFileSystem;
using wb::testing::FileCall;
using wb::testing::MemoryFileSystem;

TEST_CASE("the file system in memory follows the rules of the real one", "[core][fakes]") {
  MemoryFileSystem files;
  CHECK(files.read("/s/a", 10).error().code == ErrorCode::not_found);
  CHECK(files.write_atomic("/s/a", "x", Durability::synced).error().code == ErrorCode::not_found);
  REQUIRE(files.make_directories("/s/t/").ok());
  REQUIRE(files.write_atomic("/s/t/../a", "abc", Durability::synced).ok());
  CHECK(*files.read("/s/a", 3) == "abc");
  CHECK(files.read("/s/a", 2).error().code == ErrorCode::limit);
  CHECK_FALSE(files.make_directories("/s/a/b").ok());
  {
    auto log = files.open_append("/s/log");
    REQUIRE(log.ok());
    CHECK(files.open_append("/s/log").error().code == ErrorCode::locked);
    CHECK((*log)->append_synced("one\n").ok());
    CHECK((*log)->truncate(9).error().code == ErrorCode::invalid);
    CHECK((*log)->truncate(3).ok());
    CHECK((*log)->size_bytes() == 3);
  }
  CHECK(files.open_append("/s/log").ok());
  CHECK(files.content("/s/log") == "one");
}

TEST_CASE("the Nth call fails as planned and leaves the file alone", "[core][fakes]") {
  MemoryFileSystem memory;
  FaultFileSystem files(memory);
  files.add({.call = FileCall::append, .nth = 2, .code = ErrorCode::no_space});
  files.add({.call = FileCall::write_atomic, .nth = 1, .code = ErrorCode::io, .stays = true});
  auto log = files.open_append("log");
  REQUIRE(log.ok());
  CHECK((*log)->append_synced("one\n").ok());
  CHECK((*log)->append_synced("two\n").error().code == ErrorCode::no_space);
  CHECK((*log)->append_synced("three\n").ok());
  CHECK(memory.content("log") == "one\nthree\n");
  CHECK(files.calls(FileCall::append) == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(files.write_atomic("a", "x", Durability::none).error().code == ErrorCode::io);
  }
  CHECK_FALSE(memory.contains("a"));
  files.clear();
  CHECK(files.write_atomic("a", "x", Durability::none).ok());
  CHECK(*files.read("a", 9) == "x");
}

TEST_CASE("a torn append leaves its first bytes and ends the file's use", "[core][fakes]") {
  MemoryFileSystem memory;
  FaultFileSystem files(memory);
  files.add({.call = FileCall::append, .nth = 2, .code = ErrorCode::io, .torn_bytes = 3});
  auto log = files.open_append("log");
  REQUIRE(log.ok());
  CHECK((*log)->append_synced("one\n").ok());
  CHECK((*log)->append_synced("two\n").error().code == ErrorCode::io);
  CHECK((*log)->append_synced("three\n").error().code == ErrorCode::io);
  CHECK(memory.content("log") == "one\ntwo");
}

TEST_CASE("every kind of call can be made to fail", "[core][fakes]") {
  MemoryFileSystem memory;
  FaultFileSystem files(memory);
  auto log = files.open_append("log");
  REQUIRE(log.ok());
  for (const auto call :
       {FileCall::read, FileCall::make_directories, FileCall::open_append, FileCall::truncate}) {
    files.add({.call = call, .nth = 1, .code = ErrorCode::read_only, .stays = true});
  }
  CHECK(files.read("log", 9).error().code == ErrorCode::read_only);
  CHECK(files.make_directories("d").error().code == ErrorCode::read_only);
  CHECK(files.open_append("b").error().code == ErrorCode::read_only);
  CHECK((*log)->truncate(0).error().code == ErrorCode::read_only);
}
