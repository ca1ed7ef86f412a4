// SPDX-License-Identifier: MIT
// The services that the command line gives the engine: search path, cache, compiler, worker. They
// come from options, the environment (read only here) and the place of the executable.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/services.hpp"

namespace wb::cli {

constexpr std::int64_t k_most_threads = 4'096, k_most_gpu = 4'096;
constexpr std::array<std::string_view, 4> k_isolation_levels{"rlimits", "landlock", "seccomp",
                                                             "namespaces"};

/// Options of every command.
struct GlobalOptions {
  bool json = false, quiet = false, no_color = false, detach = false;
  fs::path session, cache, sessions_root = "sessions";
  fs::path programs;  ///< folder of sdpa-wb and its worker; empty: that of the running executable
  std::vector<fs::path> paths;
  std::vector<fs::path> allowed_includes;
  std::string compiler, nvcc, host_compiler, worker, python, cpu_set, request_id;
  std::string isolation, device_lock;
  std::string on_event;                ///< shell command that gets milestones
  std::vector<std::string> transport;  ///< command prefix, one word each
  std::int64_t threads = 0;            ///< at most k_most_threads
  std::int64_t gpu = 0;                ///< at most k_most_gpu
};

/// The supported environment variables; docs/guide/command_line.md lists them.
struct Environment {
  std::string home, xdg_cache_home, xdg_data_home, virtual_env;
  std::string cudacxx, cuda_home, cuda_path, device_lock;
  bool no_color = false;
  static Environment read();
};

/// Checks ranges, and that named programs, CPUs and folders exist. With a transport, those of the
/// worker's machine are not checked. Errors: usage, naming the option.
Result<void> check_options(const GlobalOptions& options);

/// The folder of the running executable; empty when unknown.
fs::path executable_folder();

/// ./, then each --path, then the installed set (find_installed_root).
variant::SearchPath make_search_path(const GlobalOptions& options, const fs::path& executable);

/// --worker, else beside the executable, else the name in PATH.
std::string find_worker(const GlobalOptions& options, const fs::path& executable);

engine::Services make_services(const GlobalOptions& options, const Environment& environment,
                               FileSystem& file_system, const Clock& clock,
                               engine::ProgressSink progress,
                               const std::atomic<bool>* stop_requested);

}  // namespace wb::cli
