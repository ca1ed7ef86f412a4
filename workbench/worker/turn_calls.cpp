// SPDX-License-Identifier: MIT
// TurnConductor's messages: a stage, inputs, calls, and what they took.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/json.hpp"
#include "core/secret.hpp"
#include "measure/quantiles.hpp"
#include "worker/microseconds.hpp"
#include "worker/turn_conductor.hpp"

namespace wb::worker {

namespace {

constexpr double k_long_call_us = 500;  ///< longer calls of large magnitude are made once

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

}  // namespace wb::worker
