// SPDX-License-Identifier: MIT
// What a session's own bookkeeping costs: opening and folding a log of 100,000 events, and per
// event and iteration the append, the fold of what is new, and the closing with its commit. Prints
// a table with the limit of each figure; the exit status is 1 when one is exceeded. Figures that
// the disk decides have no limit and stand beside the cost of one bare write and fdatasync.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "bench/session_log.hpp"
#include "core/hash.hpp"
#include "report/report.hpp"
#include "session/session.hpp"
#include "support/processes.hpp"

namespace {

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::testing;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

double max_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values.at(static_cast<std::size_t>(share * static_cast<double>(values.size() - 1)));
}

constexpr double k_no_limit = 0;

/// One row of the table; false when the limit is exceeded.
bool row(const char* what, double value, const char* unit, double limit) {
  const bool ok = limit == k_no_limit || value <= limit;
  const std::string limit_text = limit == k_no_limit ? "-" : fmt::format("{:.1f}", limit);
  fmt::print("{:<58} {:>9.2f} {:<3} {:>8}  {}\n", what, value, unit, limit_text,
             ok ? "ok" : "OVER");
  std::fflush(stdout);
  return ok;
}

/// What one write of 600 bytes and its fdatasync cost here, median of 200.
double bare_sync_ms(const fs::path& folder) {
  RealFileSystem files;
  auto file = files.open_append(folder / "bare");
  if (!file.ok()) return 0;
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (!(*file)->append_synced(std::string(600, 'x')).ok()) return 0;
    times.push_back(ms_since(start));
  }
  return quantile(times, 0.5);
}

/// Opening and folding, in a process of their own so that its memory is theirs alone.
int read_log(const fs::path& folder) {
  const RealFileSystem files;
  bool ok = true;
  auto start = std::chrono::steady_clock::now();
  const auto log = EventLog::open_reader(files, folder);
  if (!log.ok()) return 1;
  ok &= row("open 100,000 events (whole chain checked)", ms_since(start), "ms", 500);
  start = std::chrono::steady_clock::now();
  const auto brief = fold(*log, FoldDepth::brief);
  ok &= row("fold, brief", ms_since(start), "ms", 500);
  if (!brief.ok() || brief->events != k_events) return 1;
  start = std::chrono::steady_clock::now();
  const auto full = fold(*log, FoldDepth::full);
  ok &= row("fold, full", ms_since(start), "ms", 1000);
  if (!full.ok() || full->iterations.size() != k_iterations) return 1;
  start = std::chrono::steady_clock::now();
  const std::string status = render_status(*brief);
  ok &= row("status, rendered from the brief fold", ms_since(start), "ms", 500);
  start = std::chrono::steady_clock::now();
  const std::string report = render_session(*full);
  ok &= row("report, rendered from the full fold", ms_since(start), "ms", 1000);
  if (status.empty() || report.empty()) return 1;
  ok &= row("memory of that process, peak", max_rss_mb(), "MB", 300);
  return ok ? 0 : 1;
}

/// A session that runs: events, folds and closings. Limits hold where the disk is out of it.
int run_session(FileSystem& files, const fs::path& folder, bool synced) {
  const RealClock clock;
  std::mt19937 random(8);
  auto session = Session::create(files, clock, folder, {{"session", "bench"}});
  if (!session.ok()) return 1;
  std::vector<double> append_ms, fold_ms, close_ms;
  const std::string page(6000, 'x');
  for (int iteration = 0; iteration < 40; ++iteration) {
    const std::string id = sha256_hex(std::to_string(iteration));
    const std::map<std::string, std::string> sources{
        {"cpu_tiled/kernel.json", std::string(900, 'j')},
        {"cpu_tiled/kernel.cpp", std::to_string(iteration) + std::string(9000, 'k')},
        {"common/sdpa_abi.h", std::string(7000, 'a')},
        {"common/cpu_math.hpp", std::string(3000, 'm')}};
    double folds = 0;
    other_event(*session, iteration, 0);
    for (int i = 0; i < 100; ++i) {
      const auto start = std::chrono::steady_clock::now();
      if (!session->append("turn_measured", turn(random, iteration, i)).ok()) return 1;
      append_ms.push_back(ms_since(start));
    }
    for (int i = 1; i < k_others_per_iteration - 1; ++i) {
      other_event(*session, iteration, i);
    }
    for (const FoldDepth depth : {FoldDepth::brief, FoldDepth::full}) {
      const auto start = std::chrono::steady_clock::now();
      if (!session->current(depth).ok()) return 1;
      folds += ms_since(start);
    }
    fold_ms.push_back(folds);
    const auto start = std::chrono::steady_clock::now();
    if (!session->store_variant(id, sources).ok()) return 1;
    const std::string name = iteration_name(iteration);
    Session::Closing closing{iteration,
                             {{"outcome", "no_gain"}},
                             {{name + ".md", page + name}, {name + ".json", name + page}},
                             id,
                             "Iteration",
                             {{"Iteration", name}}};
    if (!session->close_iteration(closing).ok()) return 1;
    close_ms.push_back(ms_since(start));
  }
  if (synced) {
    row("one bare write and fdatasync on this disk, median", bare_sync_ms(folder), "ms",
        k_no_limit);
    row("append one event, median", quantile(append_ms, 0.5), "ms", k_no_limit);
    row("append one event, 95th percentile", quantile(append_ms, 0.95), "ms", k_no_limit);
    row("store a variant, close with pages and commit, median", quantile(close_ms, 0.5), "ms",
        k_no_limit);
    return 0;
  }
  bool ok = row("append one event without the disk, median", quantile(append_ms, 0.5), "ms", 0.1);
  ok &=
      row("fold an iteration's 129 events, brief + full, median", quantile(fold_ms, 0.5), "ms", 3);
  return ok ? 0 : 1;
}

}  // namespace

int main() {
  auto scratch = TempDirectory::create("session-bench");
  if (!scratch.ok()) {
    fmt::print(stderr, "{}\n", scratch.error().message());
    return 2;
  }
  const fs::path log_folder = scratch->path() / "log";
  if (in_child([&] { return write_large_log(log_folder) ? 0 : 1; }) != 0) return 2;
  std::error_code ignored;
  const auto bytes = static_cast<double>(fs::file_size(log_folder / k_log_name, ignored));
  fmt::print("log of {} events, {:.1f} MB, mean {:.0f} bytes, {:.0f} % turn_measured\n", k_events,
             bytes / 1e6, bytes / static_cast<double>(k_events),
             100.0 * k_turns_per_iteration / (k_turns_per_iteration + k_others_per_iteration));
  fmt::print("{:<58} {:>13} {:>8}\n", "what", "value", "limit");
  std::fflush(stdout);
  const int read = in_child([&] { return read_log(log_folder); });
  const int quick = in_child([&] {
    UnsyncedFileSystem files;
    return run_session(files, scratch->path() / "unsynced", false);
  });
  const int synced = in_child([&] {
    RealFileSystem files;
    return run_session(files, scratch->path() / "synced", true);
  });
  return read == 0 && quick == 0 && synced == 0 ? 0 : 1;
}
