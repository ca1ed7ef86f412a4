// SPDX-License-Identifier: MIT
#include "worker/hello.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "core/process.hpp"
#include "device/device.hpp"

namespace wb::worker {
namespace {

std::optional<int> parse_cpu(std::string_view text) {
  int cpu = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (error != std::errc() || end != text.data() + text.size() || cpu < 0) return std::nullopt;
  return cpu;
}

Error bad_set(ErrorCode code, std::string_view text, std::string cause) {
  return Error{code, "use the CPU set", printable(text), std::move(cause),
               "write it as \"0-3,8\", of CPUs that this process may run on"};
}

}  // namespace

std::string_view worker_version() {
  return WB_WORKER_VERSION;
}

Result<std::vector<int>> parse_cpu_set(std::string_view text, const std::vector<int>& allowed) {
  if (text.empty()) return allowed;
  std::vector<int> cpus;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, comma - begin);
    const std::size_t dash = part.find('-');
    const auto first = parse_cpu(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_cpu(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= 4'096) {
      return bad_set(ErrorCode::parse, text, "\"" + printable(part, 40) + "\" is no CPU or range");
    }
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    begin = comma + 1;
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  for (const int cpu : cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
      return bad_set(ErrorCode::invalid, text,
                     "CPU " + std::to_string(cpu) + " is not among " + cpu_set_text(allowed));
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
