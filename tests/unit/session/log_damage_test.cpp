// SPDX-License-Identifier: MIT
// Opening a damaged events.jsonl: torn tails are cut and saved, anything else is refused with its
// line number.
#include <algorithm>

#include "core/hash.hpp"
#include "session/log.hpp"
#include "session/log_reader.hpp"
#include "support/file_systems.hpp"
#include "support/torture.hpp"
#include "unit/session/example_session.hpp"
#include "unit/session/scratch.hpp"

using namespace wb;
using namespace wb::session;
using namespace wb::testing;

namespace {

constexpr int k_lines = 8;

/// The bytes of a log of k_lines events.
std::string example_log() {
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  EventLog log = must(EventLog::create(files, clock, scratch.path()));
  for (int i = 1; i <= k_lines; ++i) {
    must(log.append(i % 2 == 0 ? "note" : "turn_measured",
                    {{"text", "event " + std::to_string(i)}, {"iteration", i}}));
  }
  return slurp(scratch / "events.jsonl");
}

/// That log, or under `make torture` the one of a whole session, with lines as long as they get.
std::string damaged_soon() {
  if (!torture()) return example_log();
  const Scratch scratch;
  RealFileSystem files;
  FakeClock clock;
  must(run_example(files, clock, scratch / "s"));
  return slurp(scratch / "s" / "events.jsonl");
}

struct Opened {
  std::optional<ErrorCode> refused;
  std::string message;
  std::int64_t events = 0;
  std::optional<Recovery> recovery;
};

Opened open_owner(const fs::path& folder) {
  RealFileSystem files;
  const FakeClock clock;
  const auto log = EventLog::open_owner(files, clock, folder);
  if (!log.ok()) return {log.error().code, log.error().message(), 0, std::nullopt};
  return {std::nullopt, "", log->size(), log->recovery()};
}

std::size_t offset_of_line(const std::string& text, int line) {
  std::size_t at = 0;
  for (int i = 1; i < line; ++i) at = text.find('\n', at) + 1;
  return at;
}

}  // namespace

TEST_CASE("a log cut at any byte of its last three lines opens with the whole lines",
          "[session][log][recovery]") {
  Points points("A2 cut");
  const std::string whole = damaged_soon();
  const auto lines = static_cast<int>(std::count(whole.begin(), whole.end(), '\n'));
  const Scratch scratch;
  const fs::path path = scratch / "events.jsonl";
  int cuts = 0;
  for (std::size_t length = offset_of_line(whole, lines - 2); length <= whole.size(); ++length) {
    points.begin();
    const std::string text = whole.substr(0, length);
    const auto kept = std::count(text.begin(), text.end(), '\n');
    const std::size_t torn = length - (text.rfind('\n') + 1);
    spill(path, text);
    INFO("cut at " << length);
    // A reader leaves the file alone: its owner may be writing that line.
    RealFileSystem files;
    REQUIRE(must(EventLog::open_reader(files, scratch.path())).size() == kept);
    REQUIRE(slurp(path) == text);

    const Opened opened = open_owner(scratch.path());
    REQUIRE_FALSE(opened.refused);
    REQUIRE(opened.events == kept);
    REQUIRE(slurp(path) == text.substr(0, length - torn));
    REQUIRE(opened.recovery.has_value() == (torn > 0));
    if (torn > 0) {
      REQUIRE(opened.recovery->cut_bytes == torn);
      REQUIRE(slurp(scratch / opened.recovery->saved_as) == text.substr(length - torn));
      ++cuts;
    }
    // What was mended is whole the next time.
    REQUIRE_FALSE(open_owner(scratch.path()).recovery);
    points.pass();
  }
  CHECK(cuts > 300);
}

TEST_CASE("every flipped bit of a line in the middle is found", "[session][log][recovery]") {
  Points points("A2 flip");
  const std::string whole = damaged_soon();
  const int line = torture() ? 14 : 4;
  const Scratch scratch;
  const fs::path path = scratch / "events.jsonl";
  const std::size_t begin = offset_of_line(whole, line);
  const std::size_t end = offset_of_line(whole, line + 1);  // with the line's own newline
  int found = 0;
  for (std::size_t at = begin; at < end; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string text = whole;
      text[at] = static_cast<char>(text[at] ^ (1 << bit));
      spill(path, text);
      INFO("byte " << at - begin << " bit " << bit);
      points.begin();
      const Opened opened = open_owner(scratch.path());
      REQUIRE(opened.refused == ErrorCode::damaged);
      // Named by its own line, or by the next, whose prev does not agree.
      const auto names = [&](int number) {
        return opened.message.find("line " + std::to_string(number)) != std::string::npos;
      };
      const bool names_line = names(line) || names(line + 1);
      REQUIRE(names_line);
      REQUIRE(slurp(path) == text);
      points.pass();
      ++found;
    }
  }
  CHECK(found > 1000);
}

TEST_CASE("a flipped bit in the last line is never taken for a torn tail silently",
          "[session][log][recovery]") {
  const std::string whole = example_log();
  const Scratch scratch;
  const fs::path path = scratch / "events.jsonl";
  const std::size_t envelope_end = whole.find("\"payload\"", offset_of_line(whole, k_lines));
  for (std::size_t at = offset_of_line(whole, k_lines); at < envelope_end; at += 3) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 0x80);
    spill(path, text);
    const Opened opened = open_owner(scratch.path());
    INFO("byte " << at);
    REQUIRE(opened.refused == ErrorCode::damaged);
    REQUIRE(opened.message.find("line 8") != std::string::npos);
  }
}

