// SPDX-License-Identifier: MIT
// Which variants of a session use which techniques, read from the stored sources.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "session/session.hpp"
#include "session/view.hpp"

namespace wb::verbs {

/// Reads each stored variant once.
class TechniqueHistory {
 public:
  /// All references must outlive this.
  TechniqueHistory(const session::Session& session, const session::SessionView& view)
      : m_session(session), m_view(view) {}
  /// Techniques of a stored variant in its configuration; empty when it is not stored.
  const std::vector<std::string>& of(const std::string& subject);
  /// Techniques of the iteration's variant that its parent lacked.
  std::vector<std::string> added_by(const session::IterationView& iteration);

 private:
  const session::Session& m_session;
  const session::SessionView& m_view;
  std::map<std::string, std::vector<std::string>> m_known;
};

}  // namespace wb::verbs
