// SPDX-License-Identifier: MIT
#include "engine/worker.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "device/device.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/spending.hpp"
#include "variant/compile_sandbox.hpp"

namespace wb::engine {

using session::SessionView;

namespace {

constexpr std::size_t k_value_max_bytes = 160;

/// The CPU set at the end of a CPU device's id, "cpu:<model>:<set>".
std::string cpu_set_of(const std::string& device_id) {
  if (!device_id.starts_with("cpu:")) return {};
  return device_id.substr(device_id.rfind(':') + 1);
}

std::string suite_text(const Json& suite) {
  const Json& problems = member_of(suite, "problems");
  std::string identity;
  for (const Json& item : problems) {
    identity +=
        fmt::format("{} {} {}\n", text_of(item, "problem"), value_text(member_of(item, "weight")),
                    value_text(member_of(item, "held_out")));
  }
  return fmt::format("{} ({} problems, {})", text_of(suite, "name"), problems.size(),
                     short_hash(sha256_hex(identity)));
}

}  // namespace

protocol::HelloArgs Worker::wanted_hello() const {
  protocol::HelloArgs args = m_context.services.hello;
  args.gpu = m_context.settings.backend == "cuda" ? std::max<std::int64_t>(args.gpu, 0) : -1;
  if (m_context.session) {
    const auto view = m_context.session->current(session::FoldDepth::brief);
    if (view.ok() && (*view)->environment) {
      return as_recorded(args, (*view)->environment->payload, device::allowed_cpus());
    }
  }
  return args;
}

Outcome<runner::WorkerClient*> Worker::need() {
  if (client && client->alive() && fits) return &*client;
  const protocol::HelloArgs wanted = wanted_hello();
  if (client && client->alive() && wanted == m_hello_args) {
    fits = true;
    return &*client;
  }
  if (wanted != m_hello_args) device.reset();
  drop();
  auto transport = m_context.services.open_transport();
  if (!transport) {
    return Failure{Invalidity::environment, transport.error().message(), ""};
  }
  client.emplace(*std::move(transport));
  auto greeting = client->hello(wanted);
  if (!greeting) {
    drop();
    return std::move(greeting).error();
  }
  hello = *std::move(greeting);
  m_hello_args = wanted;
  fits = true;
  if (!device) device = hello->device;
  return &*client;
}

void Worker::use_device_of(const variant::Manifest& manifest) {
  use_backend(variant::runs_on_gpu(manifest) ? "cuda" : "cpu");
}

void Worker::use_backend(std::string_view backend) {
  if (m_context.session || m_context.settings.backend == backend) return;
  m_context.settings.backend = backend;
  drop();
  hello.reset();
  device.reset();
}

void Worker::drop() {
  m_context.spending->collect_worker_time();  // time of a worker that died was spent all the same
  client.reset();
}

Circumstances circumstances_of_environment(const Json& environment) {
  const Json& device = member_of(environment, "device");
  const Json& toolchain = member_of(environment, "toolchain");
  const Json& worker = member_of(environment, "worker");
  const Json& host = member_of(environment, "host");
  const Json& gpu = member_of(environment, "gpu");
  Circumstances all;
  all["device"] = text_of(device, "name");
  all["architecture"] = text_of(device, "architecture");
  all["cpu set"] = cpu_set_of(text_of(device, "id"));
  if (all["cpu set"].empty()) all["device id"] = text_of(device, "id");
  all["units"] = value_text(member_of(device, "units"));
  all["threads"] = value_text(member_of(worker, "threads"));
  all["compiler"] = text_of(toolchain, "compiler");
  all["target"] = text_of(toolchain, "target");
  all["worker"] = text_of(worker, "version");
  all["isolation"] = text_of(worker, "isolation");
  all["python"] = text_of(worker, "python");
  all["driver"] = text_of(gpu, "driver_version");
  all["persistence mode"] = value_text(member_of(gpu, "persistence_mode"));
  all["power limit (W)"] = value_text(member_of(gpu, "power_limit_w"));
  all["highest SM clock (MHz)"] = value_text(member_of(gpu, "max_sm_clock_mhz"));
  const Json& limits = member_of(environment, "cpu_limits");
  if (limits.is_object()) {  // absent from older sessions
    const Json& quota = member_of(member_of(limits, "quota"), "cpus");
    all["CPU quota"] = quota.is_number() ? value_text(quota) + " CPUs" : "none";
  }
  all["system"] = text_of(host, "os") + " " + text_of(host, "kernel");
  if (all["system"] == " ") all["system"].clear();
  return all;
}

protocol::HelloArgs as_recorded(protocol::HelloArgs asked, const Json& environment,
                                const std::vector<int>& allowed) {
  if (!asked.cpu_set.empty()) return asked;
  const std::string set = cpu_set_of(text_of(member_of(environment, "device"), "id"));
  const auto cpus = device::parse_cpu_set(set);
  if (!cpus.ok() || !std::includes(allowed.begin(), allowed.end(), cpus->begin(), cpus->end())) {
    return asked;
  }
  asked.cpu_set = set;
  const Json& threads = member_of(member_of(environment, "worker"), "threads");
  if (asked.threads == 0 && threads.is_number_integer())
    asked.threads = threads.get<std::int64_t>();
  return asked;
}

Circumstances circumstances_of(const SessionView& view) {
  Circumstances all =
      circumstances_of_environment(view.environment ? view.environment->payload : Json());
  const Json& opened = view.opened.payload;
  all["workbench"] = text_of(opened, "workbench_version");
  all["effort"] = text_of(opened, "effort");
  all["suite"] = suite_text(member_of(opened, "suite"));
  all["objective"] = value_text(member_of(opened, "objective"));
  for (const Json& rival : member_of(opened, "rivals")) {
    const std::string name = value_text(rival);
    all["rival " + name] = subject_versions(view, name);
    all["sources of rival " + name] = short_hash(subject_variant_id(view, name));
  }
  return all;
}

std::vector<Change> changes_between(const Circumstances& before, const Circumstances& after) {
  std::vector<Change> changes;
  for (const auto& [what, was] : before) {
    const auto now = after.find(what);
    if (now == after.end() || was.empty() || now->second.empty() || now->second == was) continue;
    changes.push_back({what, was, now->second});
  }
  return changes;
}

Json to_json(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const Change& change : changes) {
    list.push_back({{"what", change.what}, {"before", change.before}, {"after", change.after}});
  }
  return list;
}

