// SPDX-License-Identifier: MIT
#include "worker/turn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>

#include "measure/statistics.hpp"
#include "worker/secret.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker {
namespace {

constexpr std::int64_t k_spot_blocks = 4;    ///< row blocks of a spot check
constexpr std::uint32_t k_spot_one_in = 20;  ///< of the blocks before the last
constexpr int k_pings = 5;
constexpr double k_resolution_calls = 10;    ///< times an empty call
constexpr std::uint32_t k_fresh_one_in = 8;  ///< of the turns after the first on a problem and plan
constexpr int k_fresh_tries = 6;             ///< at least, before anyone is accused
constexpr int k_fresh_max_tries = 200;
constexpr double k_fresh_budget_us = 300e3;   ///< short calls are tried again for this long
constexpr double k_fresh_waiting_frac = 0.1;  ///< of the fresh calls' time, waiting for a CPU
constexpr double k_slowed_ratio = 1.5;        ///< of a block after the fresh calls to those before
constexpr double k_foreign_load_frac = 0.5;   ///< of the timed part, waiting for a CPU

Failure environment(std::string message) {
  return Failure{Invalidity::environment, std::move(message), {}};
}

/// 62 bits: exact in a signed 64-bit JSON number.
Poison draw_poison() {
  return Poison{draw_secret<std::uint64_t>() >> 2};
}

double us_between(Deadline begin, Deadline end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

/// The tensors of the subject, of the judge and of the hand-over, all at one time.
Outcome<void> check_fits(const Problem& problem) {
  double inputs = 0;
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    if (tensor == Tensor::mask && problem.mask == MaskKind::none) continue;
    inputs += static_cast<double>(tensor_bytes(problem, tensor));
  }
  const double needed = 3 * inputs + 4 * static_cast<double>(out_bytes(problem));
  const auto available = static_cast<double>(available_memory_bytes());
  if (needed <= available / 2) return {};
  return environment(
      fmt::format("the problem needs {:.1f} GB to be judged and timed, half of this "
                  "machine's free memory is {:.1f} GB; choose a smaller problem",
                  needed * 1e-9, available * 0.5e-9));
}

Outcome<SharedMemory> make_output(const char* name, std::size_t size_bytes, const Poison& poison) {
  Result<SharedMemory> memory = SharedMemory::create(name, size_bytes);
  if (!memory.ok()) return environment(memory.error().message());
  poison.fill(memory->bytes());
  return *std::move(memory);
}

/// The state of one turn between its messages.
class TurnConductor {
 public:
  TurnConductor(SubjectProcess& subject, const protocol::TurnArgs& args, const TurnContext& context,
                const Wait& wait)
      : m_subject(subject), m_args(args), m_context(context), m_wait(wait) {}

  Outcome<protocol::TurnResult> conduct();

 private:
  Outcome<void> set_stage();
  Outcome<void> measure_round_trip();
  Outcome<void> prime(bool fresh_inputs, bool warm);
  Outcome<BlockTime> time_calls(std::int64_t samples, std::int64_t calls);
  Outcome<void> take_block(bool fresh_inputs);
  [[nodiscard]] bool draws_fresh_calls() const;
  [[nodiscard]] std::string stage() const;
  struct FreshCalls {
    double fastest_us = std::numeric_limits<double>::infinity();
    double spent_us = 0;
  };
  Outcome<FreshCalls> time_fresh_calls(double limit_us);
  Outcome<bool> machine_slowed_down();
  Outcome<void> try_fresh_calls();
  Outcome<void> take_all_blocks();
  Outcome<bool> spot_fails(std::int64_t block);
  protocol::TurnResult summary() const;
  [[nodiscard]] bool cold() const { return m_args.plan.kind == PlanKind::cold; }
  std::uint32_t refill();

