// SPDX-License-Identifier: MIT
// A PyTorch profile as values: host events (operators, Python calls, launches) and GPU events, with
// every text stored once. Made by read_trace(), linked by link_trace(), queried by the rest of this
// module. Times are microseconds since the profile's own zero. Also what its tables share:
// factors, lower-casing, and the search for words.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ascii.hpp"
#include "core/files.hpp"

namespace wb::trace {

inline constexpr double k_us_per_ms = 1e3, k_giga = 1e9;

/// Lower-cases ASCII letters.
inline std::string lower(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), ascii::lower);
  return low;
}

/// Whether one of `parts`, a list of texts, is in `text`.
template <typename Parts = std::initializer_list<std::string_view>>
bool holds_any(std::string_view text, const Parts& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

inline constexpr std::uint32_t k_none = static_cast<std::uint32_t>(-1);

/// Texts by number, each stored once.
class StringPool {
 public:
  std::uint32_t add(std::string_view text);
  [[nodiscard]] const std::string& at(std::uint32_t id) const { return m_texts[id]; }
  [[nodiscard]] std::size_t size() const { return m_texts.size(); }

 private:
  std::deque<std::string> m_texts;
  std::unordered_map<std::string_view, std::uint32_t> m_ids;
};

enum class HostKind : std::uint8_t { cpu_op, python, annotation, launch };
enum class GpuKind : std::uint8_t { kernel, copy, set };

/// `id` is a launch's correlation id (else its external id), and the external id of other events;
/// -1: none. `args` is an index of Trace::args, `parent` one of Trace::host (set by link_trace()).
struct HostEvent {
  double ts_us = 0, dur_us = 0;
  std::int64_t id = -1;
  std::uint32_t name = 0, thread = 0;
  std::uint32_t uid = 0;  ///< index in traceEvents, from 0
  std::uint32_t args = k_none, parent = k_none;
  HostKind kind = HostKind::cpu_op;
  bool id_is_correlation = false;
};

struct GpuEvent {
  double ts_us = 0, dur_us = 0;  ///< dur_us below 0: not recorded
  std::int64_t correlation = -1, external_id = -1, stream = -1;
  std::uint32_t name = 0, thread = 0;  ///< `thread`: its pid is the GPU's
  std::uint32_t host = k_none;         ///< the launch or operator that it belongs to (link_trace())
  GpuKind kind = GpuKind::kernel;
};

/// The recorded arguments of one operator, as JSON text (indices of the pool).
struct OpArgs {
  std::uint32_t dims = k_none, types = k_none, strides = k_none, concrete = k_none;
};

struct Thread {
  std::string pid, tid;  ///< as written: a number or a string
};

/// What could not be used; each count is stated in every result made from the trace.
struct TraceGaps {
  std::uint64_t host_without_duration = 0;     ///< operators, calls and launches left out
  std::uint64_t kernels_without_duration = 0;  ///< their operators have no time
  std::uint64_t without_timestamp = 0;         ///< left out
  std::uint64_t not_events = 0;                ///< entries of traceEvents that are no objects
  std::uint64_t begin_end_events = 0;          ///< ph B and E, left out
  std::uint64_t overlapping = 0;       ///< host events of one thread that overlap without nesting
  std::uint64_t ambiguous_links = 0;   ///< GPU events whose id belongs to several operators
  std::uint64_t unlinked_kernels = 0;  ///< GPU kernels of no operator of the profile
};

struct Trace {
  fs::path path;
  std::uint64_t text_bytes = 0;  ///< unpacked
  std::uint64_t events = 0;
  StringPool strings;
  std::vector<Thread> threads;
  std::vector<HostEvent> host;  ///< after link_trace(): by thread, then time, outer ones first
  std::vector<GpuEvent> gpu;
  std::vector<OpArgs> args;
  std::map<std::string, std::string> process_names, process_labels;  ///< by pid
  std::map<std::pair<std::string, std::string>, std::string> thread_names;
  std::string device_name;                 ///< of the first GPU, by its driver; may be empty
  std::vector<std::string> other_devices;  ///< names of GPUs of other kinds
  TraceGaps gaps;
  /// For a file merged from several ranks' profiles, set by link_trace(): their names (fewer than
  /// two: it is no such file), and the rank of each thread (k_none: unknown).
  std::vector<std::string> ranks;
  std::vector<std::uint32_t> rank_of_thread;
  std::string rank_fault;  ///< why the ranks cannot be told apart; empty: they can

  [[nodiscard]] std::uint32_t rank_of(const GpuEvent& event) const {
    return event.thread < rank_of_thread.size() ? rank_of_thread[event.thread] : 0;
  }
  [[nodiscard]] const std::string& text(std::uint32_t id) const { return strings.at(id); }
};

/// Reads a Chrome trace (JSON, plain or gzip; an object with traceEvents or the bare list) in one
/// pass. Errors: not_found, invalid (no regular file, or no traceEvents in it), parse (not JSON, or
/// cut off: names the byte), damaged (gzip), limit (depth, one event above 64 MiB), io.
Result<Trace> read_trace(const fs::path& path);

/// Orders the host events, and sets each one's parent (the innermost one around it in its thread)
/// and each GPU event's launch: by correlation id, else by external id. Ids are unique in a process
/// but not in a file, so each rank's kernels are linked among its own launches.
void link_trace(Trace& trace);

/// Private to link_trace(): sets `ranks`, `rank_of_thread` and, when processes use the
/// same ids and the owner of a kernel is unknown, `rank_fault`.
void find_ranks(Trace& trace);
/// Errors: invalid (`rank_fault`).
Result<void> check_ranks(const Trace& trace);

/// Names around a host event, without its own, innermost first.
std::vector<std::uint32_t> parents_of(const Trace& trace, std::uint32_t host);

}  // namespace wb::trace
