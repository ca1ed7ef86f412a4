// SPDX-License-Identifier: MIT
// Private to engine. Crew: the executor of the program around the engine, which evaluates a
// search's requests elsewhere, in any order. The questions to the program: program.hpp.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "engine/evaluation_exchange.hpp"
#include "engine/program.hpp"

namespace wb {

/// How many evaluations the program's executor runs at a time; 0 where there is none.
Result<std::int64_t> crew_size(const AskProgram& ask);

class Crew {
 public:
  struct Sent {
    EvaluationRequest request;
    Json reply;         ///< what came; null until then, and where it failed
    std::string fault;  ///< why it failed there, as the program says
    bool is_back = false;
  };
  explicit Crew(AskProgram ask) : m_ask(std::move(ask)) {}

  [[nodiscard]] bool knows(const Ask& ask) const { return m_numbers.contains(key(ask)); }
  [[nodiscard]] bool has_reply(const Ask& ask) const;
  [[nodiscard]] std::size_t size() const { return m_sent.size(); }  ///< not taken yet
  [[nodiscard]] std::size_t away() const;                           ///< without a reply
  /// Its id is made here. Errors: those of the program.
  Result<void> send(EvaluationRequest request);
  /// Takes in what came, waiting up to `patience` for the first. Errors: those of the program;
  /// canceled.
  Result<void> collect(std::chrono::milliseconds patience);
  /// What has a reply, which is forgotten here: the same may be sent again.
  Sent take(const Ask& ask);
  /// Nobody waits for the others any more.
  Result<void> forget();

 private:
  using Key = std::pair<std::int64_t, Configuration>;
  static Key key(const Ask& ask) { return {ask.stage, ask.configuration}; }
  AskProgram m_ask;
  std::int64_t m_next = 1;
  std::map<Key, std::int64_t> m_numbers;
  std::map<std::int64_t, Sent> m_sent;
};

}  // namespace wb