TEST_CASE("damage in the middle says where and what to do", "[session][log][recovery]") {
  const std::string whole = example_log();
  const std::vector<std::string> lines = lines_of(whole);
  const auto joined = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& line : list) text += line + "\n";
    return text;
  };
  const auto changed = [&](auto change) {
    std::vector<std::string> list = lines;
    change(list);
    return joined(list);
  };
  struct Case {
    const char* what;
    std::string text;
    const char* line;
  };
  const std::vector<Case> cases{
      {"a line doubled", changed([](auto& l) { l.insert(l.begin() + 3, l[2]); }), "line 4"},
      {"a line removed", changed([](auto& l) { l.erase(l.begin() + 2); }), "line 3"},
      {"two lines exchanged", changed([](auto& l) { std::swap(l[2], l[3]); }), "line 3"},
      {"an empty line", changed([](auto& l) { l.insert(l.begin() + 2, ""); }), "line 3"},
      {"garbage", changed([](auto& l) { l[2] = "\x01\x02 garbage"; }), "line 3"},
      {"JSON of another kind", changed([](auto& l) { l[2] = R"({"hello":1})"; }), "line 3"},
      {"zeros in the middle", changed([](auto& l) { l[2] = std::string(50, '\0'); }), "line 3"},
      {"a line too long", changed([](auto& l) { l[2] = std::string(70'000, 'x'); }), "line 3"},
      {"the first line gone", changed([](auto& l) { l.erase(l.begin()); }), "line 1"},
      {"a foreign first line", changed([](auto& l) { l[0].replace(20, 4, "ffff"); }), "line 1"},
      {"a byte order mark", "\xef\xbb\xbf" + whole, "line 1"},
      {"carriage returns", changed([](auto& l) {
         for (auto& x : l) x += "\r";
       }),
       "line 1"},
      {"an endless last line", whole + std::string(70'000, 'x'), "line 9"},
      {"a foreign line at the end", whole + "hello\n", "line 9"},
  };
  const Scratch scratch;
  for (const Case& c : cases) {
    INFO(c.what);
    spill(scratch / "events.jsonl", c.text);
    const Opened opened = open_owner(scratch.path());
    REQUIRE(opened.refused == ErrorCode::damaged);
    CHECK(opened.message.find(c.line) != std::string::npos);
    CHECK(opened.message.find("copy") != std::string::npos);
    CHECK(opened.message.find('\n') == std::string::npos);
    CHECK(slurp(scratch / "events.jsonl") == c.text);
    RealFileSystem files;
    CHECK(EventLog::open_reader(files, scratch.path()).error().code == ErrorCode::damaged);
  }
}

TEST_CASE("a hole that a power cut left in the last write is a torn tail",
          "[session][log][recovery]") {
  const std::string whole = example_log();
  const Scratch scratch;
  const std::size_t last = offset_of_line(whole, k_lines);
  const std::string tails[] = {
      std::string(300, '\0'),                                     // nothing arrived
      whole.substr(last, 40) + std::string(60, '\0') + "\"}}\n",  // a page is missing
      std::string(100, '\0') + whole.substr(last + 100),          // the first page is missing
      whole.substr(last, 100) + std::string(whole.size() - last - 100, '\0')};
  for (const std::string& tail : tails) {
    spill(scratch / "events.jsonl", whole.substr(0, last) + tail);
    const Opened opened = open_owner(scratch.path());
    INFO(opened.message);
    REQUIRE_FALSE(opened.refused);
    CHECK(opened.events == k_lines - 1);
    REQUIRE(opened.recovery);
    CHECK(opened.recovery->cut_bytes == tail.size());
    CHECK(slurp(scratch / opened.recovery->saved_as) == tail);
  }
}

TEST_CASE("a log that is empty or torn in its first line is an empty log",
          "[session][log][recovery]") {
  const std::string whole = example_log();
  const Scratch scratch;
  for (const std::string& text : {std::string(), std::string("{"), whole.substr(0, 60)}) {
    spill(scratch / "events.jsonl", text);
    const Opened opened = open_owner(scratch.path());
    CHECK_FALSE(opened.refused);
    CHECK(opened.events == 0);
    CHECK(opened.recovery.has_value() == !text.empty());
  }
}

TEST_CASE("a recovery that fails half-way changes nothing and can be made again",
          "[session][log][recovery]") {
  const std::string whole = example_log();
  const std::string torn = whole.substr(0, whole.size() - 17);
  RealFileSystem real;
  const FakeClock clock;
  for (const FileCall call : {FileCall::write_atomic, FileCall::truncate, FileCall::read}) {
    const Scratch scratch;
    spill(scratch / "events.jsonl", torn);
    FaultFileSystem files(real);
    files.add({call, 1, ErrorCode::no_space});
    const auto failed = EventLog::open_owner(files, clock, scratch.path());
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().code == ErrorCode::no_space);
    CHECK(slurp(scratch / "events.jsonl") == torn);
    const Opened opened = open_owner(scratch.path());
    REQUIRE(opened.recovery);
    CHECK(opened.events == k_lines - 1);
    // The tail was saved once, under the same name both times.
    int saved = 0;
    for (const auto& entry : fs::directory_iterator(scratch.path())) {
      saved += entry.path().filename().string().starts_with("events.torn-") ? 1 : 0;
    }
    CHECK(saved == 1);
  }
}
