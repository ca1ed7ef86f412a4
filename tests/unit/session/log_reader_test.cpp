// SPDX-License-Identifier: MIT
#include "session/log_reader.hpp"
#include "core/json.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::session;
using State = IntegerMember::State;

TEST_CASE("the envelope scanner takes exactly what the log writes", "[session][log_reader]") {
  const std::string prev(64, '0');
  const std::string good =
      R"({"seq":7,"prev":")" + prev +
      R"(","t":"2026-11-20T18:03:22.123Z","type":"note","v":1,"payload":{"a":1}})";
  const auto scanned = scan_line(good);
  REQUIRE(scanned);
  CHECK(scanned->envelope.seq == 7);
  CHECK(scanned->envelope.t == "2026-11-20T18:03:22.123Z");
  CHECK(scanned->envelope.type == "note");
  CHECK(scanned->envelope.v == 1);
  CHECK(scanned->envelope.payload_text == R"({"a":1})");
  CHECK(scanned->prev == prev);

  const auto without = [&](const std::string& what, const std::string& instead) {
    std::string line = good;
    line.replace(line.find(what), what.size(), instead);
    return line;
  };
  for (const std::string& bad : {std::string(),
                                 std::string("{}"),
                                 good.substr(1),
                                 good + " ",
                                 good.substr(0, good.size() - 1),
                                 without("\"seq\":7", "\"seq\":07"),
                                 without("\"seq\":7", "\"seq\":-7"),
                                 without("\"seq\":7", "\"seq\":7.0"),
                                 without("\"seq\":7", "\"seq\": 7"),
                                 without("\"seq\":7", "\"seq\":99999999999999999999"),
                                 without("\"v\":1", "\"v\":0"),
                                 without("\"v\":1", "\"v\":99999999999"),
                                 without("note", ""),
                                 without("note", "No te"),
                                 without("000\"", "00g\""),
                                 without("000\"", "00\""),
                                 without("2026", "20x6"),
                                 without("{\"a\":1}", "[1]"),
                                 without("{\"a\":1}", "1"),
                                 without("\"a\":1", std::string(k_max_event_line_bytes, 'x'))}) {
    INFO(bad.substr(0, 200));
    CHECK_FALSE(scan_line(bad));
  }
}

TEST_CASE("a number is found at the object's own level only", "[session][log_reader]") {
  const auto find = [](std::string_view text) { return find_number_member(text, "wall_us"); };
  CHECK(find(R"({"samples_us":[1.5,2],"wall_us":1250.5})").value() == 1250.5);
  CHECK(find(R"({"wall_us":3,"z":1})").value() == 3.0);
  for (const char* text : {"", "{}", R"({"a":{"wall_us":1}})", R"({"wall_us":null})",
                           R"({"wall_us":"1"})", R"({"wall_us":1)", R"({"wall_us":1x})"}) {
    INFO(text);
    CHECK_FALSE(find(text));
  }
}

TEST_CASE("an integer member is found at the object's own level only", "[session][log_reader]") {
  const auto find = [](std::string_view text) { return find_integer_member(text, "iteration"); };
  const auto value = [&](std::string_view text) {
    const IntegerMember member = find(text);
    CHECK(member.state == State::found);
    return member.value;
  };
  CHECK(value(R"({"iteration":3})") == 3);
  CHECK(value(R"({"iteration":-3})") == -3);
  CHECK(value(R"({"a":[1,{"iteration":9}],"b":{"iteration":8},"iteration":3,"z":[]})") == 3);
  CHECK(value(R"({"a":"\"iteration\":7,","b":"}\\","iteration":12})") == 12);
  CHECK(value(R"({"a":1.5e3,"b":null,"c":true,"iteration":0})") == 0);

  for (const char* text : {R"({})", R"({"a":1})", R"({"a":{"iteration":1}})",
                           R"({"iteration":null})", R"({"a":"iteration"})"}) {
    INFO(text);
    CHECK(find(text).state == State::absent_or_null);
  }
  for (const char* text :
       {"", "{", "[1]", R"({"a)", R"({"a")", R"({"a":)", R"({"a":[1,2)", R"({"a":"x)",
        R"({"iteration":1.5})", R"({"iteration":"1"})", R"({"iteration":)", R"({"iteration":1)",
        R"({"iteration":99999999999999999999})", R"({ "iteration":1})", R"({"a":"\)"}) {
    INFO(text);
    CHECK(find(text).state == State::unreadable);
  }
}

TEST_CASE("depth is counted outside strings", "[session][log_reader]") {
  CHECK(depth_of_json("1") == 0);
  CHECK(depth_of_json("{}") == 1);
  CHECK(depth_of_json(R"({"a":[{"b":[]}],"c":"[[[[["})") == 4);
  CHECK(depth_of_json(R"({"a":"\"[[[","b":"\\"})") == 1);
  CHECK(depth_of_json(R"({"a":"unended [[[)") == 1);
}
