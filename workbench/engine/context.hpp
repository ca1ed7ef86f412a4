// SPDX-License-Identifier: MIT
// Private to engine: what the stages of one verb share (services, the held session, the worker, the
// settings read from session_opened) and the small value types that pass between them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/budget.hpp"
#include "engine/engine.hpp"
#include "engine/objective.hpp"
#include "engine/proof.hpp"
#include "engine/recent_session.hpp"
#include "measure/finding.hpp"
#include "problem/suite.hpp"
#include "search/strategy.hpp"
#include "variant/edge_draws.hpp"
#include "variant/restriction.hpp"

namespace wb::engine {

/// Anything that can be loaded: a candidate, the incumbent, a rival.
struct Subject {
  std::string label;  ///< name@8 hex digits of the artifact id
  variant::Variant variant;
  variant::Configuration configuration;
  variant::Artifact artifact;
  /// Of a rival: problems (their texts) that it is not timed on, and why: it answered them with
  /// `constraints`, or never was judged on them.
  std::map<std::string, std::string> refused = {};
};

/// How much of each phase, from the word of `effort`.
struct EffortPlan {
  measure::Effort selection, confirmation;
  measure::Plan plan;                ///< of one turn; kind is set per use
  std::int64_t other_instances = 0;  ///< of TimingRequest
};
EffortPlan effort_plan(std::string_view word);
/// What the device did before a turn.
enum class DeviceWas { idle, busy };
/// The turn of a hot plan in that regime. Sustained: the subject's own calls for two seconds first,
/// a fifth of a second where the device comes from such a turn, so that power and temperature are
/// those of lasting work, and a fifth of a second timed (tests/bench/settling.py: 60 ms settle).
measure::Plan in_regime(measure::Plan plan, measure::Regime regime, DeviceWas device);
/// The arguments `plan` and `regime`. Errors: usage (a regime of another plan than hot).
Result<std::pair<measure::PlanKind, measure::Regime>> how_to_time(const Json& args);

/// What session_opened says, typed.
struct SessionSettings {
  problem::Suite suite;
  Objective objective;
  Budget budget;
  StopRules stop;
  session::Rates rates;
  std::string backend = "cpu", start_variant, effort = "standard", title;
  /// What the session goes on from, when that is a stored variant: its id and configuration.
  std::optional<std::pair<std::string, variant::Configuration>> stored_start;
  std::vector<std::string> rivals;
  bool are_rivals_asked_for = false;  ///< named by the user: no session without one that cannot run
};
Result<SessionSettings> settings_from_json(const Json& opened);
/// Member `suite` of session_opened.
Json suite_json(const problem::Suite& suite);
Result<problem::Suite> suite_from_json(const Json& json);

/// A/A floors by problem text and plan word.
using NoiseFloors = std::map<std::pair<std::string, std::string>, measure::NoiseFloor>;

/// What is true of one session alone: the one that is held, or what a call outside of any works
/// with.
struct HeldSession {
  std::optional<session::Session> session;
  SessionSettings settings;
  NoiseFloors floors;
  /// Which of them cannot serve, and why; how often each was taken again by itself.
  std::map<std::pair<std::string, std::string>, std::string> unfit_floors;
  std::map<std::pair<std::string, std::string>, int> floor_renewals;
  std::optional<Subject> incumbent;
  std::vector<Subject> rivals;                ///< those that passed their verdict
  std::int64_t iteration = -1;                ///< of the events being logged; -1 outside
  std::map<std::string, double> undebited_s;  ///< worker wall time by verb, not in the ledger yet
  session::Ledger spent;                      ///< of this process; for progress only
  std::optional<double> best_speedup;         ///< confirmed, over the start; for progress only
  double told_budget_share = 0;               ///< see milestones.hpp
  bool device_checked = false;                ///< against the one that the session recorded
  bool worker_fits = false;                   ///< the worker was greeted as this session asks
};

struct Context : HeldSession {
  explicit Context(Services given)
      : services(std::move(given)),
        cache(services.file_system, services.cache_root),
        catalogue(services.file_system, services.search_path),
        started(services.clock.steady_now()) {}

  Services services;
  variant::ArtifactCache cache;
  variant::Catalogue catalogue;
  std::optional<runner::WorkerClient> worker;
  protocol::HelloArgs greeted_with;  ///< what the worker was asked for
  std::optional<protocol::HelloResult> hello;
  /// The device of the first greeting: written once, so that builder threads may read it.
  std::optional<device::Device> device;
  std::chrono::steady_clock::time_point started;
  RecentSession recent;                     ///< that is read and not held
  std::function<Result<void>()> on_opened;  ///< taken by the next open
  /// The end of the last sustained turn.
  std::optional<std::chrono::steady_clock::time_point> last_sustained;

