// SPDX-License-Identifier: MIT
// Clocks, and the promises of the file-system fakes that tests of higher floors rest on.
#include "core/clock.hpp"

#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/file_systems.hpp"

using namespace std::chrono;
using wb::Durability;
using wb::ErrorCode;
using wb::testing::FaultFileSystem;
using wb::testing::FileCall;
using wb::testing::MemoryFileSystem;

TEST_CASE("a time prints as ISO 8601 in UTC with milliseconds", "[core][clock]") {
  const auto text = [](milliseconds since_epoch) {
    return wb::to_iso8601(system_clock::time_point(since_epoch));
  };
  CHECK(text(0ms) == "1970-01-01T00:00:00.000Z");
  CHECK(text(951782399999ms) == "2000-02-28T23:59:59.999Z");
  CHECK(text(951782400000ms) == "2000-02-29T00:00:00.000Z");
  CHECK(text(1709210096007ms) == "2024-02-29T12:34:56.007Z");
  CHECK(text(-1ms) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("parts of a millisecond are cut, not rounded", "[core][clock]") {
  CHECK(wb::to_iso8601(system_clock::time_point(duration_cast<system_clock::duration>(999999us))) ==
        "1970-01-01T00:00:00.999Z");
}

TEST_CASE("a printed time is read back, and nothing else is", "[core][clock]") {
  for (const milliseconds since_epoch : {0ms, 1709210096007ms, 951782399999ms, -1ms}) {
    const system_clock::time_point time(since_epoch);
    CHECK(wb::parse_iso8601(wb::to_iso8601(time)) == time);
  }
  for (const char* text :
       {"", "2024-02-29T12:34:56Z", "2024-02-29 12:34:56.007Z", "2024-02-29T12:34:56.007",
        "2023-02-29T12:34:56.007Z", "2024-13-01T12:34:56.007Z", "2024-02-29T24:00:00.000Z",
        "2024-02-29T12:60:00.000Z", "2024-02-29T12:34:60.000Z", "2024-02-29T12:34:5x.007Z",
        "2024-02-29T12:34:56.007ZZ", "-024-02-29T12:34:56.007Z"}) {
    INFO(text);
    CHECK_FALSE(wb::parse_iso8601(text).has_value());
  }
}

TEST_CASE("the real clock goes on, the fake one only when told", "[core][clock]") {
  const wb::RealClock real;
  const auto before = real.steady_now();
  CHECK(real.steady_now() >= before);
  real.sleep(1ms);
  CHECK(real.steady_now() - before >= 1ms);
  CHECK(real.now() > system_clock::time_point(milliseconds(1700000000000)));

  wb::testing::FakeClock fake;
  CHECK(wb::to_iso8601(fake.now()) == "2026-01-02T03:04:05.678Z");
  const auto steady = fake.steady_now();
  fake.advance(2s);
  CHECK(wb::to_iso8601(fake.now()) == "2026-01-02T03:04:07.678Z");
  CHECK(fake.steady_now() - steady == 2s);
  fake.sleep(500ms);
  CHECK(wb::to_iso8601(fake.now()) == "2026-01-02T03:04:08.178Z");
  CHECK(fake.steady_now() - steady == 2500ms);
  fake.set_time_of_day(system_clock::time_point(0ms));
  CHECK(fake.steady_now() - steady == 2500ms);
}

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
