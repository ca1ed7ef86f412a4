// SPDX-License-Identifier: MIT
// A session from log_builder.hpp stored in a folder, from which pages are made.
#pragma once

#include "session/session.hpp"
#include "unit/report/log_builder.hpp"
#include "unit/session/scratch.hpp"

namespace wb::test {

/// Writes the events into the folder's log and opens it for reading.
session::Session stored(const testing::Scratch& scratch, const LogBuilder& log);

/// A turn_measured event with samples around `time_us`.
void add_turn(LogBuilder& log, std::int64_t iteration, const std::string& phase,
              const std::string& problem, const std::string& subject, double time_us);

inline bool holds(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}
/// How often `what` stands in `text`.
std::size_t times(const std::string& text, const std::string& what);

}  // namespace wb::test
