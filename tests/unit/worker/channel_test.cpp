// SPDX-License-Identifier: MIT
#include "worker/channel.hpp"
#include "core/json.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace wb;
using namespace wb::worker;

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
