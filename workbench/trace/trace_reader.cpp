// SPDX-License-Identifier: MIT
// Builds a Trace from the stream of events. Each event is read once, as slices of the stream's
// buffer; arguments are kept only for operators that may need them.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/json.hpp"
#include "trace/json_scanner.hpp"
#include "trace/op_names.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

constexpr double k_unknown = std::numeric_limits<double>::quiet_NaN();
/// Address space reserved for events, so that growing lists are never copied; unused pages are
/// never touched.
constexpr std::uint64_t k_bytes_per_event = 160, k_gzip_ratio = 12;
constexpr std::uint64_t k_most_reserved_events = std::uint64_t{1} << 26;
/// Three thousand years; a larger value is not a time and would dominate all others.
constexpr double k_max_us = 1e17;
constexpr std::size_t k_max_device_bytes = 1u << 20;

/// The parts of one event, as slices of its text.
struct RawEvent {
  Slice ph, cat, name, pid, tid;
  Slice dims, types, strides, concrete, meta_name, meta_labels;
  double ts_us = k_unknown, dur_us = k_unknown;
  std::int64_t correlation = -1, external_id = -1, stream = -1;
};

double number_of(std::string_view text) {
  if (text.size() > 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  double value = k_unknown;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || stop != text.data() + text.size()) return k_unknown;
  return std::isfinite(value) ? value : k_unknown;
}

std::int64_t id_of(std::string_view text) {
  const double value = number_of(text);
  if (!(value >= 0 && value < 9e15) || value != std::floor(value)) return -1;
  return static_cast<std::int64_t>(value);
}

std::string plain_text(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
  return unescaped(value);
}

std::optional<GpuKind> gpu_kind_of(std::string_view category) {
  if (category == "kernel" || category == "Kernel") return GpuKind::kernel;
  if (category == "gpu_memcpy" || category == "Memcpy") return GpuKind::copy;
  if (category == "gpu_memset" || category == "Memset") return GpuKind::set;
  return std::nullopt;
}

