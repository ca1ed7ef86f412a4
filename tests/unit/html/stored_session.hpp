// SPDX-License-Identifier: MIT
// A session from log_builder.hpp stored in a folder, from which pages are made.
#pragma once

#include <string>
#include <string_view>

#include "session/session.hpp"
#include "unit/report/log_builder.hpp"
#include "unit/session/scratch.hpp"

namespace wb::test {

/// Writes the events into the folder's log and opens it for reading.
inline session::Session stored(const testing::Scratch& scratch, const LogBuilder& log) {
  static RealFileSystem files;  // the session holds on to it
  const testing::FakeClock clock;
  session::EventLog written =
      testing::must(session::EventLog::create(files, clock, scratch.path()));
  for (const auto& [type, payload] : log.events()) {
    testing::must(written.append(type, payload));
  }
  return testing::must(session::Session::open_reader(files, scratch.path()));
}

/// A turn_measured event with samples around `time_us`.
inline void add_turn(LogBuilder& log, std::int64_t iteration, const std::string& phase,
                     const std::string& problem, const std::string& subject, double time_us) {
  log.add("turn_measured", {{"iteration", iteration},
                            {"problem", problem},
                            {"plan", "hot"},
                            {"phase", phase},
                            {"subject", subject},
                            {"samples_us", {0.99 * time_us, time_us, 1.01 * time_us, nullptr}},
                            {"wall_us", 3 * time_us}});
}

/// How often `what` stands in `text`.
inline std::size_t times(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

inline bool holds(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

}  // namespace wb::test
