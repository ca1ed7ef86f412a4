// SPDX-License-Identifier: MIT
#include "runner/worker_client.hpp"
#include "core/json.hpp"

#include <fstream>

#include "core/hash.hpp"
#include "support/catch.hpp"
#include "support/fake_transport.hpp"

using namespace wb;
using namespace wb::runner;
using namespace wb::variant;
using protocol::Verb;
using wb::testing::FakeTransport;
using wb::testing::FakeWorker;

namespace {

Variant python_variant(std::map<std::string, std::string> files) {
  Variant variant;
  variant.manifest.name = "rival";
  variant.manifest.backend = Backend::python;
  variant.manifest.entry = "rival:sdpa";
  variant.files = std::move(files);
  variant.id = std::string(64, 'b');
  return variant;
}

WorkerClient answering(FakeTransport::Answer answer) {
  return WorkerClient(std::make_unique<FakeTransport>(std::move(answer)));
}

}  // namespace

TEST_CASE("hello comes back typed, and wall time is counted", "[runner][client]") {
  FakeWorker worker;
  WorkerClient client(worker.transport());
  CHECK(client.take_wall_s().empty());
  const auto hello = client.hello({});
  REQUIRE(hello.ok());
  CHECK(hello->device.name == "Fake CPU");
  auto wall_s = client.take_wall_s();
  CHECK(wall_s.size() == 1);
  CHECK(wall_s[protocol::Verb::hello] > 0);
  CHECK(client.take_wall_s().empty());
  CHECK(client.description() == "fake");
}

TEST_CASE("an artifact is sent once, in chunks", "[runner][client]") {
  TempDirectory folder = *TempDirectory::create("wb-client-test-");
  const std::string bytes(3 * protocol::k_put_chunk_bytes / 2, 'x');
  std::ofstream(folder.path() / "artifact.so") << bytes;
  Variant variant;
  variant.manifest.name = "cpu_tiled";
  variant.id = std::string(64, 'c');
  Artifact artifact;
  artifact.id = std::string(64, 'd');
  artifact.content_sha256 = sha256_hex(bytes);
  artifact.path = folder.path() / "artifact.so";

  FakeWorker worker;
  WorkerClient client(worker.transport());
  const auto first = client.load(variant, artifact);
  REQUIRE(first.ok());
  CHECK(worker.count(Verb::put) == 2);
  const auto second = client.load(variant, artifact);
  REQUIRE(second.ok());
  CHECK(second->handle != first->handle);
  CHECK(worker.count(Verb::put) == 2);
  CHECK(worker.requests.back().args["build_id"] == artifact.id);
  CHECK(worker.requests.back().args["subject"] == "cpu_tiled@dddddddd");
}

TEST_CASE("a python subject's folder is staged without the kernel's name", "[runner][client]") {
  FakeWorker worker;
  WorkerClient client(worker.transport());
  const auto loaded = client.load(
      python_variant({{"rival/rival.py", "def sdpa(): pass"}, {"rival/kernel.json", "{}"}}), {});
  REQUIRE(loaded.ok());
  const Json files = worker.requests.back().args["files"];
  REQUIRE(files.size() == 2);
  CHECK(files[1]["path"] == "rival.py");
  CHECK(worker.requests.back().args["entry"] == "rival:sdpa");
}

TEST_CASE("a load says how many Python subjects follow it", "[runner][client]") {
  FakeWorker worker;
  WorkerClient client(worker.transport());
  const Variant variant = python_variant({{"rival/rival.py", "def sdpa(): pass"}});
  const auto follows = [&] {
    CHECK(client.load(variant, {}).ok());
    return worker.requests.back().args["python_follows"].get<int>();
  };
  CHECK(follows() == 0);  // nothing was announced
  client.announce_python(3);
  CHECK(follows() == 2);
  CHECK(follows() == 1);
  CHECK(follows() == 0);
  CHECK(follows() == 0);
}

TEST_CASE("an empty file can be staged", "[runner][client]") {
  FakeWorker worker;
  WorkerClient client(worker.transport());
  CHECK(client.load(python_variant({{"rival/empty.py", ""}}), {}).ok());
  CHECK(worker.count(Verb::put) == 1);
}

