// SPDX-License-Identifier: MIT
// A log of 100,000 events as a long session leaves it, for the benches of session and report, and
// the file system that writes it without 100,000 syncs.
#pragma once

#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include "core/json.hpp"
#include "session/session.hpp"

namespace wb::testing {

inline constexpr int k_iterations = 500;
inline constexpr int k_turns_per_iteration = 170;
inline constexpr int k_others_per_iteration = 30;
inline constexpr std::int64_t k_events = 100'000;

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
  Result<void> make_directory(const fs::path& path) override { return m_real.make_directory(path); }
  Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) override {
    return std::unique_ptr<AppendFile>(std::make_unique<UnsyncedFile>(path));
  }

 private:
  RealFileSystem m_real;
};

inline Json turn(std::mt19937& random, std::int64_t iteration, int i) {
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

inline Json verdict(std::int64_t iteration, int i) {
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

inline Json comparison(std::int64_t iteration) {
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

/// Event `i` of an iteration that is not a turn: Log is an EventLog or a Session.
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

/// Writes events.jsonl with k_events events into a new folder; false when it could not.
inline bool write_large_log(const fs::path& folder) {
  UnsyncedFileSystem files;
  const RealClock clock;
  std::mt19937 random(7);
  fs::create_directories(folder);
  auto log = session::EventLog::create(files, clock, folder);
  if (!log.ok()) return false;
  for (std::int64_t iteration = 0; iteration < k_iterations; ++iteration) {
    other_event(*log, iteration, 0);
    for (int i = 0; i < k_turns_per_iteration; ++i) {
      if (!log->append("turn_measured", turn(random, iteration, i)).ok()) return false;
    }
    for (int i = 1; i < k_others_per_iteration; ++i) other_event(*log, iteration, i);
  }
  return log->size() == k_events;
}

}  // namespace wb::testing
