// SPDX-License-Identifier: MIT
// Crew: the executor of the program around the engine, which evaluates a
// search's requests elsewhere, in any order. The questions to the program: program.hpp.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "search/program.hpp"
#include "tune/evaluation_exchange.hpp"

namespace wb::tune {

/// How many evaluations the program's executor runs at a time; 0 where there is none.
Result<std::int64_t> crew_size(const search::AskProgram& ask);

class Crew {
 public:
  struct Sent {
    EvaluationRequest request;
    std::chrono::steady_clock::time_point at;
    std::optional<EvaluationReply> reply;
    std::string text;   ///< of the reply, as it came
    std::string fault;  ///< why there is none
    bool is_back = false;
  };
  Crew(search::AskProgram ask, const Clock& clock) : m_ask(std::move(ask)), m_clock(clock) {}

  [[nodiscard]] bool knows(const search::Ask& ask) const { return m_numbers.contains(key(ask)); }
  [[nodiscard]] bool has_reply(const search::Ask& ask) const;
  [[nodiscard]] std::size_t size() const { return m_sent.size(); }  ///< not taken yet
  [[nodiscard]] std::size_t away() const;                           ///< without a reply
  /// Its id is made here. Errors: those of the program.
  Result<void> send(EvaluationRequest request);
  /// What came since the last call, waiting up to `patience` for the first; also what never came,
  /// long after the slowest. Good until it is taken. Errors: those of the program; canceled.
  Result<std::vector<const Sent*>> collect(std::chrono::milliseconds patience);
  /// What has a reply, or none for good. It is forgotten here: the same may be sent again.
  Sent take(const search::Ask& ask);
  /// What does not run yet comes back as a fault.
  Result<void> cancel();

 private:
  using Key = std::pair<std::int64_t, variant::Configuration>;
  static Key key(const search::Ask& ask) { return {ask.stage, ask.configuration}; }
  search::AskProgram m_ask;
  const Clock& m_clock;
  double m_slowest_s = 0;
  std::int64_t m_next = 1;
  std::map<Key, std::int64_t> m_numbers;
  std::map<std::int64_t, Sent> m_sent;
};

}  // namespace wb::tune
