// SPDX-License-Identifier: MIT
#include <random>
#include <string>

#include "core/json.hpp"
#include "protocol/protocol.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::protocol;

TEST_CASE("a request survives its line", "[protocol][wire]") {
  const Request request{7, Verb::load, {{"subject", "cpu_tiled@1f0c44aa"}}};
  const std::string line = to_line(request);
  CHECK(line.find('\n') == std::string::npos);
  const auto read = parse_request(line);
  REQUIRE(read.ok());
  CHECK(read->id == 7);
  CHECK(read->verb == Verb::load);
  CHECK(read->args == request.args);
}

TEST_CASE("every verb has its own word", "[protocol][wire]") {
  for (int i = 0; i <= static_cast<int>(Verb::bye); ++i) {
    const auto verb = static_cast<Verb>(i);
    CHECK(parse_verb(to_string(verb)) == verb);
  }
  CHECK_FALSE(parse_verb("Hello").has_value());
  CHECK_FALSE(parse_verb("").has_value());
}

TEST_CASE("replies carry a result or a failure", "[protocol][wire]") {
  const auto good = parse_reply(to_line(Reply{3, Json{{"handle", 1}}}));
  REQUIRE(good.ok());
  CHECK(good->id == 3);
  CHECK(good->result->at("handle") == 1);

  const Failure failure{Invalidity::timeout, "too slow", "its last words"};
  const auto bad = parse_reply(to_line(Reply{4, failure}));
  REQUIRE(bad.ok());
  REQUIRE_FALSE(bad->result.ok());
  CHECK(bad->result.error().invalidity == Invalidity::timeout);
  CHECK(bad->result.error().message == "too slow");
  CHECK(bad->result.error().untrusted_output == "its last words");
}

TEST_CASE("untrusted output of any bytes still makes one valid line", "[protocol][wire]") {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  const std::string line = to_line(Reply{1, Failure{Invalidity::runtime, "crashed", bytes}});
  CHECK(line.find('\n') == std::string::npos);
  const auto reply = parse_reply(line);
  REQUIRE(reply.ok());
  CHECK(reply->result.error().untrusted_output.find("ABC") != std::string::npos);
}

TEST_CASE("bad request lines are refused with their reason", "[protocol][wire][hostile]") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "parse"},
      {"\xff\xfe", "parse"},
      {"[]", "not a JSON object"},
      {"null", "not a JSON object"},
      {R"({"id":1,"verb":"hello"})", "version"},
      {R"({"v":2,"id":1,"verb":"hello"})", "version"},
      {R"({"v":"1","id":1,"verb":"hello"})", "version"},
      {R"({"v":1,"verb":"hello"})", "\"id\""},
      {R"({"v":1,"id":-1,"verb":"hello"})", "\"id\""},
      {R"({"v":1,"id":1e300,"verb":"hello"})", "\"id\""},
      {R"({"v":1,"id":1,"verb":"shutdown"})", "shutdown"},
      {R"({"v":1,"id":1,"verb":7})", "\"verb\""},
      {R"({"v":1,"id":1,"verb":"hello","args":[]})", "\"args\""},
      {R"({"v":1,"id":1,"verb":"hello","extra":0})", "extra"},
      {R"({"v":1,"id":1,"id":2,"verb":"hello"})", "id"},
      {R"({"v":1,"id":1,"verb":"hello"} trailing)", "parse"},
  };
  for (const auto& [line, expected] : cases) {
    INFO(line);
    const auto request = parse_request(line);
    REQUIRE_FALSE(request.ok());
    CHECK(request.error().message().find(expected) != std::string::npos);
  }
}

TEST_CASE("lines beyond the limits are refused", "[protocol][wire][hostile]") {
  const std::string deep_args = "{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}";
  const auto deep = parse_request(R"({"v":1,"id":1,"verb":"hello","args":)" + deep_args + "}");
  REQUIRE_FALSE(deep.ok());
  CHECK(deep.error().code == ErrorCode::limit);
  const auto deeper = parse_request(std::string(200'000, '['));
  REQUIRE_FALSE(deeper.ok());
  const auto longer = parse_request(std::string(k_max_line_bytes + 1, ' '));
  REQUIRE_FALSE(longer.ok());
  CHECK(longer.error().code == ErrorCode::limit);
  const auto nul = parse_request(std::string("{\"v\":1,\"id\":1,\"verb\":\"he\0lo\"}", 30));
  CHECK_FALSE(nul.ok());
}

TEST_CASE("bad reply lines are refused", "[protocol][wire][hostile]") {
  for (const std::string line :
       {R"({"v":1,"id":1})", R"({"v":1,"id":1,"ok":true})",
        R"({"v":1,"id":1,"ok":true,"result":1})", R"({"v":1,"id":1,"ok":false})",
        R"({"v":1,"id":1,"ok":false,"error":{}})", R"({"v":1,"id":1,"ok":1,"result":{}})",
        R"({"v":1,"id":1,"ok":false,"error":{"invalidity":"bad luck","message":""}})",
        R"({"v":1,"id":1,"ok":false,"error":{"invalidity":"runtime"}})"}) {
    INFO(line);
    CHECK_FALSE(parse_reply(line).ok());
  }
}

TEST_CASE("base64 agrees with the vectors of RFC 4648", "[protocol][base64]") {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(base64_encode(bytes) == text);
    CHECK(*base64_decode(text) == bytes);
  }
}

TEST_CASE("any bytes survive base64", "[protocol][base64]") {
  std::mt19937 random(7);
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    REQUIRE(*base64_decode(base64_encode(bytes)) == bytes);
  }
}

TEST_CASE("text that is not base64 is refused", "[protocol][base64]") {
  for (const std::string text : {"Zg=", "Zg", "Z", "====", "=g==", "Zg==Zg==", "Zm9v\n",
                                 "Zm 9v===", "Zh==", "Zm9=", "Z-8=", "Zm9v\x80zzz"}) {
    INFO(text);
    CHECK_FALSE(base64_decode(text).ok());
  }
  // What OpenSSL alone would take: blanks around, its own end mark, padding inside.
  for (const std::string text :
       {"\n\n\n\nZm9v", "Zm9v    ", "Zm9v----", "Zg==Zm9v", "Zm=v", " m9v"}) {
    INFO(text);
    const auto decoded = base64_decode(text);
    REQUIRE_FALSE(decoded.ok());
    CHECK(decoded.error().cause == "a character is outside the alphabet");
  }
  CHECK(base64_decode("Zh==").error().cause == "unused bits before the padding are not zero");
}