  SubjectProcess& m_subject;
  const protocol::TurnArgs& m_args;
  const TurnContext& m_context;
  const Wait& m_wait;
  std::optional<HandedInputs> m_inputs;  // Python only
  std::optional<SharedMemory> m_shown;   // the output after the last block
  BlockPlan m_blocks;
  double m_round_trip_us = 0;
  std::uint32_t m_seed = 0;
  Poison m_poison;
  std::vector<double> m_samples_us;
  std::vector<BlockTime> m_times;
  std::vector<std::string> m_flags;
  std::optional<OutputVerdict> m_spot;
};

std::uint32_t TurnConductor::refill() {
  m_seed = draw_secret<std::uint32_t>();
  if (m_inputs) m_inputs->refill(m_seed, Draw::normal, m_context.threads);
  return m_seed;
}

Outcome<void> TurnConductor::set_stage() {
  if (auto fits = check_fits(m_args.problem); !fits.ok()) return fits;
  m_poison = draw_poison();
  auto shown = make_output("shown", out_bytes(m_args.problem), m_poison);
  if (!shown.ok()) return std::move(shown).error();
  m_shown.emplace(*std::move(shown));
  if (m_subject.kind() == SubjectKind::python) {
    auto inputs = HandedInputs::create(m_args.problem);
    if (!inputs.ok()) return environment(inputs.error().message());
    m_inputs.emplace(*std::move(inputs));
  }
  const Deadline begin = std::chrono::steady_clock::now();
  Json message = {{"op", "turn"},
                  {"problem", to_json(m_args.problem)},
                  {"placement", m_args.placement},
                  {"seed", refill()},
                  {"settle_us", m_args.plan.settle_us},
                  {"args_per_call", m_args.plan.kind == PlanKind::eager}};
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
  m_blocks = plan_blocks(m_args.plan, call_us, refill_us);
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

Outcome<void> TurnConductor::prime(bool fresh_inputs, bool warm) {
  m_poison = draw_poison();
  Json prime = {{"op", "prime"}, {"warm", warm}, {"poison", m_poison.seed}, {"flush", cold()}};
  if (fresh_inputs) prime["seed"] = refill();
  auto primed = m_subject.ask(std::move(prime), {}, m_wait);
  if (!primed.ok()) return std::move(primed).error();
  return {};
}

/// The samples are those of m_samples_us from its former end on.
Outcome<BlockTime> TurnConductor::time_calls(std::int64_t samples, std::int64_t calls) {
  const Json go = {{"op", "go"}, {"samples", samples}, {"calls", calls}};
  const std::int64_t delay_before_ns = m_subject.main_thread_delay_ns();
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
  if (auto primed = prime(fresh_inputs, fresh_inputs); !primed.ok()) return primed;
  auto time = time_calls(m_blocks.samples_per_block, m_blocks.calls_per_sample);
  if (!time.ok()) return std::move(time).error();
  m_times.push_back(*time);
  return {};
}

/// Fresh calls cost as much as the turn itself, so not every turn has them: of each code on a
/// problem and plan the first ones do, until one was passed; which later ones do, in whatever
/// process, is drawn after they ran, so a subject cannot behave for the occasion.
bool TurnConductor::draws_fresh_calls() const {
  const bool has_passed = m_context.shown != nullptr && m_context.shown->contains(stage());
  return !has_passed || draw_secret<std::uint32_t>() % k_fresh_one_in == 0;
}

std::string TurnConductor::stage() const {
  return fmt::format("{} {} {}", m_context.subject, to_text(m_args.problem),
                     to_string(m_args.plan.kind));
}

/// The fastest of a row of single calls, each on inputs never seen and into a poisoned output, by
/// the supervisor's clock. One below the limit ends the row; so do tries and time enough that
/// other work on the machine cannot have met every one of a short call's.
Outcome<TurnConductor::FreshCalls> TurnConductor::time_fresh_calls(double limit_us) {
  FreshCalls calls;
  const std::size_t timed = m_samples_us.size();
  for (int i = 0; i < k_fresh_max_tries && !(calls.fastest_us <= limit_us) &&
                  (i < k_fresh_tries || calls.spent_us < k_fresh_budget_us);
       ++i) {
    if (auto primed = prime(true, false); !primed.ok()) return std::move(primed).error();
    const auto time = time_calls(1, 1);
    if (!time.ok()) return time.error();
    m_samples_us.resize(timed);
    calls.spent_us += time->around_us;
    // Not wall_us: a supervisor that wakes up late for "started" would see next to no time.
    calls.fastest_us =
        std::min(calls.fastest_us, time->around_us - time->own_delay_us - time->delay_us);
  }
  return calls;
}

/// True if a block like the timed ones now takes longer than they did, so that slow calls are the
/// machine's doing: a hypervisor takes its share unseen by the kernel's counts.
Outcome<bool> TurnConductor::machine_slowed_down() {
  const std::size_t timed = m_samples_us.size();
  if (auto primed = prime(true, true); !primed.ok()) return std::move(primed).error();
  const auto time = time_calls(m_blocks.samples_per_block, m_blocks.calls_per_sample);
  if (!time.ok()) return time.error();
  m_samples_us.resize(timed);
  std::vector<double> timed_us;
  for (const BlockTime& block : m_times) timed_us.push_back(block.around_us);
  return !(time->around_us <= k_slowed_ratio * median(timed_us));
}

/// Timed calls see the same inputs again and again, so a subject may remember its result, or see
/// that it is still there. A single call on inputs that it never saw, into a poisoned output, has
/// all the work to do: by the supervisor's clock it must not take much longer.
Outcome<void> TurnConductor::try_fresh_calls() {
  const double timed_us = median(m_samples_us);
  const double limit_us = fresh_call_limit_us(timed_us, m_round_trip_us);
  const std::int64_t delay_before_ns = m_subject.all_threads_delay_ns() + own_delay_ns();
  const auto calls = time_fresh_calls(limit_us);
  if (!calls.ok()) return calls.error();
  const auto wrong = spot_fails(m_blocks.blocks);
  if (!wrong.ok()) return wrong.error();
  if (*wrong) return {};
  if (calls->fastest_us <= limit_us) {
    if (m_context.shown != nullptr) m_context.shown->insert(stage());
    return {};
  }
  const auto waited_us =
      static_cast<double>(m_subject.all_threads_delay_ns() + own_delay_ns() - delay_before_ns) *
      1e-3;
  const auto slowed = machine_slowed_down();
  if (!slowed.ok()) return slowed.error();
  if (*slowed || waited_us > k_fresh_waiting_frac * calls->spent_us) {  // nobody is accused
    m_flags.emplace_back(k_flag_foreign_load);
    return {};
  }
  return m_subject.fail(
      Invalidity::runtime,
      fmt::format("fresh inputs: a call on inputs it had not seen took {:.0f} us by the "
                  "supervisor's clock, its timed calls {:.0f} us: they leave out work",
                  calls->fastest_us, timed_us));
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
    const bool fresh_inputs = block % m_blocks.refill_every == 0;
    if (auto taken = take_block(fresh_inputs); !taken.ok()) return taken;
    const bool last = block + 1 == m_blocks.blocks;
    // Which blocks are judged is drawn after they ran.
    const bool picked = last || draw_secret<std::uint32_t>() % k_spot_one_in == 0;
    if (!m_args.spot_check || !picked) continue;
    const auto fails = spot_fails(block);
    if (!fails.ok()) return fails.error();
    if (*fails) break;  // wrong: the rest is not worth timing
  }
  return m_subject.expect_silence();
}

protocol::TurnResult TurnConductor::summary() const {
  protocol::TurnResult result;
  result.samples_us = thinned(m_samples_us, m_args.plan.max_samples);
  result.calls_per_sample = m_blocks.calls_per_sample;
  for (const BlockTime& time : m_times) {
    result.reported_us += time.samples_us;
    result.wall_us += time.around_us;
  }
  result.flags = m_flags;
  result.spot = m_spot;
  return result;
}

Outcome<protocol::TurnResult> TurnConductor::conduct() {
  if (auto staged = set_stage(); !staged.ok()) return std::move(staged).error();
  if (auto measured = measure_round_trip(); !measured.ok()) return std::move(measured).error();
  Witness witness = Witness::mismatch;
  const std::int64_t delay_before_ns = m_subject.all_threads_delay_ns();
  // A second chance: foreign load between two messages must not accuse an honest subject.
  for (int attempt = 0; attempt < 2 && witness == Witness::mismatch; ++attempt) {
    if (auto taken = take_all_blocks(); !taken.ok()) return std::move(taken).error();
    witness = judge_block_times(m_times, m_round_trip_us);
  }
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
  if (m_args.spot_check && m_spot && m_spot->pass && draws_fresh_calls()) {
    if (auto tried = try_fresh_calls(); !tried.ok()) return std::move(tried).error();
    result.spot = m_spot;
    result.flags = m_flags;
  }
  if (witness == Witness::too_short) result.flags.emplace_back(k_flag_not_witnessed);
  const double empty_us = m_subject.kind() == SubjectKind::python ? m_context.empty_python_call_us
                                                                  : m_context.empty_call_us;
  if (!(median(result.samples_us) >= k_resolution_calls * empty_us)) {
    result.flags.emplace_back(k_flag_resolution_limited);
  }
  if (too_much_waiting(m_times) ||
      waited_us > k_foreign_load_frac * result.wall_us * m_context.threads) {
    result.flags.emplace_back(k_flag_foreign_load);
  }
  return result;
}

}  // namespace

