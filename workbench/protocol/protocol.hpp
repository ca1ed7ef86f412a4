// SPDX-License-Identifier: MIT
// The messages between host (runner) and worker: JSON lines, versioned.
// docs/contracts/worker_protocol.md lists every field with type and unit; this header is the C++
// form for both sides.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "device/cpu_limits.hpp"
#include "device/device.hpp"
#include "measure/conditions.hpp"
#include "measure/launches.hpp"
#include "measure/plan.hpp"
#include "problem/call_form.hpp"
#include "problem/inputs.hpp"
#include "problem/problem.hpp"
#include "problem/verdict.hpp"

namespace wb::protocol {

inline constexpr int k_version = 1;
inline constexpr std::size_t k_max_line_bytes = 1u << 20;
inline constexpr int k_max_depth = 32;
inline constexpr std::size_t k_put_chunk_bytes = 512u << 10;

/// The verb of a request. Frozen words.
enum class Verb {
  hello,
  has,
  put,
  build,
  load,
  run,
  verdict,
  turn,
  first_calls,
  profile,
  unload,
  canary,
  status,
  bye
};
std::string_view to_string(Verb value);
std::optional<Verb> parse_verb(std::string_view word);

/// {"v":1,"id":7,"verb":"load","args":{…}}
struct Request {
  std::int64_t id = 0;
  Verb verb = Verb::hello;
  Json args = Json::object();
};
/// {"v":1,"id":7,"ok":true,"result":{…}} or {"v":1,"id":7,"ok":false,"error":{"invalidity",
/// "message","untrusted_output"}}.
struct Reply {
  std::int64_t id = 0;
  Outcome<Json> result = Json::object();
};
std::string to_line(const Request& request);
std::string to_line(const Reply& reply);
/// Errors: parse, limit (line too long, too deep), invalid (version, unknown verb, wrong types).
Result<Request> parse_request(std::string_view line);
Result<Reply> parse_reply(std::string_view line);

/// The longest time that a measuring request holds the device, whatever its deadline.
inline constexpr std::chrono::seconds k_longest_hold{300};
/// How long a request waits for the device behind another session: longer than any session holds
/// it.
inline constexpr std::chrono::seconds k_lock_patience = k_longest_hold + std::chrono::seconds(30);

struct HelloArgs {
  int version = k_version;
  std::string python;          ///< interpreter for Python subjects; empty: the worker chooses
  std::string cpu_set;         ///< "0-1"; empty: all allowed
  std::int64_t threads = 0;    ///< threads that a CPU subject may use; 0: all of the set
  std::int64_t gpu = -1;       ///< CUDA ordinal of the GPU to measure on; -1: the CPU
  std::string isolation = {};  ///< the strongest level to use; empty: the strongest on the machine
  std::string lock = {};       ///< the device lock's file; empty: the machine's
  bool operator==(const HelloArgs&) const = default;
};
struct HelloResult {
  int version = k_version;
  std::string worker_version;
  device::Device device;  ///< with calibrated peaks
  std::int64_t threads = 1;
  std::string isolation;     ///< confinement of subjects: "rlimits", "rlimits+no_new_privs" …
  std::string python;        ///< interpreter found, empty when none
  double empty_call_us = 0;  ///< the least that a call costs; see docs/contracts/worker_protocol.md
  double empty_python_call_us = 0;  ///< the same through a Python subject; 0 without one
  std::optional<measure::GpuSettings> gpu = {};      ///< on a GPU
  std::optional<device::CpuLimits> cpu_limits = {};  ///< absent from older workers
  std::vector<std::string> backends;
};

struct HasArgs {
  std::vector<std::string> sha256;
};
struct HasResult {
  std::vector<std::string> missing;
};

/// One chunk of a file, in order; `offset` is the number of bytes that the worker already has.
/// Offset 0 starts the file again.
struct PutArgs {
  std::string sha256;
  std::int64_t offset = 0, total_bytes = 0;
  std::string data_base64;
};
struct PutResult {
  std::int64_t received_bytes = 0;
  bool complete = false;
};

/// A named file that was put before.
struct FileRef {
  std::string path;  ///< relative, inside the subject's folder
  std::string sha256;
};

/// Compiles on the worker's machine. files: the variant's closure under the kernels root.
struct BuildArgs {
  std::string variant_name, build_id, target;
  std::vector<FileRef> files;
  std::vector<std::pair<std::string, std::int64_t>> configuration;
  std::int64_t deadline_ms = 120'000;
};
struct BuildResult {
  std::string artifact_sha256;  ///< now in the worker's store, for `load`
  Json record;                  ///< BuildRecord as JSON
};

/// Starts a fresh subject process for one artifact.
struct LoadArgs {
  std::string subject;          ///< label for messages and status
  std::string backend;          ///< "cpu", "cuda", "python"
  std::string artifact_sha256;  ///< cpu, cuda
  std::string build_id;         ///< must equal wb_sdpa_build_id()
  std::string entry;            ///< python: "module:function"
  std::vector<FileRef> files;   ///< python: the folder of the subject
  /// python: how many more Python subjects will be loaded before the next turn; a hint to start
  /// their processes in parallel.
  std::int64_t python_follows = 0;
  std::int64_t deadline_ms = 60'000;
};
struct LoadResult {
  std::int64_t handle = 0;
  std::int64_t pid = 0;
  double load_ms = 0;
  Json versions = Json::object();  ///< python: {"python","torch",…}; else the build id
};

/// One judged output.
struct RunArgs {
  std::int64_t handle = 0;
  problem::Problem problem;
  problem::Draw draw = problem::Draw::normal;
  bool want_lse = true;
  problem::CallForm form;
  /// The most row blocks to judge; absent: as in a verdict.
  std::optional<std::int64_t> max_blocks;
  std::int64_t deadline_ms = 60'000;
};
struct RunResult {
  std::uint32_t seed = 0;  ///< drawn by the supervisor, revealed after the verdict
  problem::OutputVerdict verdict;
  bool lse_judged = false;
  double call_ms = 0;
};

/// The whole verdict: three normal seeds, one large-magnitude draw, and the edge draw when there is
/// a mask. Stops at the first failure.
struct VerdictArgs {
  std::int64_t handle = 0;
  problem::Problem problem;
  bool want_lse = true;
  /// With a mask: whether to judge the draw `edge`, which has such a row.
  bool rows_without_keys = true;
  /// Runs drawn by the host, instead of those of `problem`. Their own handles and deadlines are
  /// ignored.
  std::vector<RunArgs> drawn = {};
  std::int64_t deadline_ms = 120'000;
};
struct VerdictResult {
  bool pass = false;
  std::vector<std::pair<problem::Draw, RunResult>> runs;
  std::optional<Failure> failure = {};  ///< of the drawn run after `runs`, which ended them
};

/// One timed block. placement: number of the buffer set; a new number makes new buffers in the
/// subject.
struct TurnArgs {
  std::int64_t handle = 0;
  problem::Problem problem;
  measure::Plan plan;
  std::int64_t placement = 0;
  bool spot_check = true;  ///< judge sampled blocks of the turn's last output
  /// Adds calls on unseen inputs when due or drawn. False only for a turn from which the subject
  /// cannot gain.
  bool fresh_calls = true;
  std::int64_t deadline_ms = 60'000;
};
struct TurnResult {
  std::vector<double> samples_us;  ///< time per call
  std::int64_t calls_per_sample = 1;
  double wall_us = 0;      ///< of the timed part, by the supervisor's clock
  double reported_us = 0;  ///< sum of samples x calls, for the second witness
  std::vector<std::string> flags;
  std::optional<problem::OutputVerdict> spot;
  std::optional<measure::GpuConditions> conditions = {};  ///< on a GPU, read by the supervisor
  /// Where the peaks of hello would refuse this time: found higher by calibrating again.
  std::optional<device::Device> device = {};
  /// Of one call of a compiled variant on a GPU, as its process says. Absent from older workers.
  std::vector<measure::KernelLaunch> launches = {};
};

/// Single calls of loaded subjects, in turns: each on unseen inputs, then once more on the same
/// inputs made again. They show work that timed calls leave out.
struct FirstCallsArgs {
  std::vector<std::int64_t> handles;  ///< two or more; the others are compared with index 0
  problem::Problem problem;
  measure::Plan plan;  ///< its kind matters: cold calls have flushed caches
  std::int64_t placement = 0;
  /// Limits of rounds; between them budget_us of each subject decides. The last round is secret.
  std::int64_t least = 2, most = 40;
  double budget_us = 60'000;
  std::int64_t deadline_ms = 60'000;
};
struct FirstCallsResult {
  struct Side {
    /// By round, by the supervisor's clock: one call, or the mean call of a chain.
    std::vector<double> fresh_us, again_us;
    /// For chains when callers are of two kinds: the time of everything but the calls; else empty.
    std::vector<double> fill_us = {};
    /// Time of an empty call of this kind measured the same way, and further overhead of its
    /// library.
    double overhead_us = 0, allowance_us = 0;
  };
  bool chained = false;            ///< on a GPU: each figure is the mean of many calls in a row
  std::vector<Side> sides;         ///< by handle; as far as they were measured
  std::vector<std::string> flags;  ///< foreign_load, foreign_process, throttled
  /// The subject that failed, as index in `handles`, and its failure.
  std::optional<std::int64_t> failed;
  std::optional<Failure> failure;
};

/// The tools that can inspect one call of a CUDA variant: ncu, and those of compute-sanitizer.
inline constexpr std::array<std::string_view, 5> k_inspection_tools = {
    "ncu", "memcheck", "racecheck", "initcheck", "synccheck"};

/// Names the kernels that one call of a Python subject on a GPU launches. It runs inside the loaded
/// process, which is neither judged nor timed from then on.
inline constexpr std::string_view k_kernel_names_tool = "torch.profiler";

struct ProfileArgs {
  std::int64_t handle = 0;
  problem::Problem problem;
  std::string tool = "ncu";
  std::int64_t deadline_ms = 300'000;
};
/// records of ncu: {"launches": as by read_ncu_report(), "csv"}; of compute-sanitizer: {"clean",
/// "errors", "warnings", "messages"}; of torch.profiler: {"launches": with "share_frac" and without
/// metrics, "launched"}. All have {"tool", "program"}.
struct ProfileResult {
  bool available = false;
  std::string reason;
  Json records = Json::object();
};

struct CanaryResult {
  bool healthy = false;
  std::string detail;
};

struct StatusResult {
  struct Subject {
    std::int64_t handle = 0, pid = 0;
    std::string subject;
    std::int64_t rss_bytes = 0;
  };
  std::vector<Subject> subjects;
  std::int64_t judge_pid = 0, supervisor_rss_bytes = 0;
};

#define WB_PROTOCOL_MESSAGE(type)    \
  Json to_json(const type& message); \
  Result<void> from_json(const Json& json, type& message)
WB_PROTOCOL_MESSAGE(HelloArgs);
WB_PROTOCOL_MESSAGE(HelloResult);
WB_PROTOCOL_MESSAGE(HasArgs);
WB_PROTOCOL_MESSAGE(HasResult);
WB_PROTOCOL_MESSAGE(PutArgs);
WB_PROTOCOL_MESSAGE(PutResult);
WB_PROTOCOL_MESSAGE(BuildArgs);
WB_PROTOCOL_MESSAGE(BuildResult);
WB_PROTOCOL_MESSAGE(LoadArgs);
WB_PROTOCOL_MESSAGE(LoadResult);
WB_PROTOCOL_MESSAGE(ProfileArgs);
WB_PROTOCOL_MESSAGE(FirstCallsArgs);
WB_PROTOCOL_MESSAGE(FirstCallsResult);
WB_PROTOCOL_MESSAGE(RunArgs);
WB_PROTOCOL_MESSAGE(RunResult);
WB_PROTOCOL_MESSAGE(VerdictArgs);
WB_PROTOCOL_MESSAGE(VerdictResult);
WB_PROTOCOL_MESSAGE(TurnArgs);
WB_PROTOCOL_MESSAGE(TurnResult);
WB_PROTOCOL_MESSAGE(ProfileResult);
WB_PROTOCOL_MESSAGE(CanaryResult);
WB_PROTOCOL_MESSAGE(StatusResult);
#undef WB_PROTOCOL_MESSAGE

/// Base64 (RFC 4648, padded, no line breaks) for the bytes inside `put`. Errors: parse.
std::string base64_encode(std::string_view bytes);
Result<std::string> base64_decode(std::string_view text);

}  // namespace wb::protocol
