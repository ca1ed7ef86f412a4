// SPDX-License-Identifier: MIT
// Where it ran: device, peaks and their source, tools, and what changed when it was resumed; and a
// GPU's settings, and its state while figures were taken, in words.
#include <fmt/format.h>

#include "core/json.hpp"
#include "report/iteration_parts.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using measure::GpuConditions;

namespace {

void append_words(std::string& all, const std::string& words) {
  if (words.empty()) return;
  all += (all.empty() ? "" : ", ") + words;
}

/// "SM clock 1905 to 1980 MHz", "41 C".
std::string range_words(std::string_view name, const std::optional<measure::ReadingRange>& range,
                        std::string_view unit) {
  if (!range) return {};
  const std::string low = fmt::format("{:.0f}", range->low);
  const std::string high = fmt::format("{:.0f}", range->high);
  return fmt::format("{}{}{} {}", name, name.empty() ? "" : " ",
                     low == high ? low : low + " to " + high, unit);
}

std::string reasons_words(const GpuConditions& conditions) {
  if (!conditions.clocks_event_reasons) return {};
  std::string words;
  for (const std::string& reason : *conditions.clocks_event_reasons) {
    append_words(words, code(reason, 40));
  }
  return words.empty() ? "nothing held the clocks down" : "clocks held down by " + words;
}

std::string others_words(const GpuConditions& conditions) {
  const auto& others = conditions.other_processes;
  if (!others || others->count == 0) return {};
  return fmt::format("{} of others on the GPU ({})", count(others->count, "compute context"),
                     others->busy ? fmt::format("{} busy", *others->busy) : "busy or not: unknown");
}

std::string side_words(const GpuConditions& conditions) {
  std::string words;
  append_words(words, range_words("SM clock", conditions.sm_clock_mhz, "MHz"));
  append_words(words, range_words("memory clock", conditions.memory_clock_mhz, "MHz"));
  append_words(words, range_words("", conditions.power_w, "W"));
  append_words(words, range_words("", conditions.temperature_c, "C"));
  append_words(words, reasons_words(conditions));
  append_words(words, others_words(conditions));
  return words;
}

/// The figures that no reading had, with the reason.
std::string unknown_words(const GpuConditions& conditions) {
  std::string words;
  for (const auto& [what, why] : conditions.unknown) {
    append_words(words, fmt::format("{} ({})", code(what, 40), inline_text(why, 80)));
  }
  return words;
}

/// The conditions of one side of a comparison; nothing if they are absent or in a newer format.
std::optional<GpuConditions> side_of(const Compared& compared, std::string_view side) {
  if (compared.conditions == nullptr) return std::nullopt;
  auto conditions = measure::gpu_conditions_from_json(field(*compared.conditions, side));
  if (!conditions.ok()) return std::nullopt;
  return *std::move(conditions);
}

void take_side(std::optional<GpuConditions>& all, const std::optional<GpuConditions>& more) {
  if (!more) return;
  if (all) measure::merge(*all, *more);
  if (!all) all = more;
}

/// "driver 580.65.06, SM clock up to 1980 MHz, …" of an environment's `gpu`.
std::string gpu_settings_words(const Json& gpu) {
  std::string words;
  if (const std::string version = text(gpu, "driver_version"); !version.empty()) {
    append_words(words, "driver " + inline_text(version, 40));
  }
  const auto figure = [&](const char* key, const char* name, const char* unit) {
    if (const auto value = number(gpu, key)) {
      append_words(words, fmt::format("{} {:.0f} {}", name, *value, unit));
    }
  };
  figure("max_sm_clock_mhz", "SM clock up to", "MHz");
  figure("max_memory_clock_mhz", "memory clock up to", "MHz");
  figure("power_limit_w", "power limit", "W");
  if (const Json& mode = field(gpu, "persistence_mode"); mode.is_boolean()) {
    append_words(words, mode.get<bool>() ? "persistence mode on" : "persistence mode off");
  }
  for (const auto& [what, why] : field(gpu, "unknown").items()) {
    append_words(words,
                 fmt::format("{} unknown ({})", inline_text(what, 40),
                             inline_text(why.is_string() ? why.get<std::string>() : "", 80)));
  }
  return words;
}

}  // namespace

std::string conditions_words(const std::vector<const Compared*>& rows, std::string_view candidate) {
  std::optional<GpuConditions> own, others, all;
  std::vector<std::int64_t> events;
  for (const Compared* row : rows) {
    const auto candidate_side = side_of(*row, "candidate"), other_side = side_of(*row, "against");
    take_side(own, candidate_side);
    take_side(others, other_side);
    if (candidate_side || other_side) events.push_back(row->seq);
  }
  take_side(all, own);
  take_side(all, others);
  if (!all) return {};
  const std::string cited = cite(events);
  std::string out;
  if (const std::string words = own ? side_words(*own) : ""; !words.empty()) {
    out += fmt::format("The GPU in the {}'s turns: {}{}. ", candidate, words, cited);
  }
  if (const std::string words = others ? side_words(*others) : ""; !words.empty()) {
    out += fmt::format("In the turns of the others: {}{}. ", words, cited);
  }
  if (const std::string words = unknown_words(*all); !words.empty()) {
    out += fmt::format("Not known of the GPU: {}{}. ", words, cited);
  }
  return out;
}