Result<HandedInputs> HandedInputs::create(const Problem& problem) {
  HandedInputs inputs(problem);
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    if (tensor == Tensor::mask && problem.mask == MaskKind::none) continue;
    WB_TRY_ASSIGN(SharedMemory memory,
                  SharedMemory::create("input", tensor_bytes(problem, tensor)));
    inputs.m_tensors.push_back(std::move(memory));
  }
  return inputs;
}

void HandedInputs::refill(std::uint32_t seed, Draw draw, int threads) {
  for (std::size_t i = 0; i < m_tensors.size(); ++i) {
    fill_tensor(m_problem, seed, static_cast<Tensor>(i), draw, m_tensors[i].bytes(), threads);
  }
}

std::vector<int> HandedInputs::fds() const {
  std::vector<int> fds;
  for (const SharedMemory& memory : m_tensors) fds.push_back(memory.fd());
  return fds;
}

Outcome<protocol::TurnResult> conduct_turn(SubjectProcess& subject, const protocol::TurnArgs& args,
                                           const TurnContext& context, const Wait& wait) {
  return TurnConductor(subject, args, context, wait).conduct();
}

Outcome<protocol::RunResult> conduct_run(SubjectProcess& subject, const protocol::RunArgs& args,
                                         const TurnContext& context, const Wait& wait) {
  const Problem& problem = args.problem;
  if (auto fits = check_fits(problem); !fits.ok()) return std::move(fits).error();
  JudgeTask task;
  task.problem = problem;
  task.draw = args.draw;
  task.seed = draw_secret<std::uint32_t>();
  task.out_poison = draw_poison();
  task.lse_poison = draw_poison();
  task.threads = context.threads;
  auto out = make_output("out", out_bytes(problem), task.out_poison);
  if (!out.ok()) return std::move(out).error();
  std::optional<SharedMemory> lse;
  if (args.want_lse) {
    const auto lse_bytes = static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq) * 4;
    auto made = make_output("lse", lse_bytes, task.lse_poison);
    if (!made.ok()) return std::move(made).error();
    lse.emplace(*std::move(made));
  }
  std::vector<int> fds;
  std::optional<HandedInputs> inputs;
  if (subject.kind() == SubjectKind::python) {
    auto handed = HandedInputs::create(problem);
    if (!handed.ok()) return environment(handed.error().message());
    inputs.emplace(*std::move(handed));
    inputs->refill(task.seed, args.draw, context.threads);
    fds = inputs->fds();
  }
  fds.push_back(out->fd());
  if (lse) fds.push_back(lse->fd());
  auto answer = subject.ask({{"op", "run"},
                             {"problem", to_json(problem)},
                             {"draw", to_string(args.draw)},
                             {"seed", task.seed}},
                            fds, wait);
  if (!answer.ok()) return std::move(answer).error();
  ObjectReader reader(*answer, "an answer");
  const double call_us = reader.real("call_us");
  // A Python subject may decline to give an LSE; then it is not judged, and the result says so.
  const bool gives_lse = subject.kind() == SubjectKind::native || reader.boolean_or("lse", false);
  const bool lse_given = lse && gives_lse;
  if (!reader.finish(true).ok()) {
    return subject.fail(Invalidity::runtime, "the subject answered \"run\" with garbage");
  }
  auto verdict =
      context.judge.judge(task, *out, lse_given ? &*lse : nullptr, wait.deadline, wait.cancel);
  if (!verdict.ok()) return std::move(verdict).error();
  return protocol::RunResult{task.seed, *std::move(verdict), lse_given, call_us * 1e-3};
}

}  // namespace wb::worker
