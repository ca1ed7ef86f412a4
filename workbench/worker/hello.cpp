// SPDX-License-Identifier: MIT
#include "worker/hello.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/process.hpp"
#include "device/device.hpp"

namespace wb::worker {
std::string_view worker_version() {
  return WB_WORKER_VERSION;
}

Result<std::vector<int>> choose_cpus(std::string_view text, const std::vector<int>& allowed) {
  if (text.empty()) return allowed;
  WB_TRY_ASSIGN(std::vector<int> cpus, parse_cpu_set(text));
  for (const int cpu : cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
      return Error{ErrorCode::invalid, "use the CPU set", printable(text),
                   fmt::format("CPU {} is not among {}", cpu, cpu_set_text(allowed)),
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
               "name a Python 3.10 or newer with --python"};
}

Result<std::string> find_subject_script(const std::string& own_program) {
  const fs::path folder = fs::path(own_program).parent_path();
  std::string_view places = WB_SUBJECT_SCRIPTS;
  std::string looked_at;
  while (!places.empty()) {
    const std::size_t colon = std::min(places.find(':'), places.size());
    const fs::path place = (folder / places.substr(0, colon)).lexically_normal();
    std::error_code ignored;
    if (fs::is_regular_file(place, ignored)) return place.string();
    looked_at += (looked_at.empty() ? "" : ", ") + place.string();
    places.remove_prefix(std::min(colon + 1, places.size()));
  }
  return Error{ErrorCode::not_found, "find the Python subject loop", "subject.py",
               "it is in none of " + looked_at, "install the package again"};
}

}  // namespace wb::worker
