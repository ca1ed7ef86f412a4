// SPDX-License-Identifier: MIT
// The facts of a session that a brief shows, one member each, with texts cut to a length. Reads the
// log and the stored manifests; used by brief.cpp.
#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "outcome/outcome.hpp"
#include "problem/problem.hpp"
#include "session/session.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::engine {
struct SessionSettings;  // settings.hpp
}

namespace wb::verbs {

class BriefFacts {
 public:
  /// All references must outlive this.
  BriefFacts(const session::Session& session, const session::SessionView& view,
             const engine::SessionSettings& settings);

  /// Cuts texts at this many bytes. Shapes of held-out problems are always hidden.
  void cut_texts_at(std::size_t bytes) { m_text_bytes = bytes; }

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string status() const;
  [[nodiscard]] std::string title() const;
  [[nodiscard]] Json objective() const;
  [[nodiscard]] Json goals() const;  ///< each with what became of it
  /// What came of the session and what follows from it; only the headline where that is too long.
  [[nodiscard]] std::string conclusion() const;
  [[nodiscard]] Json incumbent() const;  ///< null before there is one
  [[nodiscard]] Json budget() const;
  [[nodiscard]] Json in_flight() const;  ///< null when no iteration is open
  // Lists, ordered so that entries to be left out first come last.
  [[nodiscard]] Json last() const;
  [[nodiscard]] Json refuted() const;
  [[nodiscard]] Json techniques() const;
  [[nodiscard]] Json untried() const;
  [[nodiscard]] Json rivals() const;
  [[nodiscard]] Json next() const;
  [[nodiscard]] Json notes() const;

 private:
  [[nodiscard]] std::string cut(const std::string& words) const;
  [[nodiscard]] double elapsed_s() const;
  [[nodiscard]] std::vector<problem::Problem> shown_problems() const;

  const session::Session& m_session;
  const session::SessionView& m_view;
  const engine::SessionSettings& m_settings;
  ProblemNames m_names;
  outcome::Outcome m_outcome;
  std::size_t m_text_bytes = 180;
};

/// A brief is at most this many bytes of JSON, and of text.
inline constexpr std::size_t k_brief_max_bytes = 4096;
/// The verb `brief`. Errors: those of the log.
Result<Json> brief_of(const session::Session& session);
/// Its answer for people.
std::string brief_text(const Json& answer);

}  // namespace wb::verbs
