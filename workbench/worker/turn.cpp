// SPDX-License-Identifier: MIT
// One turn from its first message to its result.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "measure/statistics.hpp"
#include "worker/secret.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {
namespace {

constexpr std::int64_t k_spot_blocks = 4;    ///< row blocks of a spot check
constexpr std::uint32_t k_spot_one_in = 20;  ///< of the blocks before the last
constexpr int k_pings = 5;
constexpr double k_resolution_calls = 10;  ///< times an empty call
/// Foreign load between two messages must not accuse an honest subject, and a hypervisor's shows in
/// no account of this kernel. A clock that lies does so each time.
constexpr int k_witness_attempts = 3;
constexpr double k_foreign_load_frac = 0.5;  ///< of the timed part, waiting for a CPU

double us_between(Deadline begin, Deadline end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

}  // namespace

void TurnConductor::refill(Json& message) {
  m_seed = draw_secret<std::uint32_t>();
  message["seed"] = m_seed;
  if (m_inputs) m_inputs->refill(m_seed, Draw::normal, m_context.threads, message);
}

Outcome<void> TurnConductor::set_stage() {
  if (auto fits = check_fits(m_args.problem, m_context, m_wait); !fits.ok()) return fits;
  auto shown = m_subject.shown_memory(out_bytes(m_args.problem));
  if (!shown.ok()) return std::move(shown).error();
  m_shown = *std::move(shown);
  if (m_subject.kind() == SubjectKind::python) {
    auto inputs = HandedInputs::create(m_args.problem, m_context.clock);
    if (!inputs.ok()) return std::move(inputs).error();
    m_inputs.emplace(*std::move(inputs));
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
  fds.push_back(m_shown->fd());
  auto answer = m_subject.ask(std::move(message), fds, m_wait);
  if (!answer.ok()) return std::move(answer).error();
  ObjectReader reader(*answer, "an answer");
  const double call_us = reader.real("call_us");
  const double refill_us = reader.real("refill_us") + (m_inputs ? handed_refill_us : 0);
  const bool settled = reader.boolean_or("settled", false);
  const bool flushes = reader.boolean_or("flushes", false);
  if (!reader.finish(true).ok()) {
    return m_subject.fail(Invalidity::runtime, "the subject answered \"turn\" with garbage");
  }
  if (!settled) m_flags.emplace_back(k_flag_not_settled);
  if (cold() && !flushes) m_flags.emplace_back(k_flag_swept_cache);
  // On a GPU the call before the first block is also that of its whole graph.
  m_is_settled_on_inputs = m_context.clock == Clock::host;
  m_blocks = plan_blocks(m_args.plan, call_us, refill_us, m_context.clock);
  return {};
}

Outcome<void> TurnConductor::measure_round_trip() {
  std::vector<double> round_trips_us;
  for (int i = 0; i < k_pings; ++i) {
    const Deadline begin = std::chrono::steady_clock::now();
    const auto answer = m_subject.ask({{"op", "ping"}}, {}, m_wait);
    if (!answer.ok()) return answer.error();
    round_trips_us.push_back(us_between(begin, std::chrono::steady_clock::now()));
  }
  m_round_trip_us = *std::min_element(round_trips_us.begin(), round_trips_us.end());
  return {};
}

Outcome<void> TurnConductor::prime(bool fresh_inputs, bool warm, std::int64_t calls) {
  m_poison = draw_poison();
  Json prime = {{"op", "prime"},
                {"calls", calls},
                {"warm", warm},
                {"poison", m_poison.seed},
                {"flush", cold()}};
  if (fresh_inputs) refill(prime);
  if (fresh_inputs && !warm && !cold() && m_inputs) m_inputs->read_through(m_context.threads);
  auto primed = m_subject.ask(std::move(prime), {}, m_wait);
  if (!primed.ok()) return std::move(primed).error();
  return {};
}

/// The samples are those of m_samples_us from its former end on.
Outcome<BlockTime> TurnConductor::time_calls(std::int64_t samples, std::int64_t calls) {
  const Json go = {{"op", "go"}, {"samples", samples}, {"calls", calls}};
  const std::int64_t delay_before_ns = m_subject.main_thread_delay_ns();
  const std::int64_t own_asked_ns = own_delay_ns();
  const Deadline asked = std::chrono::steady_clock::now();
  auto started = m_subject.ask(go, {}, m_wait);
  if (!started.ok()) return std::move(started).error();
  const std::int64_t own_before_ns = own_delay_ns();
  const Deadline begin = std::chrono::steady_clock::now();
  auto done = m_subject.more(m_wait);
  const Deadline end = std::chrono::steady_clock::now();
  const std::int64_t own_ns = own_delay_ns() - own_before_ns;
  const std::int64_t delay_ns = m_subject.main_thread_delay_ns() - delay_before_ns;
  if (!done.ok()) return std::move(done).error();
  auto shown = m_subject.more(m_wait);
  if (!shown.ok()) return std::move(shown).error();

  const auto list = shown->find("sample_ns");
  if (list == shown->end() || !list->is_array() ||
      static_cast<std::int64_t>(list->size()) != samples) {
    return m_subject.fail(Invalidity::runtime, "the subject answered \"go\" with garbage");
  }
  BlockTime time;
  time.wall_us = us_between(begin, end);
  time.around_us = us_between(asked, end);
  time.own_delay_us = static_cast<double>(own_ns) * 1e-3;
  time.late_us = static_cast<double>(own_before_ns - own_asked_ns) * 1e-3;
  time.delay_us = static_cast<double>(delay_ns) * 1e-3;
  time.reported_us =
      done->value("block_ns", Json()).is_number() ? done->at("block_ns").get<double>() * 1e-3 : 0.0;
  for (const Json& item : *list) {
    const double sample_us = item.is_number() ? item.get<double>() * 1e-3 : 0.0;
    if (!(sample_us > 0)) {
      return m_subject.fail(Invalidity::runtime,
                            "the subject reported a time that is not positive: its clock or its "
                            "loop was tampered with");
    }
    time.samples_us += sample_us;
    m_samples_us.push_back(sample_us / static_cast<double>(calls));
  }
  return time;
}

Outcome<void> TurnConductor::take_block(bool fresh_inputs) {
  auto primed = prime(fresh_inputs, fresh_inputs, m_blocks.calls_per_sample);
  if (!primed.ok()) return primed;
  auto time = time_calls(m_blocks.samples_per_block, m_blocks.calls_per_sample);
  if (!time.ok()) return std::move(time).error();
  m_times.push_back(*time);
  return {};
}

/// Has the output of the last block judged on a few row blocks.
Outcome<bool> TurnConductor::spot_fails(std::int64_t block) {
  JudgeTask task;
  task.problem = m_args.problem;
  task.seed = m_seed;
  task.out_poison = m_poison;
  task.max_blocks = k_spot_blocks;
  task.threads = m_context.threads;
  auto verdict = m_context.judge.judge(task, *m_shown, nullptr, m_wait.deadline, m_wait.cancel);
  if (!verdict.ok()) return std::move(verdict).error();
  if (!verdict->pass) {
    const std::string where = block < m_blocks.blocks ? fmt::format("after timed block {} of {}",
                                                                    block + 1, m_blocks.blocks)
                                                      : "after a call on fresh inputs";
    verdict->reason = fmt::format("{}: {}", where, verdict->reason);
  }
  m_spot = *std::move(verdict);
  return !m_spot->pass;
}

Outcome<void> TurnConductor::take_all_blocks() {
  m_samples_us.clear();
  m_times.clear();
  for (std::int64_t block = 0; block < m_blocks.blocks; ++block) {
    const bool due = block % m_blocks.refill_every == 0;
    const bool fresh_inputs = due && !std::exchange(m_is_settled_on_inputs, false);
    if (auto taken = take_block(fresh_inputs); !taken.ok()) return taken;
    const bool last = block + 1 == m_blocks.blocks;
    m_watch.after_work(last);  // before the judge computes on the same device
    // Which blocks are judged is drawn after they ran.
    const bool picked = last || draw_secret<std::uint32_t>() % k_spot_one_in == 0;
    if (!m_args.spot_check || !picked) continue;
    const auto fails = spot_fails(block);
    if (!fails.ok()) return fails.error();
    if (*fails) break;  // wrong: the rest is not worth timing
  }
  return m_subject.expect_silence();
}

const EmptyCall& TurnConductor::empty_call() const {
  return m_subject.kind() == SubjectKind::python ? m_context.empty_python : m_context.empty_native;
}

protocol::TurnResult TurnConductor::summary() const {
  protocol::TurnResult result;
  for (const double us : thinned(m_samples_us, m_args.plan.max_samples)) {
    result.samples_us.push_back(six_digits(us));
  }
  result.calls_per_sample = m_blocks.calls_per_sample;
  for (const BlockTime& time : m_times) {
    result.reported_us += time.samples_us;
    result.wall_us += time.around_us;
  }
  result.conditions = m_watch.conditions();
  result.spot = m_spot;
  return result;
}

/// Each once: several parts of a turn may have seen the same.
void TurnConductor::add_flag(std::string_view flag) {
  if (std::find(m_flags.begin(), m_flags.end(), flag) == m_flags.end()) m_flags.emplace_back(flag);
}

Outcome<protocol::TurnResult> TurnConductor::conduct() {
  m_watch.look_for_others();
  if (auto staged = set_stage(); !staged.ok()) return std::move(staged).error();
  m_watch.after_work(true);
  if (auto measured = measure_round_trip(); !measured.ok()) return std::move(measured).error();
  Witness witness = Witness::mismatch;
  const std::int64_t delay_before_ns = m_subject.all_threads_delay_ns();
  for (int attempt = 0; attempt < k_witness_attempts && witness == Witness::mismatch; ++attempt) {
    if (auto taken = take_all_blocks(); !taken.ok()) return std::move(taken).error();
    witness = judge_block_times(m_times, m_round_trip_us);
  }
  m_watch.look_for_others();
  for (const std::string& flag : m_watch.flags()) add_flag(flag);
  protocol::TurnResult result = summary();
  if (witness == Witness::mismatch) {
    return m_subject.fail(
        Invalidity::runtime,
        fmt::format("clock_mismatch: the subject reported {:.0f} us for its timed calls, the "
                    "supervisor's clock saw {:.0f} us",
                    result.reported_us, result.wall_us));
  }
  const auto waited_us =
      static_cast<double>(m_subject.all_threads_delay_ns() - delay_before_ns) * 1e-3;
  if (m_args.fresh_calls && m_args.spot_check && m_spot && m_spot->pass && draws_fresh_calls()) {
    if (auto tried = try_fresh_calls(); !tried.ok()) return std::move(tried).error();
    result.spot = m_spot;
  }
  if (witness == Witness::too_short) add_flag(k_flag_not_witnessed);
  // On a GPU what the clock itself takes is in each sample once, on the CPU in each call.
  const double sampled_calls =
      m_context.clock == Clock::device ? static_cast<double>(result.calls_per_sample) : 1.0;
  if (!(sampled_calls * median(result.samples_us) >= k_resolution_calls * empty_call().timed_us)) {
    add_flag(k_flag_resolution_limited);
  }
  const bool waited = witness == Witness::excused || left_open_too_often(fresh_record()) ||
                      too_much_waiting(m_times) ||
                      waited_us > k_foreign_load_frac * result.wall_us * m_context.threads;
  if (waited) add_flag(k_flag_foreign_load);
  result.flags = m_flags;
  return result;
}

Outcome<protocol::TurnResult> conduct_turn(SubjectProcess& subject, const protocol::TurnArgs& args,
                                           const TurnContext& context, const Wait& wait) {
  return TurnConductor(subject, args, context, wait).conduct();
}

}  // namespace wb::worker
