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
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "session/session.hpp"
#include "support/in_child.hpp"

namespace {

using namespace wb;

constexpr int k_iterations = 500;
constexpr int k_turns_per_iteration = 170;
constexpr int k_others_per_iteration = 30;
constexpr std::int64_t k_events = 100'000;

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

/// Keeps what is appended and writes it once: a log of 100,000 events without 100,000 syncs.
class UnsyncedFile final : public AppendFile {
 public:
  explicit UnsyncedFile(fs::path path) : m_path(std::move(path)) {}
  ~UnsyncedFile() override { std::ofstream(m_path, std::ios::binary) << m_bytes; }
  Result<void> append_synced(std::string_view bytes) override {
    m_bytes += bytes;
    return {};
  }
  Result<void> truncate(std::uint64_t size) override {
    m_bytes.resize(size);
    return {};
  }
  [[nodiscard]] std::uint64_t size_bytes() const override { return m_bytes.size(); }

 private:
  fs::path m_path;
  std::string m_bytes;
};

class UnsyncedFileSystem final : public FileSystem {
 public:
  Result<std::string> read(const fs::path& path, std::uint64_t max_bytes) const override {
    return m_real.read(path, max_bytes);
  }
  Result<void> write_atomic(const fs::path& path, std::string_view bytes, Durability) override {
    return m_real.write_atomic(path, bytes, Durability::none);
  }
  Result<void> make_directories(const fs::path& path) override {
    return m_real.make_directories(path);
  }
  Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) override {
    return std::unique_ptr<AppendFile>(std::make_unique<UnsyncedFile>(path));
  }

 private:
  RealFileSystem m_real;
};

Json turn(std::mt19937& random, std::int64_t iteration, int i) {
  std::uniform_real_distribution<double> sample(80.0, 120.0);
  Json samples = Json::array();
  for (int s = 0; s < 10; ++s) samples.push_back(sample(random));
  return {{"iteration", iteration},
          {"problem", "B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16"},
          {"plan", "hot"},
          {"phase", i % 3 == 0 ? "selection" : "confirmation"},
          {"subject", "cpu_tiled@1f0c44aa"},
          {"instance", i % 5},
          {"placement", i % 3},
          {"round", i / 4},
          {"position", i % 4},
          {"samples_us", samples},
          {"calls_per_sample", 64},
          {"wall_us", sample(random) * 640},
          {"flags", Json::array()},
          {"spot_pass", i % 20 == 0 ? Json(true) : Json(nullptr)}};
}

Json verdict(std::int64_t iteration, int i) {
  Json runs = Json::array();
  for (int draw = 0; draw < 4; ++draw) {
    runs.push_back({{"draw", "normal"},
                    {"seed", 1234567 + i},
                    {"pass", true},
                    {"reason", ""},
                    {"worst",
                     {{"rule", "max"},
                      {"error", 1.25e-4},
                      {"budget", 9.5e-4},
                      {"share", 0.13},
                      {"row", 17},
                      {"column", 3},
                      {"b", 0},
                      {"h", 1},
                      {"got", 0.11},
                      {"want", 0.12}}},
                    {"blocks_judged", 64},
                    {"blocks_total", 64},
                    {"lse_judged", true}});
  }
  return {{"iteration", iteration},
          {"subject", "cpu_tiled@1f0c44aa"},
          {"problem", "B=4 Hq=32 Hkv=8 Sq=1 Skv=8192 D=128 bf16"},
          {"pass", true},
          {"outcome", "pass"},
          {"message", ""},
          {"runs", runs}};
}

Json comparison(std::int64_t iteration) {
  return {{"iteration", iteration},
          {"phase", "confirmation"},
          {"problem", nullptr},
          {"plan", "hot"},
          {"candidate", "cpu_tiled@1f0c44aa"},
          {"against", "torch_math"},
          {"role", "rival"},
          {"speedup", 1.07},
          {"interval", {{"low", 1.04}, {"high", 1.1}, {"confidence", 0.99}}},
          {"noise_floor_frac", 0.012},
          {"outcome", "faster"},
          {"reason", ""},
          {"instances", 5},
          {"rounds", 8},
          {"candidate_us", 93.5},
          {"against_us", 100.04},
          {"turns", {100, 270}}};
}