std::optional<HostKind> host_kind_of(std::string_view category) {
  if (category == "cpu_op" || category == "Operator") return HostKind::cpu_op;
  if (category == "python_function") return HostKind::python;
  if (category == "user_annotation") return HostKind::annotation;
  if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime" ||
      category == "hip_runtime" || category == "privateuse1_runtime") {
    return HostKind::launch;
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(ByteSource& source, const fs::path& path) : m_scan(source, path.string()) {
    m_trace.path = path;
  }

  void reserve(std::uint64_t text_bytes) {
    const std::uint64_t events = std::min(text_bytes / k_bytes_per_event, k_most_reserved_events);
    m_trace.host.reserve(events);
    m_trace.gpu.reserve(events / 4);
  }

  Result<Trace> run() {
    if (const auto foreign = foreign_text(m_scan.lookahead(k_kind_bytes))) {
      return Error{ErrorCode::parse, "read the trace", m_trace.path.string(),
                   std::string(foreign->what), std::string(foreign->next)};
    }
    const bool good = m_scan.peek() == '[' ? events() : top_level();
    if (good && !m_scan.at_end()) m_scan.fail(ErrorCode::parse, "more text after the trace");
    if (m_scan.fault()) return *m_scan.fault();
    if (!m_found) {
      return Error{ErrorCode::invalid, "read the trace", m_trace.path.string(),
                   "it is JSON without a list \"traceEvents\"",
                   "name a trace of the PyTorch profiler (export_chrome_trace)"};
    }
    m_trace.text_bytes = m_scan.bytes_read();
    return std::move(m_trace);
  }

 private:
  bool top_level() {
    if (m_scan.peek() == 0 && m_scan.bytes_read() == 0) {
      return m_scan.fail(ErrorCode::parse, "the file is empty", "export the trace again");
    }
    return m_scan.object([this](std::string_view key) {
      if (key == "traceEvents" && m_scan.peek() == '[') return events();
      if (key == "deviceProperties") return devices();
      return m_scan.skip();
    });
  }

  bool events() {
    if (m_found) {
      return m_scan.fail(ErrorCode::parse, "a second list \"traceEvents\"", "export it again");
    }
    m_found = true;
    return m_scan.array([this] {
      m_scan.peek();
      m_scan.hold();
      const bool good = event();
      m_scan.release();
      return good;
    });
  }

  bool event() {
    if (m_trace.events == k_none) return m_scan.fail(ErrorCode::limit, "too many events");
    const auto uid = static_cast<std::uint32_t>(m_trace.events++);
    if (m_scan.peek() != '{') {
      m_trace.gaps.not_events += 1;
      return m_scan.skip();
    }
    RawEvent raw;
    const bool good = m_scan.object([&](std::string_view key) {
      if (key == "ph") return m_scan.value(raw.ph);
      if (key == "cat") return m_scan.value(raw.cat);
      if (key == "name") return m_scan.value(raw.name);
      if (key == "pid") return m_scan.value(raw.pid);
      if (key == "tid") return m_scan.value(raw.tid);
      if (key == "ts") return number(raw.ts_us);
      if (key == "dur") return number(raw.dur_us);
      if (key == "args" && m_scan.peek() == '{') return arguments(raw);
      return m_scan.skip();
    });
    if (good) keep(raw, uid);
    return good;
  }

  bool number(double& value) {
    Slice slice;
    if (!m_scan.value(slice)) return false;
    value = number_of(text(slice));
    return true;
  }

  bool id(std::int64_t& value) {
    Slice slice;
    if (!m_scan.value(slice)) return false;
    value = id_of(text(slice));
    return true;
  }

  bool arguments(RawEvent& raw) {
    return m_scan.object([&](std::string_view key) {
      if (key == "correlation") return id(raw.correlation);
      if (key == "External id" || key == "external id") return id(raw.external_id);
      if (key == "stream") return id(raw.stream);
      if (key == "Input Dims") return m_scan.value(raw.dims);
      if (key == "Input type") return m_scan.value(raw.types);
      if (key == "Input Strides") return m_scan.value(raw.strides);
      if (key == "Concrete Inputs") return m_scan.value(raw.concrete);
      if (key == "name") return m_scan.value(raw.meta_name);
      if (key == "labels") return m_scan.value(raw.meta_labels);
      return m_scan.skip();
    });
  }

  void add_device(std::string name) {
    auto& others = m_trace.other_devices;
    if (m_trace.device_name.empty()) {
      m_trace.device_name = std::move(name);
    } else if (name != m_trace.device_name &&
               std::find(others.begin(), others.end(), name) == others.end()) {
      others.push_back(std::move(name));
    }
  }

  /// Reads the GPUs' names. An implausibly large list is skipped.
  bool devices() {
    m_scan.hold();
    Slice slice;
    const bool good = m_scan.value(slice);
    if (good && slice.end - slice.begin < k_max_device_bytes) {
      const auto list = parse_json(text(slice), "deviceProperties");
      for (const Json& device : list && list->is_array() ? *list : Json::array()) {
        const Json name = device.is_object() ? device.value("name", Json()) : Json();
        if (name.is_string()) add_device(name.get<std::string>());
      }
    }
    m_scan.release();
    return good;
  }

  void keep(const RawEvent& raw, std::uint32_t uid) {
    const std::string_view phase = inside(raw.ph), category = inside(raw.cat);
    if (phase == "M") return keep_metadata(raw);
    const auto gpu = gpu_kind_of(category);
    const auto host = host_kind_of(category);
    if (!gpu && !host) return;
    if (phase == "B" || phase == "E") m_trace.gaps.begin_end_events += 1;
    if (phase != "X") return;
    if (!(std::abs(raw.ts_us) < k_max_us)) {
      m_trace.gaps.without_timestamp += 1;
    } else if (gpu) {
      keep_gpu(raw, *gpu);
    } else {
      keep_host(raw, *host, uid);
    }
  }

  void keep_gpu(const RawEvent& raw, GpuKind kind) {
    GpuEvent event;
    event.ts_us = raw.ts_us;
    event.dur_us = raw.dur_us >= 0 && raw.dur_us < k_max_us ? raw.dur_us : -1;
    if (event.dur_us < 0 && kind == GpuKind::kernel) m_trace.gaps.kernels_without_duration += 1;
    event.correlation = raw.correlation;
    event.external_id = raw.external_id;
    event.stream = raw.stream;
    event.name = name_of(raw);
    event.thread = thread_of(raw);
    event.kind = kind;
    m_trace.gpu.push_back(event);
  }

  void keep_host(const RawEvent& raw, HostKind kind, std::uint32_t uid) {
    if (!(raw.dur_us >= 0 && raw.dur_us < k_max_us)) {
      m_trace.gaps.host_without_duration += 1;
      return;
    }
    HostEvent event;
    event.ts_us = raw.ts_us;
    event.dur_us = raw.dur_us;
    event.kind = kind;
    event.id_is_correlation = kind == HostKind::launch && raw.correlation >= 0;
    event.id = event.id_is_correlation ? raw.correlation : raw.external_id;
    event.name = name_of(raw);
    event.thread = thread_of(raw);
    event.uid = uid;
    if (kind == HostKind::cpu_op && wanted(event.name)) event.args = args_of(raw);
    m_trace.host.push_back(event);
  }

  void keep_metadata(const RawEvent& raw) {
    const std::string_view what = inside(raw.name);
    const std::string pid = plain_text(text(raw.pid));
    if (what == "process_name") m_trace.process_names[pid] = plain_text(text(raw.meta_name));
    if (what == "process_labels") m_trace.process_labels[pid] = plain_text(text(raw.meta_labels));
    if (what == "thread_name") {
      m_trace.thread_names[{pid, plain_text(text(raw.tid))}] = plain_text(text(raw.meta_name));
    }
  }

  std::uint32_t name_of(const RawEvent& raw) {
    const std::string_view name = inside(raw.name);
    if (name.find('\\') == std::string_view::npos) return m_trace.strings.add(name);
    return m_trace.strings.add(unescaped(name));
  }

  bool wanted(std::uint32_t name) {
    constexpr char k_not_asked = 2;
    if (name >= m_wanted.size()) m_wanted.resize(m_trace.strings.size(), k_not_asked);
    char& answer = m_wanted[name];
    if (answer == k_not_asked) answer = keeps_arguments(m_trace.text(name)) ? 1 : 0;
    return answer == 1;
  }

  std::uint32_t args_of(const RawEvent& raw) {
    const auto add = [this](Slice slice) {
      return slice.empty() ? k_none : m_trace.strings.add(text(slice));
    };
    m_trace.args.push_back({add(raw.dims), add(raw.types), add(raw.strides), add(raw.concrete)});
    return static_cast<std::uint32_t>(m_trace.args.size() - 1);
  }

  /// Caches the last thread, because most events come in runs of one thread.
  std::uint32_t thread_of(const RawEvent& raw) {
    const std::string_view pid = text(raw.pid), tid = text(raw.tid);
    if (m_last_thread != k_none && pid == m_last_pid && tid == m_last_tid) return m_last_thread;
    m_last_pid = pid;
    m_last_tid = tid;
    const auto next = static_cast<std::uint32_t>(m_trace.threads.size());
    const auto [place, is_new] = m_threads.try_emplace({m_last_pid, m_last_tid}, next);
    if (is_new) m_trace.threads.push_back({plain_text(pid), plain_text(tid)});
    m_last_thread = place->second;
    return m_last_thread;
  }

  [[nodiscard]] std::string_view text(Slice slice) const {
    return slice.empty() ? std::string_view() : m_scan.text(slice);
  }
  /// The text between a string's quotes, with escapes unchanged.
  [[nodiscard]] std::string_view inside(Slice slice) const {
    const std::string_view all = text(slice);
    const bool quoted = all.size() >= 2 && all.front() == '"';
    return quoted ? all.substr(1, all.size() - 2) : all;
  }

  JsonScanner m_scan;
  Trace m_trace;
  bool m_found = false;
  std::vector<char> m_wanted;  // by name
  std::map<std::pair<std::string, std::string>, std::uint32_t> m_threads;
  std::string m_last_pid, m_last_tid;
  std::uint32_t m_last_thread = k_none;
};

}  // namespace

std::uint32_t StringPool::add(std::string_view text) {
  const auto found = m_ids.find(text);
  if (found != m_ids.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(m_texts.size());
  m_ids.emplace(m_texts.emplace_back(text), id);
  return id;
}

Result<Trace> read_trace(const fs::path& path) {
  WB_TRY_ASSIGN(const OpenedFile file, open_bytes(path));
  Reader reader(*file.source, path);
  reader.reserve(file.gzip ? file.size_bytes * k_gzip_ratio : file.size_bytes);
  return reader.run();
}

}  // namespace wb::trace
