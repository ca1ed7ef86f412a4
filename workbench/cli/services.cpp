// SPDX-License-Identifier: MIT
#include "cli/services.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace wb {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

fs::path default_cache(const Environment& environment) {
  if (!environment.xdg_cache_home.empty()) {
    return fs::path(environment.xdg_cache_home) / "sdpa-workbench";
  }
  if (!environment.home.empty()) return fs::path(environment.home) / ".cache" / "sdpa-workbench";
  return fs::path(".cache") / "sdpa-workbench";
}

/// The interpreter for Python subjects: --python, else the active virtual environment's, else a
/// .venv beside the sessions (what `make` creates), else python3.
std::string choose_python(const GlobalOptions& options, const Environment& environment) {
  if (!options.python.empty()) return options.python;
  std::error_code error;
  for (const fs::path& venv : {fs::path(environment.virtual_env), fs::path(".venv")}) {
    if (venv.empty()) continue;
    const fs::path python = fs::absolute(venv, error) / "bin" / "python3";
    if (fs::exists(python, error)) return python.string();
  }
  return "python3";
}

}  // namespace

Environment Environment::read() {
  Environment environment;
  environment.home = variable("HOME");
  environment.xdg_cache_home = variable("XDG_CACHE_HOME");
  environment.virtual_env = variable("VIRTUAL_ENV");
  environment.no_color = std::getenv("NO_COLOR") != nullptr;
  return environment;
}

fs::path executable_folder() {
  std::array<char, 4096> buffer{};
  const ssize_t length = readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (length <= 0 || static_cast<std::size_t>(length) == buffer.size()) return {};
  return fs::path(std::string(buffer.data(), static_cast<std::size_t>(length))).parent_path();
}

SearchPath make_search_path(const GlobalOptions& options, const fs::path& executable) {
  SearchPath search_path;
  search_path.roots.emplace_back(".");
  for (const fs::path& path : options.paths) search_path.roots.push_back(path);
  if (executable.empty()) return search_path;
  std::error_code error;
  // Installed: <prefix>/bin and <prefix>/share. In a checkout: build/<preset> below the root.
  for (const fs::path& candidate : {executable.parent_path() / "share" / "sdpa-workbench",
                                    executable / "share", executable.parent_path().parent_path()}) {
    if (fs::exists(candidate / "kernels" / "suites.json", error)) {
      search_path.roots.push_back(candidate);
      break;
    }
  }
  return search_path;
}

std::string find_worker(const GlobalOptions& options, const fs::path& executable) {
  if (!options.worker.empty()) return options.worker;
  std::error_code error;
  const fs::path beside = executable / "sdpa-wb-worker";
  if (options.transport.empty() && fs::exists(beside, error)) return beside.string();
  return "sdpa-wb-worker";
}

Services make_services(const GlobalOptions& options, const Environment& environment,
                       FileSystem& file_system, const Clock& clock, ProgressSink progress,
                       const std::atomic<bool>* stop_requested) {
  const fs::path executable = executable_folder();
  const TransportSpec transport{options.transport, find_worker(options, executable)};
  BuildOptions build;
  build.allowed_includes = options.allowed_includes;
  protocol::HelloArgs hello;
  hello.python = choose_python(options, environment);
  hello.cpu_set = options.cpu_set;
  hello.threads = options.threads;
  return Services{.file_system = file_system,
                  .clock = clock,
                  .search_path = make_search_path(options, executable),
                  .cache_root = options.cache.empty() ? default_cache(environment) : options.cache,
                  .sessions_root = options.sessions_root,
                  .toolchain = std::make_shared<CpuToolchain>(
                      options.compiler.empty() ? "g++" : options.compiler),
                  .build_options = build,
                  .open_transport = [transport] { return open_command_transport(transport); },
                  .hello = hello,
                  .progress = std::move(progress),
                  .stop_requested = stop_requested,
                  .workbench_version = WB_VERSION};
}

}  // namespace wb
