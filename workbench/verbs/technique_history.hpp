// SPDX-License-Identifier: MIT
// Which variants of a session use which techniques, read from the sources that it stored.
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
  /// What it is given must outlive it.
  TechniqueHistory(const session::Session& session, const session::SessionView& view)
      : m_session(session), m_view(view) {}
  /// Of a stored variant, in its configuration; empty when it is not there.
  const std::vector<std::string>& of(const std::string& subject);
  /// Those of the iteration's variant that its parent lacked.
  std::vector<std::string> added_by(const session::IterationView& iteration);

 private:
  const session::Session& m_session;
  const session::SessionView& m_view;
  std::map<std::string, std::vector<std::string>> m_known;
};

}  // namespace wb::verbs
