// SPDX-License-Identifier: MIT
// Private to engine. BuildQueue: the compilers of a tune, ahead of the measuring side on threads of
// their own, with a bounded list of wishes. And where they may run without disturbing a turn.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "engine/context.hpp"

namespace wb {

/// CPUs for the builders. The device's own CPUs are never shared with a turn: builds on them would
/// be foreign load. `overlaps`: there are others, so that builds go on while the device measures;
/// else the two take turns.
struct BuildPlace {
  bool overlaps = false;
  std::size_t builders = 1;
  std::vector<int> cpus;  ///< to keep to; empty: any
};
/// `allowed`: the CPUs this process may use. A device elsewhere, or one that is no CPU, leaves all
/// of them free. `transport`: Transport::description().
BuildPlace place_of_builds(const Device& device, std::string_view transport,
                           const std::vector<int>& allowed);
/// {0,1,2,3,8} for "0-3,8"; nothing when it is not such a list.
std::optional<std::vector<int>> cpus_of(std::string_view text);

class BuildQueue {
 public:
  using Build = std::function<Outcome<Subject>(const Configuration&)>;
  struct Built {
    Configuration configuration;
    Outcome<Subject> subject;
    double wall_s = 0;  ///< of this call, cache hits included
  };
  /// `build` is called from several threads at once.
  BuildQueue(Build build, const BuildPlace& place);
  /// Drops what waits, and waits for the builds under way.
  ~BuildQueue();
  BuildQueue(const BuildQueue&) = delete;
  BuildQueue& operator=(const BuildQueue&) = delete;

  /// Replaces the list of what to build next. What runs already is not started twice.
  void want(const std::vector<Configuration>& soonest_first);
  /// What ended since the last call, in order of ending. Waits up to `patience` for the first.
  std::vector<Built> take(std::chrono::milliseconds patience);
  [[nodiscard]] bool is_idle() const;  ///< nothing waits, runs or is to be taken
  [[nodiscard]] std::size_t builders() const { return m_threads.size(); }

 private:
  void work(const std::vector<int>& cpus);
  Build m_build;
  mutable std::mutex m_mutex;
  std::condition_variable m_wanted, m_ended;
  std::vector<Configuration> m_waiting;  ///< soonest first
  std::set<Configuration> m_running;
  std::vector<Built> m_built;
  bool m_closing = false;
  std::vector<std::thread> m_threads;
};

}  // namespace wb
