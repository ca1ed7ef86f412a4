// SPDX-License-Identifier: MIT
#include "cli/services.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/json.hpp"
#include "core/process.hpp"
#include "device/device.hpp"
#include "variant/variant.hpp"
#include "verbs/answer_forms.hpp"

namespace wb::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Relative paths are ignored there (XDG Base Directory Specification).
std::string absolute_folder(const char* name) {
  std::string folder = variable(name);
  return folder.starts_with('/') ? folder : std::string();
}

fs::path default_cache(const Environment& environment) {
  if (!environment.xdg_cache_home.empty()) {
    return fs::path(environment.xdg_cache_home) / "sdpa-workbench";
  }
  if (!environment.home.empty()) return fs::path(environment.home) / ".cache" / "sdpa-workbench";
  return fs::path(".cache") / "sdpa-workbench";
}

/// Empty when the home folder is unknown.
fs::path data_folder(const Environment& environment) {
  if (!environment.xdg_data_home.empty()) {
    return fs::path(environment.xdg_data_home) / "sdpa-workbench";
  }
  if (environment.home.empty()) return {};
  return fs::path(environment.home) / ".local" / "share" / "sdpa-workbench";
}

/// The interpreter for Python subjects: --python, else the active virtual environment's, else a
/// .venv beside the sessions (made by `make`), else that of the environment in which this program
/// is installed, else python3.
std::string choose_python(const GlobalOptions& options, const Environment& environment,
                          const fs::path& executable) {
  if (!options.python.empty()) return options.python;
  std::error_code error;
  for (const fs::path& venv : {fs::path(environment.virtual_env), fs::path(".venv")}) {
    if (venv.empty()) continue;
    const fs::path python = fs::absolute(venv, error) / "bin" / "python3";
    if (fs::exists(python, error)) return python.string();
  }
  const fs::path beside = executable / "python3";
  if (options.transport.empty() && !executable.empty() && fs::exists(beside, error)) {
    return beside.string();
  }
  return "python3";
}

/// Runs the command with the milestone's word in $WB_EVENT and all of it as JSON in $1. A failure
/// or hang is reported and never delays a session for long.
std::function<void(const Json&)> milestone_sink(const std::string& command) {
  if (command.empty()) return {};
  return [command](const Json& milestone) {
    ProcessSpec spec;
    spec.argv = {"sh", "-c", command, "sdpa-wb", verbs::json_text(milestone)};
    spec.env = {{"WB_EVENT", milestone.value("event", "")}};
    spec.deadline = std::chrono::seconds(10);
    const auto done = run_process(spec);
    std::string why;
    if (!done) {
      why = done.error().message();
    } else if (done->timed_out) {
      why = "it ran longer than 10 s and was ended";
    } else if (!done->success()) {
      why = "exit code " + fmt::to_string(done->exit_code.value_or(-1));
    }
    if (!why.empty()) std::fputs(("sdpa-wb: --on-event: " + why + "\n").c_str(), stderr);
  };
}

Error wrong_option(const std::string& option, const std::string& value, std::string cause,
                   std::string next) {
  return Error{ErrorCode::usage, "use " + option, printable(value), std::move(cause),
               std::move(next)};
}

Result<void> check_range(const std::string& option, std::int64_t value, std::int64_t most,
                         std::string_view what) {
  if (value >= 0 && value <= most) return {};
  return wrong_option(option, fmt::to_string(value), fmt::format("it is not from 0 to {}", most),
                      fmt::format("name a {}", what));
}

Result<void> check_isolation(const std::string& level) {
  const auto& levels = k_isolation_levels;
  if (level.empty() || std::find(levels.begin(), levels.end(), level) != levels.end()) return {};
  return wrong_option("--isolation", level, "there is no such level",
                      fmt::format("name one of {}", fmt::join(levels, ", ")));
}

Result<void> check_paths(const std::vector<fs::path>& paths) {
  std::error_code error;
  for (const fs::path& path : paths) {
    if (fs::is_directory(path, error)) continue;
    return wrong_option("--path", path.string(), "there is no such folder",
                        "name a folder with kernels/ or playbooks/");
  }
  return {};
}

Result<void> check_cpus(const GlobalOptions& options) {
  WB_TRY(check_range("--threads", options.threads, k_most_threads, "number of threads, 0 for all"));
  WB_TRY(check_range("--gpu", options.gpu, k_most_gpu, "GPU, counted from 0 as CUDA does"));
  if (options.cpu_set.empty()) return {};
  const auto cpus = device::parse_cpu_set(options.cpu_set);
  if (!cpus) {
    return wrong_option("--cpu-set", options.cpu_set, cpus.error().cause, "write it like 0-3,8");
  }
  if (!options.transport.empty()) return {};
  const std::vector<int> allowed = device::allowed_cpus();
  for (const int cpu : *cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) != allowed.end()) continue;
    return wrong_option("--cpu-set", options.cpu_set,
                        fmt::format("this process may run on {}, and not on CPU {}",
                                    device::cpu_set_text(allowed), cpu),
                        "name some of those");
  }
  return {};
}