std::string to_lines(const std::vector<Change>& changes) {
  std::string lines;
  for (const Change& change : changes) {
    lines +=
        fmt::format("- {}: {} -> {}\n", change.what, printable(change.before, k_value_max_bytes),
                    printable(change.after, k_value_max_bytes));
  }
  return lines;
}

Result<Json> environment_json(Context& context) {
  auto worker = context.worker->need();
  if (!worker) {
    return Error{ErrorCode::environment, "start the worker for", "this session",
                 worker.error().message, "run `sdpa-wb doctor`"};
  }
  const Services& services = context.services;
  const bool with_nvcc = context.settings.backend == "cuda" && services.cuda_toolchain != nullptr;
  WB_TRY_ASSIGN(const variant::CompilerIdentity compiler,
                (with_nvcc ? services.cuda_toolchain : services.toolchain)->identity());
  const protocol::HelloResult& hello = *context.worker->hello;
  utsname host{};
  uname(&host);
  Json environment{
      {"device", to_json(hello.device)},
      {"toolchain",
       {{"compiler", compiler.version},
        {"path", fs::path(compiler.path).filename().string()},
        {"target", services.build_options.target},
        {"sandbox", variant::compile_sandbox_word()}}},
      {"worker",
       {{"version", hello.worker_version},
        {"transport", (*worker)->description()},
        {"isolation", hello.isolation},
        {"python", hello.python.empty() ? "none" : "present"},
        {"threads", hello.threads}}},
      {"call_overhead_us", hello.empty_call_us},
      {"host", {{"os", std::string(host.sysname)}, {"kernel", std::string(host.release)}}}};
  if (hello.gpu) environment["gpu"] = to_json(*hello.gpu);
  if (hello.cpu_limits) {
    Json limits = to_json(*hello.cpu_limits);
    if (limits.contains("quota"))
      limits["quota"].erase("source");  // the path may contain a user name
    environment["cpu_limits"] = std::move(limits);
  }
  return environment;
}

Result<std::vector<std::string>> environment_since_open(Context& context) {
  WB_TRY_ASSIGN(const session::SessionView view, context.session->view(session::FoldDepth::brief));
  if (!view.environment) return std::vector<std::string>{};
  WB_TRY_ASSIGN(const Json now, environment_json(context));
  std::vector<std::string> texts;
  for (const Change& change :
       changes_between(circumstances_of_environment(view.environment->payload),
                       circumstances_of_environment(now))) {
    if (change.what == "device" || change.what == "architecture") {
      return Error{
          ErrorCode::environment, "go on with", context.session->folder().string(),
          fmt::format("it was measured on {}, and this is {}", change.before, change.after),
          "go on there, or open a session of its own here: noise floors and baseline hold "
          "for one device"};
    }
    texts.push_back(fmt::format("{}: {} -> {}", change.what, change.before, change.after));
  }
  context.device_checked = true;
  return texts;
}

}  // namespace wb::engine
