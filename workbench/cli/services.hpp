// SPDX-License-Identifier: MIT
// What the command line gives the engine: search path, cache, compiler, worker, from options, the
// environment (read here only) and the place of the executable.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "engine/engine.hpp"

namespace wb::cli {

constexpr std::int64_t k_most_threads = 4'096, k_most_gpu = 4'096;
constexpr std::array<std::string_view, 4> k_isolation_levels{"rlimits", "landlock", "seccomp",
                                                             "namespaces"};

/// Options that every command takes.
struct GlobalOptions {
  bool json = false, quiet = false, no_color = false, detach = false;
  fs::path session, cache, sessions_root = "sessions";
  fs::path programs;  ///< where sdpa-wb and its worker lie; empty: beside the running executable
  std::vector<fs::path> paths;
  std::vector<fs::path> allowed_includes;
  std::string compiler, nvcc, host_compiler, worker, python, cpu_set, request_id;
  std::string isolation, device_lock;
  std::string on_event;                ///< shell command, told of milestones
  std::vector<std::string> transport;  ///< command prefix, one word each
  std::int64_t threads = 0;            ///< at most k_most_threads
  std::int64_t gpu = 0;                ///< at most k_most_gpu
};

/// The environment variables that are honored; docs/guide/command_line.md lists them.
struct Environment {
  std::string home, xdg_cache_home, xdg_data_home, virtual_env;
  std::string cudacxx, cuda_home, cuda_path, device_lock;
  bool no_color = false;
  static Environment read();
};

/// Whether the options are in range and what they name is there: programs, CPUs, folders. With a
/// transport those of the worker's machine are not looked at. Errors: usage, naming the option.
Result<void> check_options(const GlobalOptions& options);

/// The folder of the running executable; empty when it cannot be known.
fs::path executable_folder();

/// ./, then each --path, then what was installed with the program (find_installed_root).
variant::SearchPath make_search_path(const GlobalOptions& options, const fs::path& executable);

/// --worker, else beside the executable, else the name in PATH.
std::string find_worker(const GlobalOptions& options, const fs::path& executable);

engine::Services make_services(const GlobalOptions& options, const Environment& environment,
                               FileSystem& file_system, const Clock& clock,
                               engine::ProgressSink progress,
                               const std::atomic<bool>* stop_requested);

}  // namespace wb::cli
