// SPDX-License-Identifier: MIT
#include "session/log.hpp"
#include "core/json.hpp"

#include <zlib.h>

#include <cmath>

#include "core/hash.hpp"
#include "session/log_reader.hpp"
#include "support/file_systems.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

EventLog new_log(const Scratch& scratch, FileSystem& files, const Clock& clock) {
  return must(EventLog::create(files, clock, scratch.path()));
}

/// One more line that continues the chain of the file.
void add_line(const fs::path& path, const std::string& type, int v, const std::string& payload) {
  const std::vector<std::string> lines = lines_of(slurp(path));
  const std::string prev = lines.empty() ? std::string(k_no_hash) : sha256_hex(lines.back());
  spill(path, slurp(path) + "{\"seq\":" + std::to_string(lines.size() + 1) + ",\"prev\":\"" + prev +
                  "\",\"t\":\"2026-01-02T03:04:05.678Z\",\"type\":\"" + type +
                  "\",\"v\":" + std::to_string(v) + ",\"payload\":" + payload + "}\n");
}

/// As `gzip -n events.jsonl` does.
void pack(const fs::path& log) {
  const std::string text = slurp(log);
  const gzFile packed = gzopen((log.string() + ".gz").c_str(), "wb");
  REQUIRE(packed != nullptr);
  REQUIRE(gzwrite(packed, text.data(), static_cast<unsigned>(text.size())) ==
          static_cast<int>(text.size()));
  REQUIRE(gzclose(packed) == Z_OK);
  fs::remove(log);
}

}  // namespace

TEST_CASE("a packed log is read, and never written", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  {
    EventLog log = new_log(scratch, files, clock);
    for (int i = 0; i < 500; ++i) must(log.append("note", {{"text", std::string(900, 'x')}}));
  }
  const std::string text = slurp(scratch / "events.jsonl");
  pack(scratch / "events.jsonl");
  EventLog log = must(EventLog::open_reader(files, scratch.path()));
  CHECK(log.size() == 500);
  CHECK(log.text(500) == text);
  CHECK(log.append("note", Json::object()).error().code == ErrorCode::read_only);

  const auto owned = EventLog::open_owner(files, clock, scratch.path());
  REQUIRE_FALSE(owned.ok());
  CHECK(owned.error().code == ErrorCode::read_only);
  CHECK(owned.error().message().find("gunzip") != std::string::npos);
  CHECK_FALSE(fs::exists(scratch / "events.jsonl"));

  // What was cut off, or changed, is said; a log beside it is the one that counts.
  const std::string packed = slurp(scratch / "events.jsonl.gz");
  spill(scratch / "events.jsonl.gz", packed.substr(0, packed.size() - 9));
  CHECK(EventLog::open_reader(files, scratch.path()).error().code == ErrorCode::damaged);
  std::string changed = packed;
  changed[packed.size() - 6] = static_cast<char>(~changed[packed.size() - 6]);
  spill(scratch / "events.jsonl.gz", changed);
  CHECK(EventLog::open_reader(files, scratch.path()).error().code == ErrorCode::damaged);
  spill(scratch / "events.jsonl", lines_of(text).front() + "\n");
  CHECK(must(EventLog::open_reader(files, scratch.path())).size() == 1);
}

TEST_CASE("what is appended is read back", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  {
    EventLog log = new_log(scratch, files, clock);
    CHECK(log.size() == 0);
    CHECK(log.head() == std::string(64, '0'));
    CHECK(must(log.append("note", {{"text", "one"}})) == 1);
    clock.advance(std::chrono::milliseconds(1500));
    CHECK(must(log.append("note", {{"text", "two, \u00e4 \n \"quoted\""}})) == 2);
    CHECK(log.event(2)->payload["text"] == "two, \u00e4 \n \"quoted\"");
    CHECK(log.event(1)->t == "2026-01-02T03:04:05.678Z");
    CHECK(log.event(2)->t == "2026-01-02T03:04:07.178Z");
  }
  const std::string text = slurp(scratch / "events.jsonl");
  const std::vector<std::string> lines = lines_of(text);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("{\"seq\":1,\"prev\":\"" + std::string(64, '0') + "\",\"t\":\"2026-"));
  CHECK(lines[1].find("\"prev\":\"" + sha256_hex(lines[0]) + "\"") != std::string::npos);

  EventLog log = must(EventLog::open_owner(files, clock, scratch.path()));
  CHECK_FALSE(log.recovery());
  CHECK(log.size() == 2);
  CHECK(log.head() == sha256_hex(lines[1]));
  CHECK(log.line_hash(1) == sha256_hex(lines[0]));
  CHECK(log.text(1) == lines[0] + "\n");
  CHECK(log.text(2) == text);
  CHECK(must(log.append("note", {{"text", "three"}})) == 3);
  CHECK(must(EventLog::open_reader(files, scratch.path())).size() == 3);
}

