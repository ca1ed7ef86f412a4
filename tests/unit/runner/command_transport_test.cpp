// SPDX-License-Identifier: MIT
#include "runner/transport.hpp"
#include "runner/worker_client.hpp"
#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::runner;

TEST_CASE("a transport is a command with a prefix", "[runner][transport]") {
  auto local = open_command_transport({{}, "cat"});
  REQUIRE(local.ok());
  CHECK((*local)->description() == "local");
  REQUIRE((*local)->send("{\"a\":1}", 60s).ok());
  const auto answer = (*local)->receive(60s);
  REQUIRE(answer.ok());
  CHECK(*answer == "{\"a\":1}");

  auto prefixed = open_command_transport({{"env", "-u", "WB_NOTHING"}, "cat"});
  REQUIRE(prefixed.ok());
  CHECK((*prefixed)->description() == "env -u WB_NOTHING");
  REQUIRE((*prefixed)->send("over there", 60s).ok());
  const auto there = (*prefixed)->receive(60s);
  REQUIRE(there.ok());
  CHECK(*there == "over there");
  (*prefixed)->close();
  CHECK((*prefixed)->receive(60s).error().code == ErrorCode::canceled);
}

TEST_CASE("a missing worker is named with where it was looked for", "[runner][transport]") {
  const auto absent = open_command_transport({{}, "no-such-worker-program"});
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == ErrorCode::not_found);
  CHECK(absent.error().message().find("no-such-worker-program") != std::string::npos);
  CHECK(absent.error().message().find("PATH") != std::string::npos);
}

TEST_CASE("what a dying transport said stands in the failure", "[runner][transport]") {
  auto transport =
      open_command_transport({{"sh", "-c", "echo host key changed >&2; exit 255"}, "w"});
  REQUIRE(transport.ok());
  WorkerClient client(*std::move(transport));
  const auto hello = client.hello({});
  REQUIRE_FALSE(hello.ok());
  CHECK(hello.error().invalidity == Invalidity::environment);
  CHECK(hello.error().message.find("host key changed") != std::string::npos);
  CHECK_FALSE(client.alive());
}

TEST_CASE("a peer that writes no protocol is given up", "[runner][transport][hostile]") {
  for (const std::string script :
       {"echo '{\"v\":1,\"id\":9,\"ok\":true,\"result\":{}}'; cat", "echo garbage; cat",
        "head -c 3000000 /dev/zero | tr '\\0' x; cat", "exec 1>&-; sleep 5"}) {
    INFO(script);
    auto transport = open_command_transport({{"sh", "-c", script}, "w"});
    REQUIRE(transport.ok());
    WorkerClient client(*std::move(transport));
    const auto hello = client.hello({});
    REQUIRE_FALSE(hello.ok());
    CHECK(hello.error().invalidity == Invalidity::environment);
    CHECK_FALSE(client.alive());
  }
}
