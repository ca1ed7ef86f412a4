// SPDX-License-Identifier: MIT
// `doctor`: what works on this machine, what is missing, and the one thing to do about each.
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <cstring>

#include "core/inherited.hpp"
#include "device/control_groups.hpp"
#include "engine/building.hpp"
#include "engine/verb_bodies.hpp"
#include "variant/compile_sandbox.hpp"

namespace wb::engine {
namespace {

Json check_row(std::string_view name, std::string_view state, std::string detail,
               std::string next) {
  return {
      {"name", name}, {"state", state}, {"detail", std::move(detail)}, {"next", std::move(next)}};
}

Json compiler_row(const Context& context) {
  const auto identity = context.services.toolchain->identity();
  const std::string sandbox = variant::compile_sandbox_word();
  return identity ? check_row("compiler", "ok", identity->version + ", sandbox " + sandbox,
                              sandbox != "bubblewrap"
                                  ? "install bubblewrap where user namespaces are allowed: sources "
                                    "can then take in no other files of this machine"
                                  : "")
                  : check_row("compiler", "missing", identity.error().message(),
                              "install g++ (12 or later) or clang++, or give --compiler");
}

/// nvcc is no must: without it CPU sessions run, and the cache gives what was compiled elsewhere.
Json nvcc_row(const Context& context) {
  const variant::Toolchain* toolchain = toolchain_of(context.services, variant::Backend::cuda);
  constexpr const char* k_name = "nvcc";
  if (toolchain == nullptr) return check_row(k_name, "warning", "not part of this program", "");
  const auto identity = toolchain->identity();
  if (identity) {
    return check_row(k_name, "ok", fmt::format("{}, {}", identity->version, identity->path), "");
  }
  return check_row(k_name, "warning",
                   identity.error().cause +
                       "; CUDA variants cannot be compiled here, only taken from a cache that "
                       "holds them compiled elsewhere",
                   identity.error().next);
}

Json kernels_row(const Context& context) {
  const auto entries = context.catalogue.list();
  if (entries.empty()) {
    return check_row("kernels", "missing", "no kernel folder on the search path",
                     "run in a checkout, or give --path DIR");
  }
  return check_row("kernels", "ok", fmt::format("{} found", entries.size()), "");
}

Json suites_row(const Context& context) {
  const auto suites = load_all_suites(context.services);
  return suites ? check_row("suites", "ok", fmt::format("{} found", suites->size()), "")
                : check_row("suites", "missing", suites.error().message(), "");
}

/// pip refuses a wheel below its floor; this is for programs that were copied there, or built.
Json system_row() {
  const char* const here = gnu_get_libc_version();
  const bool enough = ::strverscmp(here, WB_GLIBC_FLOOR) >= 0;
  return check_row("system", enough ? "ok" : "warning",
                   fmt::format("glibc {}; wheels need {} or newer", here, WB_GLIBC_FLOOR),
                   enough ? "" : "build from the sources on this system");
}

Json sessions_row(const Context& context) {
  const fs::path& root = context.services.sessions_root;
  std::error_code error;
  const auto space = fs::space(fs::exists(root, error) ? root : fs::path("."), error);
  if (error) return check_row("disk", "warning", error.message(), "is the folder readable?");
  const double free_gib = static_cast<double>(space.available) / (1u << 30);
  if (free_gib < 1.0) {
    return check_row("disk", "warning", fmt::format("{:.2f} GiB free for sessions", free_gib),
                     "a long session needs up to 1 GiB");
  }
  return check_row("disk", "ok", fmt::format("{:.0f} GiB free for sessions", free_gib), "");
}

/// One writer a session rests on locks, which some network file systems lack or only pretend.
Json locks_row(const Context& context) {
  const fs::path& root = context.services.sessions_root;
  std::error_code error;
  const std::string next = "keep sessions on a local disk: --sessions DIR";
  const auto folder =
      TempDirectory::create_in(fs::exists(root, error) ? root : fs::path("."), ".wb-doctor-");
  if (!folder.ok()) return check_row("locks", "warning", folder.error().message(), next);
  FileSystem& files = context.services.file_system;
  const auto held = files.open_append(folder->path() / "probe");
  if (!held.ok()) return check_row("locks", "warning", held.error().message(), next);
  const auto second = files.open_append(folder->path() / "probe");
  if (!second.ok() && second.error().code == ErrorCode::locked) {
    return check_row("locks", "ok", "one writer a session", "");
  }
  return check_row("locks", "warning",
                   "two writers can hold the lock of one file in the sessions' folder", next);
}

/// Limits and priorities that this process was started with, and its worker and subjects with it.
Json process_row() {
  std::string detail, next;
  std::vector<Hindrance> hindrances = inherited_hindrances();
  constexpr std::int64_t k_enough_tasks = 256;
  if (const auto tasks = device::task_limit(); tasks && tasks->tasks < k_enough_tasks) {
    hindrances.push_back(
        {fmt::format("at most {} processes and threads of its control group ({})", tasks->tasks,
                     tasks->source),
         "raise pids.max there (TasksMax of systemd, --pids-limit of a container)"});
  }
  for (const Hindrance& hindrance : hindrances) {
    detail += (detail.empty() ? "" : "; ") + hindrance.what;
    next += (next.empty() ? "" : "; ") + hindrance.cure;
  }
  if (detail.empty()) return check_row("process", "ok", "no limit or priority in the way", "");
  return check_row("process", "warning", std::move(detail), std::move(next));
}

/// What NVML said of the settings, each with a comma before it; what it did not say, last.
std::string gpu_settings_text(const measure::GpuSettings& settings) {
  std::string text;
  if (!settings.driver_version.empty()) text += ", driver " + settings.driver_version;
  if (settings.max_sm_clock_mhz) {
    text += fmt::format(", SM clock up to {:.0f} MHz", *settings.max_sm_clock_mhz);
  }
  if (settings.max_memory_clock_mhz) {
    text += fmt::format(", memory clock up to {:.0f} MHz", *settings.max_memory_clock_mhz);
  }
  if (settings.power_limit_w)
    text += fmt::format(", power limit {:.0f} W", *settings.power_limit_w);
  if (settings.persistence_mode) {
    text += fmt::format(", persistence mode {}", *settings.persistence_mode ? "on" : "off");
  }
  for (const auto& [what, why] : settings.unknown) {
    text += fmt::format(", {} unknown ({})", what, printable(why, 120));
  }
  return text;
}

/// Whether PyTorch's SDPA can be had as a rival, by loading it as one. It is no must.
Json pytorch_row(const Context& context, runner::WorkerClient& worker, const std::string& rival,
                 std::string name) {
  const std::string next =
      "install it for the interpreter above; without it no session says how a kernel stands "
      "against PyTorch's SDPA";
  const auto variant = context.catalogue.find(rival);
  if (!variant) return check_row(name, "warning", variant.error().message(), "");
  const auto loaded = worker.load(*variant, {});
  if (!loaded) {
    const bool is_machine = loaded.error().invalidity == Invalidity::environment;
    return check_row(
        name, "warning", printable(loaded.error().message, 300),
        is_machine ? "the machine or the interpreter, not the rival, is at fault" : next);
  }
  (void)worker.unload(loaded->handle);
  std::string versions;
  for (const char* key : {"torch", "cuda", "cudnn"}) {
    const std::string version = loaded->versions.value(key, "");
    if (!version.empty()) versions += (versions.empty() ? "" : ", ") + (key + (" " + version));
  }
  return check_row(name, "ok", versions.empty() ? "loads, and names no version" : versions, "");
}

/// What keeps subjects from being confined more strongly.
std::string isolation_advice(const protocol::HelloResult& hello, const std::string& asked) {
  if (hello.isolation.find("+namespaces") != std::string::npos) return "";
  if (!asked.empty() && asked != "namespaces") return "--isolation asks for no more";
  if (hello.device.backend == "cuda") return "";  // as far as it goes there
  return "no namespaces of their own for subjects: this system or container forbids them "
         "(`unshare --user --pid --ipc --mount --fork true` says so), so that they see others' "
         "processes and objects";
}

/// Which CPUs and how much of them this machine gives, and what takes some of it away unseen.
Json cpus_row(const device::CpuLimits& limits) {
  const std::size_t allowed = limits.allowed.size();
  const bool is_all = limits.online.empty() || limits.online.size() <= allowed;
  std::string detail =
      fmt::format("{} of {} CPUs ({})", allowed, std::max(limits.online.size(), allowed),
                  device::cpu_set_text(limits.allowed));
  if (!is_all) detail += ", by a cpuset or an affinity";
  std::string next;
  if (device::is_short(limits)) {
    detail += "; a CPU quota limits it to " + device::quota_text(limits);
    next =
        "turns that the quota stops do not count: start without it (docker --cpus, limits.cpu of "
        "Kubernetes, CPUQuota= of systemd) and give whole CPUs (--cpuset-cpus, AllowedCPUs=)";
  } else if (!limits.siblings.empty()) {
    const std::string siblings = device::cpu_set_text(limits.siblings);
    detail += fmt::format("; {} share cores with them", siblings);
    next = fmt::format("turns beside work on {} do not count: keep those CPUs idle, or allow them",
                       siblings);
  }
  const std::string_view state = next.empty() ? "ok" : "warning";
  return check_row("cpus", state, std::move(detail), std::move(next));
}

/// A GPU is no must either. A worker of its own is asked: one measures on one device.
Json gpu_rows(const Context& context) {
  const std::string next = "CUDA variants can be built and inspected here, not measured";
  const auto only = [](Json row) { return Json::array({std::move(row)}); };
  auto transport = context.services.open_transport();
  if (!transport) return only(check_row("gpu", "warning", transport.error().message(), next));
  runner::WorkerClient worker(*std::move(transport));
  protocol::HelloArgs args = context.services.hello;
  args.gpu = std::max<std::int64_t>(args.gpu, 0);
  const auto hello = worker.hello(args);
  if (!hello) return only(check_row("gpu", "warning", hello.error().message, next));
  if (hello->device.backend != "cuda") {
    return only(check_row("gpu", "warning", "the worker measures on " + hello->device.name, next));
  }
  const auto canary = worker.canary();
  if (!canary || !canary->healthy) {
    return only(check_row("gpu", "warning", canary ? canary->detail : canary.error().message,
                          "the machine, not a variant, is at fault"));
  }
  const bool wakes_up = hello->gpu && hello->gpu->persistence_mode == false;
  // The driver tells the facts that no datasheet does, and they name it.
  const auto& told = hello->device.memory_bytes;
  Json rows = only(
      check_row("gpu", "ok",
                fmt::format("{}, {}, {}, {}{}; a built-in attention ran and was right",
                            hello->device.name, hello->device.architecture, hello->device.id,
                            told ? told->source : "driver unknown",
                            hello->gpu ? gpu_settings_text(*hello->gpu) : ""),
                wakes_up ? "turn persistence mode on (`nvidia-smi -pm 1`): without it the driver "
                           "starts anew for each first process"
                         : ""));
  if (!hello->python.empty()) {
    rows.push_back(pytorch_row(context, worker, "torch_default", "pytorch on the gpu"));
  }
  return rows;
}

}  // namespace

Result<Json> verb_doctor(Context& context) {
  Json checks = Json::array({compiler_row(context), nvcc_row(context), kernels_row(context),
                             suites_row(context), system_row(), process_row(),
                             sessions_row(context), locks_row(context)});
  auto worker = context.need_worker();
  if (!worker) {
    checks.push_back(check_row("worker", "missing", worker.error().message,
                               "build or install sdpa-wb-worker beside sdpa-wb"));
  } else {
    const protocol::HelloResult& hello = *context.hello;
    checks.push_back(
        check_row("worker", "ok",
                  fmt::format("{} on {}, {} threads, isolation {}", hello.worker_version,
                              hello.device.name, hello.threads, hello.isolation),
                  isolation_advice(hello, context.services.hello.isolation)));
    if (hello.cpu_limits) checks.push_back(cpus_row(*hello.cpu_limits));
    const auto canary = (*worker)->canary();
    const bool healthy = canary && canary->healthy;
    checks.push_back(check_row("canary", healthy ? "ok" : "missing",
                               healthy  ? "a built-in attention ran and was right"
                               : canary ? canary->detail
                                        : canary.error().message,
                               healthy ? "" : "the machine, not a variant, is at fault"));
    checks.push_back(hello.python.empty()
                         ? check_row("python", "warning", "no interpreter for Python subjects",
                                     "install python3, or give --python")
                         : check_row("python", "ok", hello.python, ""));
    if (!hello.python.empty()) {
      checks.push_back(pytorch_row(context, **worker, "torch_cpu_sdpa", "pytorch"));
    }
  }
  for (Json& row : gpu_rows(context)) checks.push_back(std::move(row));
  bool healthy = true;
  for (const Json& row : checks) healthy = healthy && row["state"] != "missing";
  return Json{{"healthy", healthy}, {"checks", std::move(checks)}};
}

}  // namespace wb::engine
