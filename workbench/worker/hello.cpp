// SPDX-License-Identifier: MIT
#include "worker/hello.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/process.hpp"
#include "device/device.hpp"
#include "measure/roofline.hpp"
#include "variant/variant.hpp"

namespace wb::worker {
std::string_view worker_version() {
  return WB_WORKER_VERSION;
}

Result<std::vector<int>> choose_cpus(std::string_view text, const std::vector<int>& allowed) {
  if (text.empty()) return allowed;
  WB_TRY_ASSIGN(std::vector<int> cpus, device::parse_cpu_set(text));
  for (const int cpu : cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
      return Error{ErrorCode::invalid, "use the CPU set", printable(text),
                   fmt::format("CPU {} is not among {}", cpu, device::cpu_set_text(allowed)),
                   "name CPUs that this process may run on"};
    }
  }
  return cpus;
}

Result<std::string> find_python(const std::string& wanted) {
  ProcessSpec spec;
  spec.argv = {wanted.empty() ? "python3" : wanted, "-I", "-c",
               "import sys; print(sys.executable)"};
  spec.deadline = std::chrono::seconds(10);
  WB_TRY_ASSIGN(const ProcessOutcome outcome, run_process(spec));
  std::string path = outcome.out;
  while (!path.empty() && path.back() == '\n') path.pop_back();
  if (outcome.success() && !path.empty() && path.front() == '/') return path;
  return Error{ErrorCode::invalid, "use the Python interpreter", spec.argv[0],
               "it did not say where it is: " + printable(outcome.err, 200),
               "install python3, or name a Python 3.10 or newer with --python"};
}

Result<std::string> find_subject_script(const std::string& own_program) {
  const fs::path folder = fs::path(own_program).parent_path();
  const auto root = variant::find_installed_root(folder);
  if (!root) {
    return Error{ErrorCode::not_found, "find the Python subject loop of", own_program,
                 "no folder above it has share/sdpa-workbench", "install the package again"};
  }
  const fs::path script = *root / "bindings" / "sdpa_workbench" / "subject.py";
  std::error_code ignored;
  if (fs::is_regular_file(script, ignored)) return script.string();
  return Error{ErrorCode::not_found, "find the Python subject loop", script.string(),
               "there is no such file", "install the package again"};
}

using device::Device;

bool keep_higher_peaks(Device& device, const Device& again) {
  bool rose = false;
  for (const auto peak : {&Device::f32_flops_per_s, &Device::f16_flops_per_s,
                          &Device::bf16_flops_per_s, &Device::memory_bytes_per_s}) {
    auto& known = device.*peak;
    const auto& other = again.*peak;
    if (!known || !other || !std::isfinite(other->value) || !(other->value > known->value)) {
      continue;
    }
    known = other;
    rose = true;
  }
  return rose;
}

bool look_again_at_peaks(Device& device, const problem::Problem& problem, measure::PlanKind plan,
                         double median_us, int& looks_left, const std::function<Device()>& look) {
  // What is no time is refused whatever the peaks are.
  if (!(median_us > 0) || !std::isfinite(median_us)) return false;
  const auto work = problem::work(problem);
  const auto is_refused = [&] {
    const auto floor = measure::roofline_floor(device, problem, work);
    return measure::refuse_below_roofline(floor, plan, median_us).has_value();
  };
  bool rose = false;
  for (int i = 0; i < k_looks_at_peaks && looks_left > 0 && is_refused(); ++i) {
    --looks_left;
    rose = keep_higher_peaks(device, look()) || rose;
  }
  return rose;
}

}  // namespace wb::worker