  /// Releases the session that is held. What comes next sees nothing of it; a worker is kept where
  /// it is asked for in the same way.
  void let_go();
  /// The number of the iteration that runs; null outside, where `check`, `measure` and `compare`
  /// log too.
  [[nodiscard]] Json iteration_or_null() const;
  /// Appends to the session's log; without a session nothing is kept and the seq is 0.
  Result<std::int64_t> log(std::string_view type, Json payload);
  Result<void> check_stop() const;  ///< canceled once a stop was requested
  void report_progress(Progress progress) const;
  /// The running worker, started on first use or after it died, on the device that the session, or
  /// use_device_of(), asks for. Failure: environment.
  Outcome<runner::WorkerClient*> need_worker();
  /// Outside a session the variant says whether CPU or GPU is meant: a worker that measures on the
  /// other one is ended. Inside one the session has said so.
  void use_device_of(const variant::Manifest& manifest);
  /// The same for a backend, "cpu" or "cuda". A session keeps its own.
  void use_backend(std::string_view backend);
  /// How the worker is to be greeted: as the held session recorded, else as the caller asks.
  [[nodiscard]] protocol::HelloArgs wanted_greeting() const;
  /// Ends the worker; what it was waited for stays to be debited.
  void drop_worker();
  void collect_worker_time();
  /// `parts`: seconds by what they went to; may be null.
  Result<void> debit(session::CostItem item, double quantity_s, std::string_view what,
                     Json parts = {});
  /// Debits compile seconds, or the worker wall time since the last debit.
  Result<void> debit_compile(const variant::BuildRecord& record, std::string_view what);
  Result<void> debit_device(std::string_view what);
  [[nodiscard]] double elapsed_s() const;  ///< since session_opened
};

// subjects.cpp
// -------------------------------------------------------------------------------------

/// A kernel by name, or the label of a variant of the held session. Errors: not_found, …
Result<std::pair<variant::Variant, variant::Configuration>> resolve_variant(Context& context,
                                                                            std::string_view id);

/// Completes the configuration, checks restrictions, builds or finds in the cache, for what is
/// going to be loaded: a variant is refused (environment) where the device is not one for it. Of
/// the context it only uses services, cache and device, so builders may call it from threads of
/// their own once a worker has greeted. More of builds: building.hpp.
Outcome<Subject> build_subject(Context& context, const variant::Variant& variant,
                               const variant::Configuration& configuration);

/// Why this subject does not take the problem (manifest or restriction), or nothing.
std::optional<std::string> not_supported(const Subject& subject, const problem::Problem& problem);
/// Rivals are judged on what is measured from the start on; what is held out tells candidates
/// apart.
void refuse_held_out(Subject& rival, const problem::Suite& suite);

/// Small odd-shaped problems next to the suite's: S = 1, odd sizes, Sq != Skv, GQA, causal kinds,
/// layouts and masks, as far as the manifest claims them. For tools that look at one call of each;
/// a verdict has drawn runs.
std::vector<problem::Problem> edge_problems(const variant::Manifest& manifest,
                                            const problem::Suite& suite);

/// The drawn runs of a verdict on the subject (docs/contracts/measurement.md), by the kernel's
/// random numbers. `count`: how many; by default as many as `extent` has.
std::vector<variant::EdgeDraw> drawn_runs(const Context& context, const Subject& subject,
                                          const problem::Suite& suite, Proof extent = Proof::whole,
                                          std::optional<std::int64_t> count = {});

// verdicts.cpp
// -------------------------------------------------------------------------------------

struct Judgement {
  problem::Problem problem;  ///< of drawn runs: the one that failed or came closest to it
  std::size_t drawn = 0;     ///< drawn runs; 0: the verdict on a problem that was asked for
  bool supported = true;
  std::string message;                   ///< why unsupported or failed
  std::optional<Invalidity> invalidity;  ///< set when it failed
  std::string output;                    ///< untrusted: what it printed before it failed
  double worst_share = 0;                ///< of the error budget
  std::int64_t event = 0;
};
class SubjectProcesses;
/// What the answer `constraints` means: a candidate's claim to take the problem was false; a
/// library knows only when it is called what it takes.
enum class Refusal { fails, excludes };
/// Loads the subject once and judges it on every problem it takes, then on the drawn runs, which
/// come to one more judgement; stops at the first failure. Each is a verdict_given event. `extent`:
/// screening or whole. `kept`: where the process is left, to be timed; it must hold none yet.
/// Errors: only those of the log and canceled.
Result<std::vector<Judgement>> judge_subject(Context& context, const Subject& subject,
                                             const std::vector<problem::Problem>& problems,
                                             Proof extent = Proof::whole,
                                             SubjectProcesses* kept = nullptr,
                                             Refusal refusal = Refusal::fails,
                                             const std::vector<variant::EdgeDraw>& drawn = {});
/// The problem's label; of drawn runs that passed, how many they were.
std::string label(const Judgement& judgement);
std::optional<Judgement> first_failure(const std::vector<Judgement>& judgements);
/// What the first failure means for the subject; nothing when it passed.
std::optional<Failure> failure_of(const std::vector<Judgement>& judgements);
/// What a variant printed before it failed, as an answer says it: `subject_output`, the middle of
/// long words left out, and `subject_output_ref`, the blob with all of them (null: none, or no
/// session). Errors: those of the blob.
Result<void> tell_subject_output(Context& context, const std::string& words, Json& answer);

// evidence.cpp
// -------------------------------------------------------------------------------------

/// Where the device is a GPU and the subject is Python: a profile_taken event for each problem that
/// it takes, with the kernels that one call launches. `handle` is its loaded process, which cannot
/// be judged or timed afterwards. Names that cannot be had are an event with the reason. Errors:
/// only those of the log and canceled.
Result<void> log_kernel_names(Context& context, const Subject& subject,
                              const std::vector<problem::Problem>& problems, std::int64_t handle);

// iteration.cpp: the stages that iterate and tune share
// -----------------------------------------------------

/// What the stages have found out so far about the iteration that runs.
struct Run {
  std::int64_t number = 0;
  measure::Hypothesis hypothesis;
  std::string confirm = "if_faster";
  bool all_plans = true;  ///< at confirmation, or that of the objective alone
  std::optional<Subject> candidate;
  std::vector<problem::Problem> problems;  ///< that the candidate takes, without the held-out ones
  std::optional<measure::Comparison>
      total;  ///< of the objective, from the last phase that measured
  bool confirmed = false;
  Json problem_rows = Json::array();
  std::optional<Failure> failure;
  std::string refusal;  ///< why a faster candidate did not become incumbent
  std::string preface;  ///< opens the message of iteration_closed; alone when nothing was compared
};

/// Which variant the arguments variant, parent, files, name and configuration mean.
Result<std::pair<variant::Variant, variant::Configuration>> read_proposal(Context& context,
                                                                          const Json& args,
                                                                          std::string_view verb);
/// The answer of a verb that may not start an iteration any more; nothing when it may.
Result<std::optional<Json>> refuse_to_start(Context& context);
Result<std::int64_t> next_iteration(const Context& context);
/// Logs iteration_opened, with the members of `more`.
Result<void> open_iteration(Context& context, const Run& run, const variant::Variant& variant,
                            const variant::Configuration& configuration, const Json& args,
                            const Json& more = Json::object());
/// Judges the suite's problems that the candidate takes, then the edge shapes; fills problems and
/// failure.
Result<void> judge_candidate(Context& context, Run& run);
/// "selection" or "confirmation": times the candidate beside the incumbent (and the rivals), fills
/// total or failure.
Result<void> time_candidate(Context& context, Run& run, const std::string& phase);
/// The figure, where it is one.
Json speedup_or_null(const std::optional<measure::Comparison>& total);
/// Hypothesis, incumbent, debit, iteration_closed (with the members of `more`), commit. Returns the
/// verb's answer.
Result<Json> conclude_iteration(Context& context, Run& run, const variant::Variant& variant,
                                const Json& more = Json::object());

// environment, baseline and what an iteration leaves behind
// -----------------------------------------------------------------------------------

/// The payload of environment_recorded, as things are now; starts the worker.
/// Errors: environment.
Result<Json> environment_json(Context& context);

/// What differs from the environment that the held session recorded, "compiler: a -> b" each;
/// starts the worker. Errors: environment, also for another device, to which the session's noise
/// floors and baseline do not apply.
Result<std::vector<std::string>> environment_since_open(Context& context);

/// Iteration 0 (or a repeat after an abandoned one): floors, start, rivals. Fills the context's
/// incumbent, rivals and floors.
Result<Json> run_baseline(Context& context, std::int64_t number);
/// Fills incumbent, rivals and floors from a log whose baseline closed.
Result<void> restore_context(Context& context);

struct TimingRequest;  // timing.hpp
struct TimingResult;
/// What analyses may look at: one subject's figures, and who was beside it.
measure::Evidence evidence_of(const Context& context, const TimingRequest& request,
                              const TimingResult& result, std::size_t subject);
/// Findings from a timing result, logged.
Result<std::vector<measure::Finding>> record_findings(Context& context,
                                                      const TimingRequest& request,
                                                      const TimingResult& result,
                                                      std::size_t subject);

/// What one iteration leaves behind. `closed` is the payload of iteration_closed without pages.
struct IterationEnd {
  Json closed;
  std::string variant_id, variant_label, artifact_id;  ///< empty where there was none
  std::optional<double> predicted_speedup;
};
/// Pages, iteration_closed, commit, session.md. Returns the commit's oid.
Result<std::string> close_iteration(Context& context, const IterationEnd& end);
/// Closes the iteration that no one closed, if there is one, as `abandoned`; what its worker was
/// waited for is debited to it.
Result<void> abandon_in_flight(Context& context, const session::SessionView& view,
                               std::string_view reason);
/// Rewrites reports/session.md from the log.
Result<void> write_session_report(Context& context);

}  // namespace wb::engine
