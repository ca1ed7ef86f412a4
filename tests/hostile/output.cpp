// SPDX-License-Identifier: MIT
// Candidates that write where the worker listens: descriptors, answers, floods of text.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== writes_to_descriptors
// Writes garbage to every descriptor it can guess.
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  const char garbage[] = "{\"n\":1,\"ok\":tru\n\xff\xfe garbage";
  for (int fd = 1; fd < 64; ++fd) {
    [[maybe_unused]] const ssize_t written = ::write(fd, garbage, sizeof garbage);
  }
  return hostile::honest(plan, args);
}

// ==== closes_descriptors
// Closes every descriptor, its private socket too.
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  for (int fd = 0; fd < 64; ++fd) ::close(fd);
  return hostile::honest(plan, args);
}

// ==== forges_answer
// Sends an answer of its own before the real one: success, after one nanosecond.
#include <sys/socket.h>

#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  char answer[96];
  for (int number = 1; number <= 40; ++number) {
    const int length =
        std::snprintf(answer, sizeof answer, "{\"n\":%d,\"ok\":true,\"call_us\":0.001}", number);
    ::send(3, answer, static_cast<std::size_t>(length), MSG_DONTWAIT);
  }
  return hostile::honest(plan, args);
}

// ==== floods_output
// Prints a gigabyte, then does its work: only its output is cut.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const std::vector<char> line(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 1024; ++i) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  return hostile::honest(plan, args);
}

// ==== floods_errors
// Writes a gigabyte to standard error, then does its work: only its words are cut.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  static const std::vector<char> line(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 1024; ++i) std::fwrite(line.data(), 1, line.size(), stderr);
  return hostile::honest(plan, args);
}

// ==== floods_channel
// Sends answers without end on its private socket.
#include <sys/socket.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  const std::vector<char> packet(32 << 10, ' ');
  while (true) ::send(3, packet.data(), packet.size(), 0);
}

// ==== prints_speedup
// Prints a speedup of its own invention, then does its work: nobody reads it.
#include <cstdio>

#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  std::puts("{\"speedup\": 100.0, \"pass\": true}");
  return hostile::honest(plan, args);
}