TEST_CASE("a failure of the worker's is passed on as it is", "[runner][client]") {
  FakeWorker worker;
  worker.verb_failures[Verb::turn] = Failure{Invalidity::runtime, "crashed", "words"};
  WorkerClient client(worker.transport());
  const auto turn = client.turn({});
  REQUIRE_FALSE(turn.ok());
  CHECK(turn.error().invalidity == Invalidity::runtime);
  CHECK(turn.error().untrusted_output == "words");
  CHECK(client.alive());
}

TEST_CASE("a dead wire makes every later call an environment failure", "[runner][client]") {
  FakeWorker worker;
  worker.dies_at_request = 2;
  WorkerClient client(worker.transport());
  REQUIRE(client.hello({}).ok());
  const auto status = client.status();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().invalidity == Invalidity::environment);
  CHECK(status.error().message.find("the fake worker died") != std::string::npos);
  CHECK_FALSE(client.alive());
  const auto requests_before = worker.requests.size();
  for (const auto& failure : {client.canary().error(), client.run({}).error(),
                              client.unload(1).error(), client.status().error()}) {
    CHECK(failure.invalidity == Invalidity::environment);
    CHECK(failure.message.find("the fake worker died") != std::string::npos);
  }
  CHECK(worker.requests.size() == requests_before);
  CHECK(client.description() == "fake");
}

TEST_CASE("another protocol version is named on both sides", "[runner][client]") {
  FakeWorker worker;
  worker.hello_result.version = 2;
  WorkerClient client(worker.transport());
  const auto hello = client.hello({});
  REQUIRE_FALSE(hello.ok());
  CHECK(hello.error().invalidity == Invalidity::environment);
  CHECK(hello.error().message.find("protocol 2") != std::string::npos);
  CHECK(hello.error().message.find("this program 1") != std::string::npos);
}

TEST_CASE("a worker that answers nonsense is given up", "[runner][client][hostile]") {
  using protocol::Reply;
  const std::pair<std::string, FakeTransport::Answer> cases[] = {
      {"answered request",
       [](std::string_view) -> Result<std::string> {
         return to_line(Reply{99, Json::object()});
       }},
      {"healthy",
       [](std::string_view line) -> Result<std::string> {
         return to_line(Reply{protocol::parse_request(line)->id, Json{{"healthy", "yes"}}});
       }},
      {"parse", [](std::string_view) -> Result<std::string> { return std::string("\xff"); }},
      {"limit reached",
       [](std::string_view) -> Result<std::string> {
         return Error{ErrorCode::limit, "read", "fake", "limit reached", ""};
       }},
  };
  for (const auto& [expected, answer] : cases) {
    INFO(expected);
    WorkerClient client = answering(answer);
    const auto canary = client.canary();
    REQUIRE_FALSE(canary.ok());
    CHECK(canary.error().invalidity == Invalidity::environment);
    CHECK(canary.error().message.find(expected) != std::string::npos);
    CHECK_FALSE(client.alive());
  }
}

TEST_CASE("a worker that asks for files it was not offered is given up", "[runner][client]") {
  WorkerClient client = answering([](std::string_view line) -> Result<std::string> {
    return to_line(protocol::Reply{protocol::parse_request(line)->id,
                                   Json{{"missing", {std::string(64, '0')}}}});
  });
  const auto loaded = client.load(python_variant({{"rival/a.py", "a"}}), {});
  REQUIRE_FALSE(loaded.ok());
  CHECK_FALSE(client.alive());
}

TEST_CASE("an unreadable artifact is an environment failure that keeps the worker",
          "[runner][client]") {
  FakeWorker worker;
  WorkerClient client(worker.transport());
  Artifact artifact;
  artifact.content_sha256 = std::string(64, 'e');
  artifact.path = "/nonexistent/artifact.so";
  const auto loaded = client.load(Variant{}, artifact);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().invalidity == Invalidity::environment);
  CHECK(loaded.error().message.find("/nonexistent/artifact.so") != std::string::npos);
  CHECK(client.alive());
}

TEST_CASE("moving a client keeps the wire and says bye to the old one", "[runner][client]") {
  FakeWorker first, second;
  WorkerClient client(first.transport());
  REQUIRE(client.hello({}).ok());
  client = WorkerClient(second.transport());
  CHECK(first.count(Verb::bye) == 1);
  CHECK(client.hello({}).ok());
  CHECK(second.count(Verb::hello) == 1);
}
