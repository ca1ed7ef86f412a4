// SPDX-License-Identifier: MIT
// A small session with every event type: baseline, one win, one abandoned iteration, closed. The
// fixture in tests/data/session_v1.tar.gz was written by it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/json.hpp"
#include "session/session.hpp"
#include "support/fake_clock.hpp"

namespace wb::testing {

Json example_identity();
std::map<std::string, std::string> example_sources(const std::string& name);
std::string example_variant_id(const std::string& name);

/// Called after each acknowledged step with the size of the log.
using OnStep = std::function<void(std::int64_t)>;

/// Runs the whole session. Stops at the first error and returns it.
Result<void> run_example(FileSystem& file_system, FakeClock& clock, const fs::path& folder,
                         const OnStep& on_step = {});

/// One iteration with a variant and a page: opened, built, closed and committed.
Result<std::string> run_iteration(session::Session& session, FakeClock& clock, std::int64_t number,
                                  const std::string& name);

}  // namespace wb::testing
