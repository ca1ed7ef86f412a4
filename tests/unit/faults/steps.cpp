// SPDX-License-Identifier: MIT
#include "unit/faults/steps.hpp"

#include <fmt/format.h>

#include <set>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "session/repository.hpp"

namespace wb::testing {

using session::Fact;
using session::Session;
using session::SessionView;

namespace {

const std::string k_variant = "cpu_tiled";

std::string blob_text(int step) {
  return fmt::format("what the compiler said in step {}\n", step);
}

std::string note_text(int step) {
  return fmt::format("step {}", step);
}

Json opened(int step) {
  const std::string id = example_variant_id(k_variant);
  return {{"iteration", step},
          {"parent", nullptr},
          {"variant", k_variant + "@" + short_hash(id)},
          {"variant_id", id},
          {"configuration", Json::object()},
          {"hypothesis", nullptr},
          {"techniques", Json::array()}};
}

Session::Closing closing(int step) {
  const std::string page = session::iteration_name(step);
  Session::Closing made;
  made.iteration = step;
  made.closed = {{"iteration", step},     {"outcome", step == 0 ? "baseline" : "no_gain"},
                 {"invalidity", nullptr}, {"message", note_text(step)},
                 {"speedup", nullptr},    {"interval", nullptr}};
  made.pages = {{page + ".md", "# " + note_text(step) + "\n"}};
  made.variant_id = example_variant_id(k_variant);
  made.subject = "Iteration " + page;
  made.trailers = {{"Iteration", std::to_string(step)}};
  return made;
}

bool has_note(const SessionView& view, int step) {
  for (const Fact& note : view.notes) {
    if (note.payload["text"] == note_text(step)) return true;
  }
  return false;
}

/// What is missing of one step, in the order in which a step goes.
Result<void> run_step(Session& session, FakeClock& clock, int step, const OnStep& on_step) {
  const auto told = [&] {
    if (on_step) on_step(session.log().size());
  };
  WB_TRY_ASSIGN(const SessionView view, session.view(session::FoldDepth::full));
  const session::IterationView* iteration = view.find(step);
  clock.advance(std::chrono::seconds(1));
  if (!has_note(view, step)) {
    WB_TRY_ASSIGN(const std::string blob, session.put_blob(blob_text(step)));
    WB_TRY(session.append("note",
                          {{"text", note_text(step)}, {"iteration", nullptr}, {"blob", blob}}));
    told();
  }
  if (iteration == nullptr) {
    WB_TRY(session.append("iteration_opened", opened(step)));
    told();
  }
  if (iteration == nullptr || iteration->built.empty()) {
    WB_TRY(session.store_variant(example_variant_id(k_variant), example_sources(k_variant)));
    WB_TRY(session.append("variant_built", {{"iteration", step},
                                            {"subject", opened(step)["variant"]},
                                            {"variant_id", opened(step)["variant_id"]},
                                            {"outcome", "built"},
                                            {"message", ""}}));
    told();
  }
  if (iteration == nullptr || !iteration->is_closed()) {
    const Result<std::string> oid = session.close_iteration(closing(step));
    if (!oid.ok()) return oid.error();
    told();
  }
  return {};
}

}  // namespace

Result<void> run_steps(FileSystem& files, FakeClock& clock, const fs::path& folder, int steps,
                       const OnStep& on_step) {
  std::error_code ignored;
  const bool there = fs::exists(folder / "events.jsonl", ignored);
  Result<Session> session = there ? Session::open_owner(files, clock, folder)
                                  : Session::create(files, clock, folder, example_identity());
  if (!session.ok()) return session.error();
  if (on_step) on_step(session->log().size());
  for (int step = 0; step < steps; ++step) WB_TRY(run_step(*session, clock, step, on_step));
  return {};
}

Result<void> close_steps(FileSystem& files, FakeClock& clock, const fs::path& folder) {
  WB_TRY_ASSIGN(Session session, Session::open_owner(files, clock, folder));
  const Result<std::string> oid =
      session.close({{"reason", "finished"}, {"outcome", "unchanged"}, {"recommendation", ""}},
                    [](Session& closed) { return closed.write_report("session.md", "# End\n"); });
  return oid.ok() ? Result<void>() : oid.error();
}

std::vector<std::string> story_of(const Session& session) {
  std::vector<std::string> story;
  for (std::int64_t seq = 1; seq <= session.log().size(); ++seq) {
    const Result<session::Event> event = session.log().event(seq);
    if (!event.ok()) return {event.error().message()};
    if (event->type == "recovered") continue;
    Json payload = event->payload;
    for (const char* key : {"time", "parent_oid", "oid"}) payload.erase(key);
    story.push_back(event->type + " " + payload.dump());
  }
  return story;
}

std::string fault_of(const Session& session) {
  const Result<SessionView> view = session.view(session::FoldDepth::full);
  if (!view.ok()) return view.error().message();
  const Result<session::Repository> repository =
      session::Repository::open_or_create(session.folder());
  if (!repository.ok()) return repository.error().message();
  std::set<std::string> oids;
  for (const session::IterationView& iteration : view->iterations) {
    const std::string name = fmt::format("iteration {}", iteration.number);
    if (iteration.is_closed() != iteration.committed.has_value()) {
      return name + " is closed or committed, not both";
    }
    if (!iteration.committed) continue;
    const auto oid = iteration.committed->payload["oid"].get<std::string>();
    if (!oids.insert(oid).second) return name + " shares its commit";
    for (const auto& [page, sha256] : iteration.closed->payload["pages"].items()) {
      const auto text = repository->file_at(oid, "iterations/" + page);
      if (!text.ok() || Json(sha256_hex(*text)) != sha256) return name + " lacks " + page;
    }
  }
  if (view->closed && fs::exists(session.folder() / "reports" / "session.md")) {
    const auto tip = repository->tip();
    if (!tip.ok()) return tip.error().message();
    if (!repository->file_at(*tip, "reports/session.md").ok())
      return "the last commit lacks a page";
  }
  std::set<std::string> texts;
  for (const Fact& note : view->notes) {
    if (!texts.insert(note.payload["text"].get<std::string>()).second) return "a note stands twice";
    const auto blob = note.payload.find("blob");
    if (blob == note.payload.end()) continue;
    if (!session.read_blob(blob->get<std::string>()).ok()) return "the blob of a note is gone";
  }
  for (const Fact& recovery : view->recoveries) {
    const auto reason = recovery.payload["reason"].get<std::string>();
    if (reason.find("had moved") != std::string::npos) return reason;
  }
  return "";
}

}  // namespace wb::testing