template <typename Log>
void other_event(Log& log, std::int64_t iteration, int i) {
  const auto must = [](const auto& result) {
    if (!result.ok()) throw std::runtime_error(result.error().message());
  };
  if (i == 0) {
    must(log.append("iteration_opened",
                    {{"iteration", iteration},
                     {"parent", "cpu_tiled@00000000"},
                     {"variant", "cpu_tiled@1f0c44aa"},
                     {"variant_id", std::string(64, 'a')},
                     {"configuration", {{"TILE_M", 32}, {"TILE_N", 64}}},
                     {"hypothesis",
                      {{"theory", "larger tiles reuse K more often"}, {"predicted_speedup", 1.1}}},
                     {"techniques", {"tiling"}}}));
  } else if (i == k_others_per_iteration - 1) {
    must(log.append("iteration_closed", {{"iteration", iteration},
                                         {"outcome", "no_gain"},
                                         {"invalidity", nullptr},
                                         {"message", "same"},
                                         {"speedup", 1.0},
                                         {"interval", {0.99, 1.01}},
                                         {"pages", Json::object()}}));
  } else if (i % 5 == 0) {
    must(log.append("cost_debited", {{"iteration", iteration},
                                     {"item", "device"},
                                     {"quantity", 1.25},
                                     {"unit", "s"},
                                     {"usd", 0.001},
                                     {"what", "turns"}}));
  } else if (i % 5 == 1) {
    must(log.append("comparison_made", comparison(iteration)));
  } else if (i % 5 == 2) {
    must(log.append("verdict_given", verdict(iteration, i)));
  } else if (i % 5 == 3) {
    must(log.append("finding_recorded",
                    {{"iteration", iteration},
                     {"analysis", "roofline"},
                     {"statement", "the kernel moves 2.1 times the bytes that must be read"},
                     {"problem", nullptr},
                     {"figures", {{"ratio", 2.1}}},
                     {"events", {1, 2, 3}},
                     {"unseen", Json::array()}}));
  } else {
    must(log.append("evaluation",
                    {{"iteration", iteration},
                     {"configuration", {{"TILE_M", i}}},
                     {"artifact_id", std::string(64, 'b')},
                     {"outcome", "pass"},
                     {"speedup", 1.01},
                     {"interval", {{"low", 0.98}, {"high", 1.03}, {"confidence", 0.99}}}}));
  }
}

int write_log(const fs::path& folder) {
  UnsyncedFileSystem files;
  const RealClock clock;
  std::mt19937 random(7);
  fs::create_directories(folder);
  auto log = EventLog::create(files, clock, folder);
  if (!log.ok()) return 1;
  for (std::int64_t iteration = 0; iteration < k_iterations; ++iteration) {
    other_event(*log, iteration, 0);
    for (int i = 0; i < k_turns_per_iteration; ++i) {
      if (!log->append("turn_measured", turn(random, iteration, i)).ok()) return 1;
    }
    for (int i = 1; i < k_others_per_iteration; ++i) other_event(*log, iteration, i);
  }
  return log->size() == k_events ? 0 : 2;
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
  if (testing::in_child([&] { return write_log(log_folder); }) != 0) return 2;
  std::error_code ignored;
  const auto bytes = static_cast<double>(fs::file_size(log_folder / k_log_name, ignored));
  fmt::print("log of {} events, {:.1f} MB, mean {:.0f} bytes, {:.0f} % turn_measured\n", k_events,
             bytes / 1e6, bytes / static_cast<double>(k_events),
             100.0 * k_turns_per_iteration / (k_turns_per_iteration + k_others_per_iteration));
  fmt::print("{:<58} {:>13} {:>8}\n", "what", "value", "limit");
  std::fflush(stdout);
  const int read = testing::in_child([&] { return read_log(log_folder); });
  const int quick = testing::in_child([&] {
    UnsyncedFileSystem files;
    return run_session(files, scratch->path() / "unsynced", false);
  });
  const int synced = testing::in_child([&] {
    RealFileSystem files;
    return run_session(files, scratch->path() / "synced", true);
  });
  return read == 0 && quick == 0 && synced == 0 ? 0 : 1;
}
