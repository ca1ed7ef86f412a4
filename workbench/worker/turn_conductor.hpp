// SPDX-License-Identifier: MIT
// TurnConductor: the state of one turn between its messages. Private to turn*.cpp, and to
// fresh_check.cpp and first_calls.cpp, which have its members for such calls.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json_fwd.hpp"
#include "measure/launches.hpp"
#include "worker/call_output.hpp"
#include "worker/fresh_check.hpp"
#include "worker/hand_over.hpp"
#include "worker/turn.hpp"
#include "worker/turn_plan.hpp"
#include "worker/turn_watch.hpp"

namespace wb::worker {

/// The calls of a chain: each on inputs of its own, all on the last inputs, or none at all.
enum class ChainOf { fresh, again, fills };

class TurnConductor {
 public:
  TurnConductor(SubjectProcess& subject, const protocol::TurnArgs& args, const TurnContext& context,
                const Wait& wait)
      : m_subject(subject),
        m_args(args),
        m_context(context),
        m_wait(wait),
        m_watch(context.gpu),
        m_quota(context.place.root),
        m_idle(idle_accounts(subject)) {}

  Outcome<protocol::TurnResult> conduct();
  /// In the place of conduct(); see time_lone_call_us.
  Outcome<double> lone_call_us();

  // In the place of conduct(), for conduct_first_calls().
  Outcome<void> begin_first_calls() { return set_stage(); }
  /// Microseconds by the supervisor's clock: on new inputs, or on the last ones made again.
  Outcome<double> first_call_us(bool is_new);
  /// How many calls a chain of this subject may have, with so much room for their inputs; 0: its
  /// first calls are taken one by one.
  [[nodiscard]] std::int64_t most_chained_calls(double room_bytes) const;
  /// The mean time of so many calls, each with what makes its inputs; `fills`: of that alone.
  Outcome<double> chained_call_us(ChainOf what, std::int64_t calls);
  /// Of all chains so far.
  [[nodiscard]] double chained_us() const { return m_chained_us; }
  /// Why the last call's output is wrong, or nothing.
  Outcome<std::optional<std::string>> wrong_first_call();
  /// What an empty call takes that way, and what a library may need besides. `chained`: how many
  /// calls share the messages, as most_chained_calls() says it.
  [[nodiscard]] std::pair<double, double> first_call_overhead_us(std::int64_t chained) const;

 private:
  Outcome<void> set_stage();
  /// After the first blocks, so that no block is told from a judged run's by what came before.
  Outcome<void> measure_pings();
  /// `calls`: of a sample of the block to come.
  Outcome<void> prime(bool fresh_inputs, bool warm, std::int64_t calls,
                      problem::Draw draw = problem::Draw::normal);
  /// Which blocks are judged is drawn when they have ended, `is_picked` on a CPU before the subject
  /// does anything else.
  Outcome<BlockTime> time_calls(
      std::int64_t samples, std::int64_t calls,
      const std::function<bool()>& is_picked = [] { return true; });
  /// The same of any message "go".
  Outcome<BlockTime> time_block(const Json& go, const std::function<bool()>& is_picked);
  /// Whether its output is to be judged.
  Outcome<bool> take_block(bool fresh_inputs, bool last);
  Outcome<void> take_all_blocks();
  /// Has the output that was read last judged on a few row blocks. `what` it followed is for words.
  Outcome<bool> spot_fails(const std::string& what);
  [[nodiscard]] bool is_wrong() const { return m_spot && !m_spot->pass; }
  Outcome<void> try_large_calls();
  [[nodiscard]] const EmptyCall& empty_call() const;
  [[nodiscard]] bool was_at_work() const;
  /// All but the flags.
  protocol::TurnResult summary() const;
  void add_flag(std::string_view flag);

  // first_calls.cpp
  /// The message that starts a chain, whose last inputs and poison are then those of the judge's.
  Json chain_of(ChainOf what, std::int64_t calls);
  /// The last inputs once more, as new ones come.
  Outcome<void> prime_again();

  // fresh_check.cpp
  [[nodiscard]] bool draws_fresh_calls() const;
  [[nodiscard]] FreshRecord& fresh_record() const;
  /// One, after other memory was read through.
  Outcome<FreshTimes> time_fresh_call(std::span<const std::byte> read_between);
  Outcome<void> try_fresh_calls();

  [[nodiscard]] bool cold() const { return m_args.plan.kind == measure::PlanKind::cold; }
  /// Draws a seed for new inputs, and tells the message of it.
  void refill(Json& message, problem::Draw draw = problem::Draw::normal);
  /// The samples so far, in the blocks they came in.
  [[nodiscard]] std::vector<BlockFacts> block_facts() const;
  /// Notes a hot figure, or holds a cold one against it.
  void compare_with_hot(double figure_us);
  [[nodiscard]] Witness witness() const;
  [[nodiscard]] std::int64_t delay_of_subject_ns() const;

  SubjectProcess& m_subject;
  const protocol::TurnArgs& m_args;
  const TurnContext& m_context;
  const Wait& m_wait;
  ConditionsWatch m_watch;
  QuotaWatch m_quota;                    // of timed blocks
  std::optional<HandedInputs> m_inputs;  // Python only
  std::unique_ptr<CallOutput> m_output;
  BlockPlan m_blocks;
  double m_chained_us = 0;
  double m_call_us = 0;  // about, as the subject said when the stage was set
  std::optional<Pings> m_pings;
  std::uint32_t m_seed = 0;
  problem::Draw m_draw = problem::Draw::normal;  // of the inputs of m_seed
  bool m_is_settled_on_inputs = false;           // the settling calls had the inputs of m_seed
  problem::Poison m_poison;
  std::vector<double> m_samples_us;
  std::vector<BlockTime> m_times;
  std::vector<std::string> m_flags;
  std::optional<problem::OutputVerdict> m_spot;
  std::vector<measure::KernelLaunch> m_launches;  // as the subject says, on a GPU
  IdleWatch m_idle;
  bool m_is_suspect = false;  // its clock and the supervisor's told different times
};

inline Failure wrong_timed_output(const std::string& how) {
  return {Invalidity::correctness, "a timed output was wrong: " + how, ""};
}

}  // namespace wb::worker
