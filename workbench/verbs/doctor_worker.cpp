// SPDX-License-Identifier: MIT
#include "verbs/doctor_worker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/services.hpp"
#include "engine/worker.hpp"
#include "variant/variant.hpp"

namespace wb::verbs {

using engine::Context;

namespace {

/// NVML's settings, each after a comma, and then the missing ones.
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

/// Whether PyTorch's SDPA is available as a rival, tested by loading it. It is optional.
Json pytorch_row(const Context& context, runner::WorkerClient& worker, const std::string& rival,
                 std::string name) {
  const std::string next =
      "install it for the interpreter above; without it no session says how a kernel stands "
      "against PyTorch's SDPA";
  const auto variant = catalogue_of(context).find(rival);
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

/// Why subjects are not confined more strongly.
std::string isolation_advice(const protocol::HelloResult& hello, const std::string& asked) {
  if (hello.isolation.find("+namespaces") != std::string::npos) return "";
  if (!asked.empty() && asked != "namespaces") return "--isolation asks for no more";
  if (hello.device.backend == "cuda") return "";  // the strongest level there
  return "no namespaces of their own for subjects: this system or container forbids them "
         "(`unshare --user --pid --ipc --mount --fork true` says so), so that they see others' "
         "processes and objects";
}

/// The CPUs and the share of them that this machine provides, and what reduces it.
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

}  // namespace

Json check_row(std::string_view name, std::string_view state, std::string detail,
               std::string next) {
  return {
      {"name", name}, {"state", state}, {"detail", std::move(detail)}, {"next", std::move(next)}};
}

Json worker_rows(Context& context) {
  Json rows = Json::array();
  auto worker = worker_of(context).need();
  if (!worker) {
    rows.push_back(check_row("worker", "missing", worker.error().message,
                             "build or install sdpa-wb-worker beside sdpa-wb"));
    return rows;
  }
  const protocol::HelloResult& hello = *worker_of(context).hello;
  rows.push_back(check_row("worker", "ok",
                           fmt::format("{} on {}, {} threads, isolation {}", hello.worker_version,
                                       hello.device.name, hello.threads, hello.isolation),
                           isolation_advice(hello, services_of(context).hello.isolation)));
  if (hello.cpu_limits) rows.push_back(cpus_row(*hello.cpu_limits));
  const auto canary = (*worker)->canary();
  const bool healthy = canary && canary->healthy;
  rows.push_back(check_row("canary", healthy ? "ok" : "missing",
                           healthy  ? "a built-in attention ran and was right"
                           : canary ? canary->detail
                                    : canary.error().message,
                           healthy ? "" : "the machine, not a variant, is at fault"));
  rows.push_back(hello.python.empty()
                     ? check_row("python", "warning", "no interpreter for Python subjects",
                                 "install python3, or give --python")
                     : check_row("python", "ok", hello.python, ""));
  if (!hello.python.empty()) {
    rows.push_back(pytorch_row(context, **worker, "torch_cpu_sdpa", "pytorch"));
  }
  return rows;
}

Json gpu_rows(const Context& context) {
  const std::string next = "CUDA variants can be built and inspected here, not measured";
  const auto only = [](Json row) { return Json::array({std::move(row)}); };
  auto transport = services_of(context).open_transport();
  if (!transport) return only(check_row("gpu", "warning", transport.error().message(), next));
  runner::WorkerClient worker(*std::move(transport));
  protocol::HelloArgs args = services_of(context).hello;
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
  // The driver provides facts that no datasheet has, and they name it as source.
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

}  // namespace wb::verbs