namespace {

constexpr std::size_t k_max_resumes = 60;

/// Puts facts of one kind on one line: "f32 236.4 GFLOP/s, f16 ... (calibrated at open)".
class FactLine {
 public:
  void add(const std::string& words, const std::string& source = "") {
    if (words.empty()) return;
    // A source that several facts share is stated after the last of them.
    if (!m_out.empty()) m_out += (source == m_source ? "" : in_brackets(m_source)) + ", ";
    m_out += words;
    m_source = source;
  }
  [[nodiscard]] std::string str() const { return m_out + in_brackets(m_source); }

 private:
  static std::string in_brackets(const std::string& source) {
    return source.empty() ? source : " (" + inline_text(readable(source), 60) + ")";
  }
  std::string m_out, m_source;
};

struct DeviceFact {
  const char *key, *name, *unit;
};

/// The facts of a device that carry their source, as the worker wrote them.
void add_device_facts(FactLine& line, const Json& device, std::initializer_list<DeviceFact> facts) {
  for (const DeviceFact& fact : facts) {
    const Json& entry = field(device, fact.key);
    const auto value = entry.is_number() ? number(device, fact.key) : number(entry, "value");
    if (!value) continue;
    const bool is_size = std::string_view(fact.unit) == "B";
    line.add(
        std::string(fact.name) + " " + (is_size ? bytes(*value) : with_prefix(*value) + fact.unit),
        text(entry, "source"));
  }
}

std::string labeled(const std::string& label, const std::string& value) {
  return value.empty() ? value : label + inline_text(value, 160);
}

std::string device_line(const Json& device, const Json& worker) {
  FactLine line;
  line.add(labeled("", text(device, "name")));
  line.add(labeled("", text(device, "architecture")));
  if (const auto units = integer(device, "units")) {
    line.add(count(*units, text(device, "backend") == "cuda" ? "SM" : "core"));
  }
  if (const auto threads = integer(worker, "threads")) {
    line.add(count(*threads, "thread") + " a subject");
  }
  return line.str();
}

std::string resume_list(const session::SessionView& view) {
  std::string out;
  const std::size_t n = view.resumes.size();
  for (std::size_t i = n > k_max_resumes ? n - k_max_resumes : 0; i < n; ++i) {
    const session::Fact& resume = view.resumes[i];
    std::string list;
    for (const std::string& item : strings(resume.payload, "environment_changed")) {
      list += (list.empty() ? "" : ", ") + inline_text(item, 80);
    }
    out += fmt::format("- resumed{}: {}\n", cite(resume.seq),
                       list.empty() ? "same environment" : "changed since: " + list);
  }
  return out.empty() ? out : out + "\n";
}

}  // namespace

std::string environment_section(const Page& page) {
  const session::SessionView& view = page.facts.view;
  std::string out = "## Environment\n\n";
  if (!view.environment) return out + "Not recorded.\n\n" + resume_list(view);
  const Json& payload = view.environment->payload;
  const Json& device = field(payload, "device");
  const Json& worker = field(payload, "worker");
  const Json& toolchain = field(payload, "toolchain");
  const Json& host = field(payload, "host");
  Table table({"fact" + cite(view.environment->seq), "value"});
  const auto row = [&](const char* name, const FactLine& line) {
    if (const std::string words = line.str(); !words.empty()) table.row({name, words});
  };
  if (const std::string words = device_line(device, worker); !words.empty()) {
    table.row({"device", words});
  }
  FactLine peaks, memory, tools, run, system;
  add_device_facts(peaks, device,
                   {{"f32_flops_per_s", "f32", "FLOP/s"},
                    {"f16_flops_per_s", "f16", "FLOP/s"},
                    {"bf16_flops_per_s", "bf16", "FLOP/s"},
                    {"memory_bytes_per_s", "memory", "B/s"}});
  row("peaks", peaks);
  add_device_facts(
      memory, device,
      {{"l2_bytes", "L2 per unit", "B"}, {"l3_bytes", "L3", "B"}, {"memory_bytes", "memory", "B"}});
  row("caches and memory", memory);
  if (const std::string words = gpu_settings_words(field(payload, "gpu")); !words.empty()) {
    table.row({"GPU settings", words});
  }
  tools.add(labeled("", text(toolchain, "compiler")));
  tools.add(labeled("target ", text(toolchain, "target")));
  row("compiler", tools);
  run.add(labeled("", text(worker, "version")));
  run.add(labeled("transport ", text(worker, "transport")));
  run.add(labeled("isolation ", text(worker, "isolation")));
  run.add(labeled("python ", text(worker, "python")));
  if (const auto overhead = number(payload, "call_overhead_us")) {
    run.add("an empty call takes " + microseconds(*overhead) + " us");
  }
  row("worker", run);
  system.add(labeled("", text(host, "os") + " " + text(host, "kernel")));
  row("system", system);
  system = FactLine();
  system.add(labeled("", text(view.opened.payload, "workbench_version")));
  row("workbench", system);
  system = FactLine();
  const Json& repository = field(view.opened.payload, "repository");
  system.add(labeled("branch ", text(repository, "branch")));
  system.add(labeled("repository ", text(repository, "path")));
  row("commits", system);
  return out + table.str() + "\n" + resume_list(view);
}

}  // namespace wb::report