/// Checks that the folder exists, or that a writable parent exists.
Result<void> check_cache(const fs::path& cache) {
  if (cache.empty()) return {};
  if (cache.string().find_first_of("\n\r") != std::string::npos) {
    return wrong_option("--cache", cache.string(),
                        "its name holds a line end, which a compiler's list of files cannot tell",
                        "name another folder");
  }
  std::error_code error;
  fs::path place = fs::absolute(cache, error);
  const auto refused = [&](int number) {
    return wrong_option("--cache", cache.string(),
                        place.string() + ": " + std::generic_category().message(number),
                        "name a folder that is there or can be made");
  };
  if (fs::is_directory(place, error)) return {};
  while (!fs::exists(fs::symlink_status(place, error)) && place.has_relative_path()) {
    place = place.parent_path();
  }
  if (!fs::is_directory(place, error)) return refused(ENOTDIR);
  if (::access(place.c_str(), W_OK | X_OK) != 0) return refused(errno);
  return {};
}

}  // namespace

Result<void> check_options(const GlobalOptions& options) {
  const bool is_here = options.transport.empty();
  const std::string transport = is_here ? std::string() : options.transport.front();
  const std::array<std::pair<const char*, std::string>, 6> programs{
      {{"--compiler", options.compiler},
       {"--nvcc", options.nvcc},
       {"--host-compiler", options.host_compiler},
       {"--transport", transport},
       {"--worker", is_here ? options.worker : std::string()},
       {"--python", is_here ? options.python : std::string()}}};
  for (const auto& [option, program] : programs) {
    if (program.empty()) continue;
    if (const auto found = find_program(program); !found) {
      return wrong_option(option, program, found.error().cause, "name a program that is there");
    }
  }
  WB_TRY(check_cpus(options));
  WB_TRY(check_isolation(options.isolation));
  WB_TRY(check_paths(options.paths));
  return check_cache(options.cache);
}

Environment Environment::read() {
  Environment environment;
  environment.home = variable("HOME");
  environment.xdg_cache_home = absolute_folder("XDG_CACHE_HOME");
  environment.xdg_data_home = absolute_folder("XDG_DATA_HOME");
  environment.virtual_env = variable("VIRTUAL_ENV");
  environment.cudacxx = variable("CUDACXX");
  environment.cuda_home = variable("CUDA_HOME");
  environment.cuda_path = variable("CUDA_PATH");
  environment.device_lock = variable("WB_DEVICE_LOCK");
  environment.no_color = std::getenv("NO_COLOR") != nullptr;
  return environment;
}

fs::path executable_folder() {
  std::array<char, 4096> buffer{};
  const ssize_t length = readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (length <= 0) {  // without /proc: the name from the kernel
    const char* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    std::error_code fault;
    const fs::path program = fs::canonical(started == nullptr ? "" : started, fault);
    return fault ? fs::path() : program.parent_path();
  }
  if (static_cast<std::size_t>(length) == buffer.size()) return {};
  return fs::path(std::string(buffer.data(), static_cast<std::size_t>(length))).parent_path();
}

variant::SearchPath make_search_path(const GlobalOptions& options, const fs::path& executable) {
  variant::SearchPath search_path;
  search_path.roots.emplace_back(".");
  for (const fs::path& path : options.paths) search_path.roots.push_back(path);
  if (const auto root = variant::find_installed_root(executable))
    search_path.roots.push_back(*root);
  return search_path;
}

std::string find_worker(const GlobalOptions& options, const fs::path& executable) {
  if (!options.worker.empty()) return options.worker;
  std::error_code error;
  const fs::path beside = executable / "sdpa-wb-worker";
  if (options.transport.empty() && fs::exists(beside, error)) return beside.string();
  return "sdpa-wb-worker";
}

engine::Services make_services(const GlobalOptions& options, const Environment& environment,
                               FileSystem& file_system, const Clock& clock,
                               engine::ProgressSink progress,
                               const std::atomic<bool>* stop_requested) {
  const fs::path executable = options.programs.empty() ? executable_folder() : options.programs;
  const runner::TransportSpec transport{options.transport, find_worker(options, executable)};
  variant::BuildOptions build;
  build.allowed_includes = options.allowed_includes;
  const variant::CudaPlaces cuda{options.nvcc, environment.cudacxx, environment.cuda_home,
                                 environment.cuda_path, options.host_compiler};
  protocol::HelloArgs hello;
  hello.python = choose_python(options, environment, executable);
  hello.cpu_set = options.cpu_set;
  hello.threads = options.threads;
  hello.gpu = options.gpu;
  hello.isolation = options.isolation;
  hello.lock = options.device_lock.empty() ? environment.device_lock : options.device_lock;
  return engine::Services{
      .file_system = file_system,
      .clock = clock,
      .search_path = make_search_path(options, executable),
      .cache_root = options.cache.empty() ? default_cache(environment) : options.cache,
      .sessions_root = options.sessions_root,
      .data_root = data_folder(environment),
      .toolchain = std::make_shared<variant::CpuToolchain>(
          options.compiler.empty() ? "g++" : options.compiler),
      .cuda_toolchain = std::make_shared<variant::CudaToolchain>(cuda),
      .build_options = build,
      .open_transport = [transport] { return runner::open_command_transport(transport); },
      .hello = hello,
      .progress = std::move(progress),
      .on_milestone = milestone_sink(options.on_event),
      .stop_requested = stop_requested,
      .workbench_version = WB_VERSION};
}

}  // namespace wb::cli