TEST_CASE("views of an envelope live on while the log grows", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  EventLog log = new_log(scratch, files, clock);
  must(log.append("first_one", {{"text", "stays"}}));
  const EventEnvelope first = log.envelope(1);
  for (int i = 0; i < 60; ++i) must(log.append("note", {{"text", std::string(40'000, 'x')}}));
  EventLog moved = std::move(log);
  must(moved.append("note", Json::object()));
  CHECK(first.type == "first_one");
  CHECK(first.payload_text == R"({"text":"stays"})");
  CHECK(moved.event(30)->payload["text"].get<std::string>().size() == 40'000);
}

TEST_CASE("a line holds 64 KiB and not a byte more", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  EventLog log = new_log(scratch, files, clock);
  must(log.append("note", {{"text", ""}}));
  const std::size_t overhead = slurp(scratch / "events.jsonl").size() - 1;
  const std::size_t room = k_max_event_line_bytes - overhead;
  const auto too_long = log.append("note", {{"text", std::string(room + 1, 'x')}});
  REQUIRE_FALSE(too_long.ok());
  CHECK(too_long.error().code == ErrorCode::limit);
  CHECK(too_long.error().message().find("blob") != std::string::npos);
  CHECK(log.size() == 1);
  must(log.append("note", {{"text", std::string(room, 'x')}}));
  CHECK(lines_of(slurp(scratch / "events.jsonl"))[1].size() == k_max_event_line_bytes);
  CHECK(must(EventLog::open_reader(files, scratch.path())).size() == 2);
}

TEST_CASE("what could not be read back is not written", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  EventLog log = new_log(scratch, files, clock);
  Json deep = Json::object();
  for (int i = 0; i < k_max_payload_depth - 1; ++i) deep = Json{{"d", deep}};
  CHECK(log.append("note", deep).ok());
  CHECK(log.append("note", Json{{"d", deep}}).error().code == ErrorCode::limit);
  CHECK(log.append("note", Json::array({1})).error().code == ErrorCode::invalid);
  CHECK(log.append("note", {{"text", std::string("a\0b", 3)}}).error().code == ErrorCode::invalid);
  CHECK(log.append("note", {{"text", "a \\u0000 spelled out"}}).ok());
  for (const char* type : {"", "Note", "two words", "a\"b", "a\nb"}) {
    CHECK(log.append(type, Json::object()).error().code == ErrorCode::invalid);
  }
  CHECK(log.append(std::string(65, 'a'), Json::object()).error().code == ErrorCode::invalid);
  // Text that is not UTF-8 and figures that are not finite have a fixed meaning.
  must(log.append("note", {{"text", "broken \xff\xfe"}, {"figure", std::nan("")}}));
  const EventLog again = must(EventLog::open_reader(files, scratch.path()));
  CHECK(again.size() == log.size());
  const Event last = must(again.event(again.size()));
  CHECK(last.payload["text"] == "broken \ufffd\ufffd");
  CHECK(last.payload["figure"].is_null());
  for (std::int64_t seq = 1; seq <= again.size(); ++seq) CHECK(again.event(seq).ok());
}

TEST_CASE("one owner, any number of readers", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  EventLog log = new_log(scratch, files, clock);
  must(log.append("note", {{"text", "one"}}));
  const auto second = EventLog::open_owner(files, clock, scratch.path());
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code == ErrorCode::locked);
  CHECK(second.error().message().find(std::to_string(::getpid())) != std::string::npos);
  EventLog reader = must(EventLog::open_reader(files, scratch.path()));
  CHECK(reader.size() == 1);
  CHECK(reader.append("note", Json::object()).error().code == ErrorCode::read_only);
  must(log.append("note", {{"text", "two"}}));
  CHECK(reader.size() == 1);
}

TEST_CASE("create and open refuse what is not theirs", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  CHECK(EventLog::open_owner(files, clock, scratch.path()).error().code == ErrorCode::not_found);
  CHECK(EventLog::open_reader(files, scratch.path()).error().code == ErrorCode::not_found);
  CHECK_FALSE(fs::exists(scratch / "events.jsonl"));
  new_log(scratch, files, clock);
  CHECK(EventLog::create(files, clock, scratch.path()).error().code == ErrorCode::invalid);

  // A link must not make us write elsewhere.
  const fs::path linked = scratch / "linked";
  fs::create_directories(linked);
  fs::create_symlink(scratch / "events.jsonl", linked / "events.jsonl");
  CHECK(EventLog::open_owner(files, clock, linked).error().code == ErrorCode::invalid);
  CHECK(EventLog::create(files, clock, linked).error().code == ErrorCode::invalid);
  fs::remove(linked / "events.jsonl");
  fs::create_directory(linked / "events.jsonl");
  CHECK(EventLog::open_reader(files, linked).error().code == ErrorCode::invalid);
}

TEST_CASE("unknown types are kept, higher versions are read but not written to", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  { must(new_log(scratch, files, clock).append("note", {{"text", "one"}})); }
  const fs::path path = scratch / "events.jsonl";
  add_line(path, "dream_dreamt", 1, R"({"of":"sheep"})");
  {
    EventLog log = must(EventLog::open_owner(files, clock, scratch.path()));
    CHECK(log.event(2)->type == "dream_dreamt");
    CHECK(log.event(2)->payload["of"] == "sheep");
    must(log.append("note", Json::object()));
  }
  add_line(path, "note", 2, R"({"text":{"rich":true}})");
  const auto owner = EventLog::open_owner(files, clock, scratch.path());
  REQUIRE_FALSE(owner.ok());
  CHECK(owner.error().code == ErrorCode::too_new);
  CHECK(owner.error().message().find("event 4") != std::string::npos);
  const EventLog reader = must(EventLog::open_reader(files, scratch.path()));
  CHECK(reader.size() == 4);
  CHECK(reader.envelope(4).v == 2);
}

TEST_CASE("each type has its version, and an owner goes on from the one before", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  { must(new_log(scratch, files, clock).append("note", {{"text", "one"}})); }
  const fs::path path = scratch / "events.jsonl";
  add_line(path, "hypothesis_decided", 1, R"({"iteration":1,"state":"supported"})");
  {
    EventLog log = must(EventLog::open_owner(files, clock, scratch.path()));
    must(log.append("hypothesis_decided", {{"iteration", 2}}));
    CHECK(log.envelope(1).v == 1);
    CHECK(log.envelope(2).v == 1);
    CHECK(log.envelope(3).v == 2);
  }
  must(EventLog::open_owner(files, clock, scratch.path()));
  add_line(path, "hypothesis_decided", 3, R"({"iteration":3})");
  CHECK(EventLog::open_owner(files, clock, scratch.path()).error().code == ErrorCode::too_new);
}

TEST_CASE("a payload that is no JSON is found when it is asked for", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  { must(new_log(scratch, files, clock).append("note", {{"text", "one"}})); }
  const fs::path path = scratch / "events.jsonl";
  for (const char* payload : {R"({"a":})", R"({"a":1,"a":2})", R"({"a":[}})", "{\"a\":\"\x01\"}"}) {
    add_line(path, "note", 1, payload);
  }
  const EventLog log = must(EventLog::open_owner(files, clock, scratch.path()));
  CHECK(log.event(1).ok());
  for (std::int64_t seq = 2; seq <= 5; ++seq) {
    const auto payload = log.payload(seq);
    REQUIRE_FALSE(payload.ok());
    CHECK(payload.error().code == ErrorCode::damaged);
    CHECK(payload.error().message().find("event " + std::to_string(seq)) != std::string::npos);
    CHECK_FALSE(log.event(seq).ok());
  }
  CHECK(log.payload(6).error().code == ErrorCode::not_found);
  CHECK(log.payload(0).error().code == ErrorCode::not_found);
  CHECK_THROWS_AS(log.envelope(6), std::out_of_range);
}

TEST_CASE("a failed append leaves the log as it was", "[session][log]") {
  const Scratch scratch;
  RealFileSystem real;
  FaultFileSystem files(real);
  FakeClock clock;
  EventLog log = new_log(scratch, files, clock);
  must(log.append("note", {{"text", "one"}}));
  files.add({FileCall::append, 2, ErrorCode::no_space});
  const std::string before = slurp(scratch / "events.jsonl");
  const auto refused = log.append("note", {{"text", "lost"}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::no_space);
  CHECK(log.size() == 1);
  CHECK(slurp(scratch / "events.jsonl") == before);
  CHECK(must(log.append("note", {{"text", "two"}})) == 2);
  CHECK(must(EventLog::open_reader(real, scratch.path())).event(2)->payload["text"] == "two");
}

TEST_CASE("a reader catches up with what others append", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  EventLog owner = new_log(scratch, files, clock);
  must(owner.append("note", {{"text", "one"}}));
  EventLog reader = must(EventLog::open_reader(files, scratch.path()));
  CHECK(must(reader.catch_up(files)));
  CHECK(reader.size() == 1);
  for (int i = 0; i < 3'000; ++i) must(owner.append("note", {{"text", std::string(900, 'x')}}));
  CHECK(must(reader.catch_up(files)));
  CHECK(reader.size() == 3'001);
  CHECK(reader.head() == owner.head());
  CHECK(reader.text(3'001) == slurp(scratch / "events.jsonl"));
  CHECK(must(owner.catch_up(files)));

  // A line that is still being written is no event yet.
  const std::string whole = slurp(scratch / "events.jsonl");
  add_line(scratch / "events.jsonl", "note", 1, R"({"text":"last"})");
  const std::string longer = slurp(scratch / "events.jsonl");
  spill(scratch / "events.jsonl", longer.substr(0, longer.size() - 5));
  CHECK(must(reader.catch_up(files)));
  CHECK(reader.size() == 3'001);
  spill(scratch / "events.jsonl", longer);
  CHECK(must(reader.catch_up(files)));
  CHECK(reader.size() == 3'002);
  CHECK(must(reader.payload(3'002))["text"] == "last");
}

TEST_CASE("a reader does not catch up with another log, or a changed one", "[session][log]") {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  {
    EventLog log = new_log(scratch, files, clock);
    for (int i = 0; i < 20; ++i) must(log.append("note", {{"text", "same length"}}));
  }
  const fs::path path = scratch / "events.jsonl";
  const std::string text = slurp(path);
  const auto after = [&](const std::string& now) {
    spill(path, text);
    EventLog reader = must(EventLog::open_reader(files, scratch.path()));
    spill(path, now);
    // Clocks of file systems may be coarse: no two writes of a test within one tick.
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
    return reader.catch_up(files);
  };
  CHECK_FALSE(must(after(text.substr(0, text.size() / 2))));  // cut
  std::string edited = text;
  edited[edited.find("same")] = 'S';
  CHECK_FALSE(must(after(edited)));
  CHECK_FALSE(must(after(edited + "x\n")));
  CHECK_FALSE(must(after("")));
  // Lines that do not go on from the last one are damage, and the reader stays as it was.
  const auto broken = after(text + lines_of(text).front() + "\n");
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().code == ErrorCode::damaged);

  spill(path, text);
  EventLog reader = must(EventLog::open_reader(files, scratch.path()));
  fs::remove(path);
  CHECK_FALSE(must(reader.catch_up(files)));
  spill(path, text);
  EventLog unpacked = must(EventLog::open_reader(files, scratch.path()));
  pack(path);
  CHECK_FALSE(must(unpacked.catch_up(files)));
  EventLog packed = must(EventLog::open_reader(files, scratch.path()));
  CHECK(must(packed.catch_up(files)));
  spill(path, text);  // beside the packed one: it is the one that counts
  CHECK_FALSE(must(packed.catch_up(files)));
}
