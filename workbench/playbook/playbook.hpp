// SPDX-License-Identifier: MIT
// Playbooks: Lua 5.4 files that drive verbs. Each runs in its own process (the hidden role `sdpa-wb
// playbook-host`) without files, clock or network; the owner answers its verb calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/files.hpp"

namespace wb::engine {
class Engine;
}

namespace wb::playbook {

/// Limits of a playbook. Reaching one ends it with a clear error; the log stays valid.
struct PlaybookLimits {
  std::uint64_t memory_bytes = 64u << 20;
  std::uint64_t instructions = 200'000'000;
  std::uint64_t calls = 10'000;                ///< of verbs
  std::chrono::milliseconds lua_time{60'000};  ///< inside Lua, without verb calls
};

struct PlaybookOptions {
  fs::path host_program;  ///< the sdpa-wb executable
  PlaybookLimits limits = {};
};

/// Registers the bodies of `run`, `resume`, `playbook_check` and `playbooks` in the engine.
void register_playbook_verbs(engine::Engine& engine, PlaybookOptions options);

/// The hidden role: reads the playbook and its limits from standard input as JSON lines, runs it,
/// sends verb calls {n, verb, args} and reads {n, result | error}. Returns the exit code.
int playbook_host_main();

}  // namespace wb::playbook
