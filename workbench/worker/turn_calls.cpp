// SPDX-License-Identifier: MIT
// The messages of a turn: a stage, inputs, calls, and what they took; and whether its problem fits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "measure/quantiles.hpp"
#include "worker/cuda/judge_plan.hpp"
#include "worker/failure.hpp"
#include "worker/memory.hpp"
#include "worker/microseconds.hpp"
#include "worker/turn.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {

using problem::Problem;
using problem::Tensor;

namespace {

/// What the subject says of its launches. It explains only, so what is malformed is left out.
std::vector<measure::KernelLaunch> told_launches(const Json& answer) {
  const auto told = answer.find("launches");
  if (told == answer.end()) return {};
  auto launches = measure::launches_from_json(*told);
  return launches.ok() ? *std::move(launches) : std::vector<measure::KernelLaunch>();
}

}  // namespace

void TurnConductor::refill(Json& message, problem::Draw draw) {
  m_seed = draw_secret<std::uint32_t>();
  m_draw = draw;
  message["seed"] = m_seed;
  message["draw"] = to_string(draw);
  if (m_inputs) m_inputs->refill(m_seed, draw, m_context.threads, message);
}

Outcome<void> TurnConductor::set_stage() {
  WB_TRY(check_fits(m_args.problem, m_context, m_wait));
  const OutputOrder order{fmt::format("{} {}", problem::to_text(m_args.problem), m_args.placement),
                          m_args.placement, false};
  WB_TRY_ASSIGN(auto output, make_call_output(m_subject, m_context.judge, m_args.problem, order,
                                              m_context.clock, m_wait));
  m_output = std::move(output);
  if (m_subject.kind() == SubjectKind::python) {
    WB_TRY_ASSIGN(auto inputs, HandedInputs::create(m_args.problem, m_context.clock));
    m_inputs.emplace(std::move(inputs));
  }
  Json message = {{"op", "turn"},
                  {"problem", to_json(m_args.problem)},
                  {"placement", m_args.placement},
                  {"settle_us", m_args.plan.settle_us},
                  {"kind", to_string(m_args.plan.kind)}};
  const Deadline begin = std::chrono::steady_clock::now();
  refill(message);
  const double handed_refill_us = us_between(begin, std::chrono::steady_clock::now());
  std::vector<int> fds = m_inputs ? m_inputs->fds() : std::vector<int>();
  m_output->hand_over(message, fds);
  WB_TRY_ASSIGN(auto answer, m_subject.ask(std::move(message), fds, m_wait));
  WB_TRY(m_output->taken_up());
  ObjectReader reader(answer, "an answer");
  const double call_us = reader.real("call_us");
  const double refill_us = reader.real("refill_us") + (m_inputs ? handed_refill_us : 0);
  const bool settled = reader.boolean_or("settled", false);
  const bool flushes = reader.boolean_or("flushes", false);
  if (!reader.finish(true).ok()) {
    return m_subject.fail(Invalidity::runtime, "the subject answered \"turn\" with garbage");
  }
  if (m_context.clock == Clock::device) m_launches = told_launches(answer);
  if (!settled) m_flags.emplace_back(measure::k_flag_not_settled);
  if (cold() && !flushes) m_flags.emplace_back(k_flag_swept_cache);
  // On a GPU the call before the first block is also that of its whole graph.
  m_is_settled_on_inputs = m_context.clock == Clock::host;
  m_call_us = call_us;
  m_blocks = plan_blocks(m_args.plan, call_us, refill_us, m_context.clock,
                         m_subject.kind() == SubjectKind::python);
  return {};
}

Outcome<void> TurnConductor::measure_pings() {
  WB_TRY_ASSIGN(auto pings,
                time_pings(m_subject, most_ping_us(empty_call().ping_us), m_context.clock, m_wait));
  m_pings = pings;
  return {};
}

Outcome<void> TurnConductor::prime(bool fresh_inputs, bool warm, std::int64_t calls,
                                   problem::Draw draw) {
  m_poison = draw_poison();
  Json prime = {{"op", "prime"},
                {"calls", calls},
                {"warm", warm},
                {"poison", m_poison.seed},
                {"flush", cold()}};
  if (fresh_inputs) refill(prime, draw);
  if (cold()) m_idle.before_flush(fresh_inputs);
  if (fresh_inputs && !warm && !cold() && m_inputs) m_inputs->read_through(m_context.threads);
  m_output->spoil();
  WB_TRY(m_subject.ask(std::move(prime), {}, m_wait));
  if (cold()) m_idle.after_flush();
  return {};
}

