// SPDX-License-Identifier: MIT
#include "stored_session.hpp"

namespace wb::test {

session::Session stored(const testing::Scratch& scratch, const LogBuilder& log) {
  static RealFileSystem files;  // the session holds on to it
  const testing::FakeClock clock;
  session::EventLog written =
      testing::must(session::EventLog::create(files, clock, scratch.path()));
  for (const auto& [type, payload] : log.events()) {
    testing::must(written.append(type, payload));
  }
  return testing::must(session::Session::open_reader(files, scratch.path()));
}

void add_turn(LogBuilder& log, std::int64_t iteration, const std::string& phase,
              const std::string& problem, const std::string& subject, double time_us) {
  log.add("turn_measured", {{"iteration", iteration},
                            {"problem", problem},
                            {"plan", "hot"},
                            {"phase", phase},
                            {"subject", subject},
                            {"samples_us", {0.99 * time_us, time_us, 1.01 * time_us, nullptr}},
                            {"wall_us", 3 * time_us}});
}

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace wb::test
