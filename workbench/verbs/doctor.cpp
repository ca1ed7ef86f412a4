// SPDX-License-Identifier: MIT
// `doctor`: what works on this machine, what is missing, and the remedy for each.
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/inherited.hpp"
#include "core/json.hpp"
#include "device/cpu_limits.hpp"
#include "engine/parts.hpp"
#include "engine/services.hpp"
#include "engine/subject.hpp"
#include "variant/compile_sandbox.hpp"
#include "variant/variant.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/doctor_worker.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;

namespace {

Json compiler_row(const Context& context) {
  const auto identity = services_of(context).toolchain->identity();
  const std::string sandbox = variant::compile_sandbox_word();
  return identity ? check_row("compiler", "ok", identity->version + ", sandbox " + sandbox,
                              sandbox != "bubblewrap"
                                  ? "install bubblewrap where user namespaces are allowed: sources "
                                    "can then take in no other files of this machine"
                                  : "")
                  : check_row("compiler", "missing", identity.error().message(),
                              "install g++ (12 or later) or clang++, or give --compiler");
}

/// nvcc is optional: without it CPU sessions run, and the cache provides artifacts compiled
/// elsewhere.
Json nvcc_row(const Context& context) {
  const variant::Toolchain* toolchain = toolchain_of(services_of(context), variant::Backend::cuda);
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
  const auto entries = catalogue_of(context).list();
  if (entries.empty()) {
    return check_row("kernels", "missing", "no kernel folder on the search path",
                     "run in a checkout, or give --path DIR");
  }
  return check_row("kernels", "ok", fmt::format("{} found", entries.size()), "");
}

Json suites_row(const Context& context) {
  const auto suites = load_all_suites(services_of(context));
  return suites ? check_row("suites", "ok", fmt::format("{} found", suites->size()), "")
                : check_row("suites", "missing", suites.error().message(), "");
}

/// pip refuses a wheel on an older system; this covers programs that were copied or built.
Json system_row() {
  const char* const here = gnu_get_libc_version();
  const bool enough = ::strverscmp(here, WB_GLIBC_FLOOR) >= 0;
  return check_row("system", enough ? "ok" : "warning",
                   fmt::format("glibc {}; wheels need {} or newer", here, WB_GLIBC_FLOOR),
                   enough ? "" : "build from the sources on this system");
}

Json sessions_row(const Context& context) {
  const fs::path& root = services_of(context).sessions_root;
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

/// Single-writer sessions need locks, which some network file systems lack or only simulate.
Json locks_row(const Context& context) {
  const fs::path& root = services_of(context).sessions_root;
  std::error_code error;
  const std::string next = "keep sessions on a local disk: --sessions DIR";
  const auto folder =
      TempDirectory::create_in(fs::exists(root, error) ? root : fs::path("."), ".wb-doctor-");
  if (!folder.ok()) return check_row("locks", "warning", folder.error().message(), next);
  FileSystem& files = services_of(context).file_system;
  const auto held = files.open_append(folder->path() / "probe");
  if (!held.ok()) return check_row("locks", "warning", held.error().message(), next);
  const auto second = files.open_append(folder->path() / "probe");
  if (!second.ok() && second.error().code == ErrorCode::locked) {
    return check_row("locks", "ok", "one writer a session", "");
  }
  return check_row("locks", "warning",
                   "two writers can hold the lock of one file in the sessions' folder", next);
}

/// Limits and priorities of this process, which its worker and subjects inherit.
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

Result<Json> doctor_body(Context& context) {
  Json checks = Json::array({compiler_row(context), nvcc_row(context), kernels_row(context),
                             suites_row(context), system_row(), process_row(),
                             sessions_row(context), locks_row(context)});
  for (Json& row : worker_rows(context)) checks.push_back(std::move(row));
  for (Json& row : gpu_rows(context)) checks.push_back(std::move(row));
  bool healthy = true;
  for (const Json& row : checks) healthy = healthy && row["state"] != "missing";
  return Json{{"healthy", healthy}, {"checks", std::move(checks)}};
}

std::string doctor_text(const Json& answer) {
  return rows_of(answer["checks"], {"name", "state", "detail", "next"});
}

ExitCode doctor_exit_code(const Json& answer) {
  return answer.value("healthy", false) ? ExitCode::ok : ExitCode::variant_failed;
}

}  // namespace

const Verb& verb_doctor() {
  static const Verb verb{
      .spec = {.name = "doctor",
               .doc = "what works on this machine and what is missing",
               .result = {{"healthy", "bool: CPU sessions can run"},
                          {"checks", "list: name, state (ok, missing, warning), detail, next"}},
               .reads_only = true,
               .in_playbook = false},
      .body = [](const Call& call) { return doctor_body(call.context); },
      .text = doctor_text,
      .exit_code = doctor_exit_code};
  return verb;
}

}  // namespace wb::verbs
