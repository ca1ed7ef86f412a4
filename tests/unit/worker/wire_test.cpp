// SPDX-License-Identifier: MIT
// What processes say to each other: the channel between the supervisor and a child, and the wire of
// the real worker (bad lines, the order of calls, and that its end ends everything).
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"
#include "worker/channel.hpp"
#include "worker_under_test.hpp"

using namespace std::chrono_literals;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::runner;
using namespace wb::testing;
using namespace wb::variant;
using namespace wb::worker;
using namespace wb;

namespace {

struct Pair {
  Channel ours, theirs;
};

Pair make_pair() {
  auto ends = Channel::make_pair();
  REQUIRE(ends.ok());
  return {Channel(std::move(ends->first)), Channel(std::move(ends->second))};
}

}  // namespace

TEST_CASE("messages carry JSON and descriptors", "[worker][channel]") {
  const Pair pair = make_pair();
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fds[] = {file.get(), file.get()};
  REQUIRE(pair.ours.send({{"op", "run"}}, fds).ok());
  CHECK(pair.theirs.has_pending());
  const auto message = pair.theirs.receive(deadline_in(1s));
  REQUIRE(message.ok());
  CHECK(message->body["op"] == "run");
  REQUIRE(message->fds.size() == 2);
  CHECK(::fcntl(message->fds[0].get(), F_GETFD) == FD_CLOEXEC);
  CHECK_FALSE(pair.theirs.has_pending());
}

TEST_CASE("a wait ends at its deadline, a hang-up, or a cancel", "[worker][channel]") {
  Pair pair = make_pair();
  CHECK(pair.ours.receive(deadline_in(10ms)).error() == ChannelFault::timeout);
  CHECK(pair.ours.receive(deadline_in(-1ms)).error() == ChannelFault::timeout);
  int wire[2];
  REQUIRE(::pipe2(wire, O_CLOEXEC) == 0);
  const UniqueFd reading(wire[0]);
  UniqueFd writing(wire[1]);
  CHECK(pair.ours.receive(deadline_in(10ms), {reading.get(), -1}).error() == ChannelFault::timeout);
  REQUIRE(::write(writing.get(), "x", 1) == 1);  // a waiting request is no cancel
  CHECK(pair.ours.receive(deadline_in(10ms), {reading.get(), -1}).error() == ChannelFault::timeout);
  writing.reset();
  CHECK(pair.ours.receive(deadline_in(10s), {reading.get(), -1}).error() == ChannelFault::canceled);
  pair.theirs.close();
  CHECK(pair.ours.receive(deadline_in(10s)).error() == ChannelFault::closed);
  CHECK(pair.ours.send(Json::object()).error() == ChannelFault::closed);
}

