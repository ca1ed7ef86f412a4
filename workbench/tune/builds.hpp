// SPDX-License-Identifier: MIT
// BuildQueue: runs a tune's compilers on threads of their own, ahead of the measuring side, from a
// bounded list; and chooses CPUs on which they do not disturb a turn. code_hash() tells which
// builds gave the same code, so that a tune measures it once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "engine/subject.hpp"

namespace wb::tune {

/// CPUs for the builders. The device's own CPUs are never shared with a turn, where builds would
/// be foreign load. `overlaps`: there are others, so that builds continue while the device
/// measures; else building and measuring alternate.
struct BuildCpus {
  bool overlaps = false;
  std::size_t builders = 1;
  std::vector<int> cpus;       ///< the allowed CPUs; empty: any
  std::vector<int> lent_cpus;  ///< the device's own; one more builder each while they are lent
};
/// `allowed`: the CPUs that this process may use. A device on another machine leaves all of them
/// free, a GPU all but two. `transport`: Transport::description().
BuildCpus choose_build_cpus(const device::Device& device, std::string_view transport,
                            const std::vector<int>& allowed);

class BuildQueue {
 public:
  using Build = std::function<Outcome<engine::Subject>(const variant::Configuration&)>;
  struct Built {
    variant::Configuration configuration;
    Outcome<engine::Subject> subject;
    double wall_s = 0;  ///< of this call, cache hits included
  };
  /// `build` is called from several threads at once.
  BuildQueue(Build build, const BuildCpus& place);
  /// Drops waiting builds and waits for running ones.
  ~BuildQueue();
  BuildQueue(const BuildQueue&) = delete;
  BuildQueue& operator=(const BuildQueue&) = delete;

  /// Replaces the list of the next builds. Running ones are not started twice.
  void want(const std::vector<variant::Configuration>& soonest_first);
  /// True: the device's CPUs are idle while they wait for a build, so builds may start there too.
  /// False: no more start there, and a turn may begin once is_returned().
  void lend(bool is_lent);
  [[nodiscard]] bool is_returned() const;  ///< no build runs on the lent CPUs
  /// Builds that ended since the last call, in order of ending. Waits up to `patience` for the
  /// first.
  std::vector<Built> take(std::chrono::milliseconds patience);
  [[nodiscard]] bool is_idle() const;  ///< nothing waits, runs or is to be taken

 private:
  void work(const std::vector<int>& cpus, bool is_guest);
  Build m_build;
  mutable std::mutex m_mutex;
  std::condition_variable m_wanted, m_ended;
  std::vector<variant::Configuration> m_waiting;  ///< soonest first
  std::set<variant::Configuration> m_running;
  std::vector<Built> m_built;
  bool m_closing = false, m_is_lent = false;
  std::size_t m_guests_running = 0;
  std::vector<std::thread> m_threads;
};

/// SHA-256 of a shared library in which every occurrence of `build_id` (the value of WB_BUILD_ID)
/// and the linker's build-id note, which hashes it, are blanked.
std::string code_hash(std::string_view library, std::string_view build_id);

}  // namespace wb::tune
