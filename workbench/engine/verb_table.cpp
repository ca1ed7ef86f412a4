// SPDX-License-Identifier: MIT
// The table itself: to add a verb, add an entry in the part it belongs to (verb_table.hpp), its
// body (answering.cpp lists bodies) and a test.
#include "engine/verb_table.hpp"

#include "engine/adopt.hpp"
#include "engine/agent_verbs.hpp"
#include "engine/analyze_verb.hpp"
#include "engine/audit_verb.hpp"
#include "engine/diagnose.hpp"
#include "engine/experience.hpp"
#include "engine/export.hpp"
#include "engine/loops_verb.hpp"
#include "engine/memory_verbs.hpp"
#include "engine/page_verbs.hpp"
#include "engine/trace_verbs.hpp"

namespace wb::engine {
namespace {

std::vector<VerbSpec> make_table() {
  std::vector<VerbSpec> table = verbs::make_session_verbs();
  for (auto&& part :
       {verbs::make_iteration_verbs(), verbs::make_measuring_verbs(), verbs::make_reading_verbs(),
        memory_verb_specs(), page_verb_specs(), trace_verb_specs(), audit_verb_specs(),
        agent_verb_specs(), export_verb_specs()}) {
    table.insert(table.end(), part.begin(), part.end());
  }
  table.push_back(analyze_verb_spec());
  table.push_back(diagnose_verb_spec());
  table.push_back(experience_verb_spec());
  table.push_back(loops_verb_spec());
  table.push_back(adopt_verb_spec());
  return table;
}

}  // namespace

std::span<const VerbSpec> verb_table() {
  static const std::vector<VerbSpec> table = make_table();  // immutable data, built once
  return table;
}

}  // namespace wb::engine