TEST_CASE("garbage, floods and too much are told apart", "[worker][channel][hostile]") {
  const Pair pair = make_pair();
  const int raw = pair.theirs.fd();
  for (const std::string bytes : {"not json", "[1]", "{\"a\":", "\xff", "{\"a\":1}{\"b\":2}"}) {
    REQUIRE(::send(raw, bytes.data(), bytes.size(), 0) > 0);
    CHECK(pair.ours.receive(deadline_in(1s)).error() == ChannelFault::garbage);
  }
  const std::string deep = "{\"a\":" + std::string(1'000, '[') + std::string(1'000, ']') + "}";
  REQUIRE(::send(raw, deep.data(), deep.size(), 0) > 0);
  CHECK(pair.ours.receive(deadline_in(1s)).error() == ChannelFault::garbage);
  const std::string big(k_max_message_bytes + 1, ' ');
  REQUIRE(::send(raw, big.data(), big.size(), 0) > 0);
  CHECK(pair.ours.receive(deadline_in(1s)).error() == ChannelFault::garbage);
  CHECK(pair.ours.send({{"a", std::string(k_max_message_bytes, 'x')}}).error() ==
        ChannelFault::garbage);
  // A peer that does not read fills the buffer; sending never blocks.
  bool full = false;
  for (int i = 0; i < 100'000 && !full; ++i) {
    full = !pair.ours.send({{"a", std::string(1'000, 'x')}}).ok();
  }
  CHECK(full);
}

namespace {

ChildProcess raw_worker() {
  auto child = ChildProcess::spawn({.argv = {binary_dir() / "sdpa-wb-worker"}});
  REQUIRE(child.ok());
  return *std::move(child);
}

protocol::Reply ask(ChildProcess& worker, std::string_view line) {
  REQUIRE(worker.write_line(line, 60s).ok());
  const auto answer = worker.read_line(120s, protocol::k_max_line_bytes);
  REQUIRE(answer.ok());
  const auto reply = protocol::parse_reply(*answer);
  REQUIRE(reply.ok());
  return *reply;
}

/// A hello that waits for no other worker and looks for no interpreter.
std::string hello_line(std::int64_t id, const Json& more = Json::object()) {
  protocol::HelloArgs args;
  args.lock = own_lock();
  args.python = k_no_python;
  Json json = to_json(args);
  json.update(more);
  return to_line(protocol::Request{id, protocol::Verb::hello, json});
}

/// Waits until a process ignores SIGTERM.
bool ignores_sigterm(pid_t pid) {
  return wb::testing::until([pid] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("SigIgn:")) continue;
      if ((std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1) & 1) != 0) return true;
    }
    return false;
  });
}

std::string message_of(const protocol::Reply& reply) {
  return reply.result.ok() ? "" : reply.result.error().message;
}

}  // namespace

TEST_CASE("bad request lines get a clear reply and the worker goes on", "[worker][wire][hostile]") {
  ChildProcess worker = raw_worker();
  CHECK(message_of(ask(worker, "garbage")).find("parse") != std::string::npos);
  CHECK(ask(worker, R"({"v":9,"id":5,"verb":"hello"})").id == 5);
  CHECK(message_of(ask(worker, R"({"v":1,"id":6,"verb":"reboot"})")).find("reboot") !=
        std::string::npos);
  CHECK(message_of(ask(worker, std::string(3u << 20, 'x'))).find("parse") != std::string::npos);
  CHECK(message_of(ask(worker, R"({"v":1,"id":7,"verb":"status"})")).find("before hello") !=
        std::string::npos);
  CHECK(message_of(ask(worker, hello_line(8, {{"version", 2}}))).find("protocol 2") !=
        std::string::npos);
  CHECK(message_of(ask(worker, hello_line(8, {{"cpu_set", "4000"}}))).find("4000") !=
        std::string::npos);
  const auto bye = ask(worker, R"({"v":1,"id":9,"verb":"bye"})");
  CHECK(bye.id == 9);
  CHECK(bye.result.ok());
  CHECK(worker.wait(60s).exit_code == 0);
}

TEST_CASE("a GPU that is not there is refused in the driver's words, and the CPU can be had",
          "[worker][wire]") {
  ChildProcess worker = raw_worker();
  const auto refused = ask(worker, hello_line(1, {{"gpu", 4000}}));
  REQUIRE_FALSE(refused.result.ok());
  CHECK(refused.result.error().invalidity == Invalidity::environment);
  // Without a driver, with an old one, or with fewer GPUs; never that the judge was killed.
  CHECK(message_of(refused).find("the judge could not go on: cannot") == 0);
  CHECK(message_of(refused).find("signal") == std::string::npos);
  CHECK(ask(worker, hello_line(2)).result.ok());
  CHECK(ask(worker, R"({"v":1,"id":3,"verb":"bye"})").result.ok());
}

TEST_CASE("unknown handles and a second hello are refused", "[worker][wire]") {
  WorkerClient& client = shared_worker();
  CHECK(client.hello({}).error().message.find("said before") != std::string::npos);
  protocol::RunArgs run;
  run.handle = 77;
  CHECK(client.run(run).error().message.find("handle 77") != std::string::npos);
  CHECK(client.unload(77).ok());
  protocol::TurnArgs turn;
  turn.handle = 77;
  CHECK(client.turn(turn).error().invalidity == Invalidity::environment);
  CHECK(client.alive());
}

TEST_CASE("closing the wire ends a hanging subject at once", "[worker][wire][hostile]") {
  ChildProcess worker = raw_worker();
  REQUIRE(ask(worker, hello_line(1)).result.ok());
  const std::string bytes = hostile_library("ignores_sigterm");
  const protocol::PutArgs put{sha256_hex(bytes), 0, static_cast<std::int64_t>(bytes.size()),
                              protocol::base64_encode(bytes)};
  REQUIRE(
      ask(worker, to_line(protocol::Request{2, protocol::Verb::put, to_json(put)})).result.ok());
  protocol::LoadArgs load;
  load.subject = "hanging";
  load.backend = "cpu";
  load.artifact_sha256 = put.sha256;
  load.build_id = "hostile_ignores_sigterm";
  const auto loaded =
      ask(worker, to_line(protocol::Request{3, protocol::Verb::load, to_json(load)}));
  REQUIRE(loaded.result.ok());
  const auto pid = loaded.result->at("pid").get<pid_t>();
  protocol::RunArgs run;
  run.handle = loaded.result->at("handle").get<std::int64_t>();
  run.problem = small_problem();
  REQUIRE(worker.write_line(to_line(protocol::Request{4, protocol::Verb::run, to_json(run)}), 60s)
              .ok());
  REQUIRE(ignores_sigterm(pid));  // its call has begun
  worker.close_stdin();
  CHECK(ends_soon(pid));
  CHECK(worker.wait(60s).exit_code == 0);
}

TEST_CASE("a signal ends the worker with its children", "[worker][wire]") {
  ChildProcess worker = raw_worker();
  REQUIRE(ask(worker, hello_line(1)).result.ok());
  const auto status = ask(worker, R"({"v":1,"id":2,"verb":"status"})");
  const auto judge = status.result->at("judge_pid").get<pid_t>();
  CHECK(is_alive(judge));
  worker.signal_group(SIGTERM);
  CHECK(worker.wait(60s).exit_code == 0);
  CHECK(ends_soon(judge));
}

TEST_CASE("the worker killed outright takes its children along", "[worker][wire]") {
  ChildProcess worker = raw_worker();
  REQUIRE(ask(worker, hello_line(1)).result.ok());
  const auto judge =
      ask(worker, R"({"v":1,"id":2,"verb":"status"})").result->at("judge_pid").get<pid_t>();
  worker.kill_and_wait();
  CHECK(ends_soon(judge));
}