/// What it waited for a CPU: before anyone is accused, all of its threads, each of which has to run
/// before it stands still.
std::int64_t TurnConductor::delay_of_subject_ns() const {
  return m_is_suspect ? m_subject.all_threads_delay_ns() : m_subject.main_thread_delay_ns();
}

Outcome<BlockTime> TurnConductor::time_calls(std::int64_t samples, std::int64_t calls,
                                             const std::function<bool()>& is_picked) {
  return time_block({{"op", "go"}, {"samples", samples}, {"calls", calls}}, is_picked);
}

/// The samples are those of m_samples_us from its former end on.
Outcome<BlockTime> TurnConductor::time_block(const Json& go,
                                             const std::function<bool()>& is_picked) {
  const auto samples = go.at("samples").get<std::int64_t>();
  const auto calls = go.at("calls").get<std::int64_t>();
  const std::int64_t delay_before_ns = delay_of_subject_ns();
  if (cold()) m_idle.before_call();
  const std::int64_t own_asked_ns = own_delay_ns();
  const Deadline asked = std::chrono::steady_clock::now();
  std::int64_t own_before_ns = own_asked_ns;
  Deadline begin = asked;
  Deadline end = begin;
  if (m_context.clock == Clock::device) {
    WB_TRY(m_subject.ask(go, {}, m_wait));
    own_before_ns = own_delay_ns();
    begin = std::chrono::steady_clock::now();
  } else {
    WB_TRY_ASSIGN(const auto stopped, m_subject.ask_to_stop(go, m_wait));
    end = stopped;
  }
  const ResumeOnExit go_on(m_subject);
  auto done = m_subject.more(m_wait);
  if (m_context.clock == Clock::device) end = std::chrono::steady_clock::now();
  if (!done.ok()) return std::move(done).error();
  // On a CPU the end leaves out what this side waited.
  const std::int64_t own_ns = m_context.clock == Clock::device ? own_delay_ns() - own_before_ns : 0;
  const std::int64_t delay_ns = delay_of_subject_ns() - delay_before_ns;
  WB_TRY_ASSIGN(const auto after,
                m_output->at_done(*done, is_picked() ? TakeOutput::yes : TakeOutput::no));
  m_subject.go_on();
  WB_TRY_ASSIGN(auto shown, m_subject.more(m_wait));

  const auto list = shown.find("sample_ns");
  if (list == shown.end() || !list->is_array() ||
      static_cast<std::int64_t>(list->size()) != samples) {
    return m_subject.fail(Invalidity::runtime, "the subject answered \"go\" with garbage");
  }
  BlockTime time;
  const double change_us = after.put_off_us - after.own_copy_us;
  time.wall_us = us_between(begin, end) + change_us;
  time.around_us = us_between(asked, end) + change_us;
  time.put_off_us = after.put_off_us;
  time.own_delay_us = static_cast<double>(own_ns) * 1e-3;
  time.late_us = static_cast<double>(own_before_ns - own_asked_ns) * 1e-3;
  time.delay_us = static_cast<double>(delay_ns) * 1e-3;
  time.reported_us =
      done->value("block_ns", Json()).is_number() ? done->at("block_ns").get<double>() * 1e-3 : 0.0;
  for (const Json& item : *list) {
    const double sample_us = item.is_number() ? item.get<double>() * 1e-3 : 0.0;
    if (!(sample_us > 0) || !std::isfinite(sample_us)) {
      return m_subject.fail(Invalidity::runtime,
                            "the subject reported a time that is none: its clock or its "
                            "loop was tampered with");
    }
    time.samples_us += sample_us;
    m_samples_us.push_back(sample_us / static_cast<double>(calls));
  }
  return time;
}

Outcome<Pings> time_pings(SubjectProcess& subject, double most_us, Clock clock, const Wait& wait) {
  std::vector<double> times_us;
  for (int i = 0; i < k_pings; ++i) {
    const Deadline begin = std::chrono::steady_clock::now();
    Deadline end = begin;
    const ResumeOnExit go_on(subject);
    if (clock == Clock::host) {
      WB_TRY_ASSIGN(const auto stopped, subject.ask_to_stop({{"op", "ping"}}, wait));
      end = stopped;
      subject.go_on();
    } else {
      WB_TRY(subject.tell({{"op", "ping"}}, {}));
    }
    WB_TRY(subject.more(wait));
    if (clock == Clock::device) end = std::chrono::steady_clock::now();
    times_us.push_back(us_between(begin, end));
  }
  return pings_of(std::move(times_us), most_us);
}

namespace {

constexpr double k_long_call_us = 500;  ///< longer calls are made once

}  // namespace

/// A block like the timed ones, on inputs of large magnitude: a variant that recognizes timing in
/// any way must be correct there too.
Outcome<void> TurnConductor::try_large_calls() {
  const bool is_long = measure::median(m_samples_us) > k_long_call_us;
  const std::int64_t calls = is_long ? 1 : m_blocks.calls_per_sample;
  WB_TRY(prime(true, !cold() && !is_long, calls, problem::Draw::large));
  const std::size_t timed = m_samples_us.size();
  WB_TRY(time_calls(is_long ? 1 : m_blocks.samples_per_block, calls));
  m_samples_us.resize(timed);
  WB_TRY(spot_fails("calls on inputs of large magnitude"));
  return {};
}

// Checks that a problem fits before anything is reserved for it. A problem that does not fit is a
// limit of the machine, and no subject is blamed.

namespace {

double input_bytes(const Problem& problem) {
  double bytes = 0;
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    if (tensor == Tensor::mask && problem.mask == problem::MaskKind::none) continue;
    bytes += static_cast<double>(problem::tensor_bytes(problem, tensor));
  }
  return bytes;
}

/// A subject's old and new tensors, which coexist for a moment, and a judgement.
double needed_on_gpu(const Problem& problem) {
  // out exists twice: the variant's, and the copy after the last timed call.
  const double subject =
      2 * (input_bytes(problem) + 2 * static_cast<double>(problem::out_bytes(problem)));
  const std::size_t blocks = cuda::gpu_blocks(problem, {}).size();
  return subject + static_cast<double>(cuda::judge_device_bytes(problem, blocks, true));
}

/// A context, modules, and memory that libraries keep. A context took 0.6 GB (H200, driver 580).
constexpr double k_subject_gpu_bytes = 2e9;

}  // namespace

bool fits_on_gpu(const Problem& problem, std::uint64_t free_bytes) {
  return needed_on_gpu(problem) <= static_cast<double>(free_bytes);
}

bool has_room_on_gpu(const Problem& problem, std::uint64_t free_bytes) {
  return needed_on_gpu(problem) + k_subject_gpu_bytes <= static_cast<double>(free_bytes);
}

std::optional<Failure> memory_hog_failure(const Problem& problem, std::uint64_t free_with,
                                          std::uint64_t free_without) {
  if (has_room_on_gpu(problem, free_with) || free_without <= free_with) return std::nullopt;
  const auto held = static_cast<double>(free_without - free_with);
  const double tensors =
      2 * (input_bytes(problem) + static_cast<double>(problem::out_bytes(problem)));
  if (held <= tensors + k_subject_gpu_bytes) return std::nullopt;
  return Failure{Invalidity::runtime,
                 fmt::format("it held {:.1f} GB of device memory, which left too little for the "
                             "judge; the problem's tensors are {:.3f} GB",
                             held * 1e-9, tensors * 1e-9),
                 {}};
}

Outcome<void> check_fits(const Problem& problem, const TurnContext& context, const Wait& wait) {
  const double needed =
      3 * input_bytes(problem) + 4 * static_cast<double>(problem::out_bytes(problem));
  const auto available = static_cast<double>(available_memory_bytes());
  if (!(needed <= available / 2)) {
    return environment(
        fmt::format("the problem needs {:.1f} GB to be judged and timed, half of this "
                    "machine's free memory is {:.1f} GB; choose a smaller problem",
                    needed * 1e-9, available * 0.5e-9));
  }
  if (context.clock == Clock::host) return {};
  WB_TRY_ASSIGN(const auto free_bytes, context.judge.free_gpu_bytes(wait.deadline, wait.cancel));
  if (fits_on_gpu(problem, free_bytes)) return {};
  return environment(fmt::format(
      "the problem needs {:.1f} GB of device memory to be judged and timed, {:.1f} GB are free on "
      "the GPU; choose a smaller problem, or end what holds its memory",
      needed_on_gpu(problem) * 1e-9, static_cast<double>(free_bytes) * 1e-9));
}

}  // namespace wb::worker
