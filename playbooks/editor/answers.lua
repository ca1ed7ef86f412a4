---@meta
-- SPDX-License-Identifier: MIT
-- For editors only: what `wb` offers and what a playbook returns (docs/guide/add_a_playbook.md).
-- Generated from the verb table by bindings/generate_lua_stub.py.

---@class wb.RemeasureFloorAnswer
---@field fit boolean every floor can serve now
---per problem and plan floor_frac, between_instance_frac, cannot_show_frac, used (else the
---narrower one before stands) and unfit (why it cannot serve)
---@field floors any[]
---@field text string the same for people

---@class wb.NoteAnswer
---@field event integer its event id

---@class wb.RecordDecisionAnswer
---@field event integer its event id

---@class wb.CloseAnswer
---@field commit string object id of the last commit
---@field report string path of the report
---@field session string the session's folder

---@class wb.IterateAnswer
---@field decision string supported, refuted or undecided
---@field incumbent string label of the incumbent afterwards
---@field interval? table<string, any> low, high, confidence of the speedup
---@field invalidity? string why it is invalid
---@field iteration integer its number
---@field message string what happened, one sentence
---@field outcome string win, no_gain, invalid or stopped
---@field problems any[] per problem outcome, speedup and medians (us)
---@field speedup? number over the incumbent on the objective (ratio)
---@field stop_reason? string why the session should end now
---@field subject_output string what the variant printed before it failed
---@field subject_output_ref? string for read_ref, the whole of that
---@field variant string label of the variant

---@class wb.TuneAnswer
---@field configuration? table<string, any> of what looks best
---@field decision string supported, refuted or undecided
---the 40 best: variant, configuration, outcome and speedup against the best, which choose but
---report nothing
---@field evaluations any[]
---@field incumbent string label of the incumbent afterwards
---@field interval? table<string, any> low, high, confidence of the speedup
---@field invalidity? string why nothing that was searched is valid
---@field iteration integer its number
---@field message string what happened, one sentence
---@field outcome string win, no_gain, invalid or stopped
---@field problems any[] per problem outcome, speedup and medians (us)
---@field speedup? number confirmed, over the incumbent (ratio)
---@field stop_reason? string why the session should end now
---@field tune table<string, any> counts, seconds built, measured and waited, why it ended
---@field variant string label of the best

---@class wb.RaceAnswer
---@field configuration? table<string, any> of what looks best
---@field decision string supported, refuted or undecided
---the 40 best: variant, configuration, outcome and speedup against the best, which choose but
---report nothing
---@field evaluations any[]
---@field incumbent string label of the incumbent afterwards
---@field interval? table<string, any> low, high, confidence of the speedup
---@field invalidity? string why nothing that was searched is valid
---@field iteration integer its number
---@field message string what happened, one sentence
---@field outcome string win, no_gain, invalid or stopped
---@field problems any[] per problem outcome, speedup and medians (us)
---@field speedup? number confirmed, over the incumbent (ratio)
---@field stop_reason? string why the session should end now
---@field tune table<string, any> counts, seconds built, measured and waited, why it ended
---@field variant string label of the best

---@class wb.BuildAnswer
---@field artifact_id string of what was built
---@field cached boolean nothing was compiled
---@field codes_left_out table<string, any> code to how many of it had no room
---@field compiler string its version
---@field cpu_s number the same in CPU time (s)
---@field kernels any[] what ptxas says of each GPU kernel (docs/contracts/kernel_abi.md)
---@field kernels_left_out integer kernels that had no room
---@field library string path of the shared library, or of a Python folder
---@field log string the compiler's words
---@field spilling_left_out integer those of them that spill registers
---@field target string what it was compiled for
---@field text string the same for people
---@field variant string label
---@field wall_s number compile time, 0 when cached (s)
---@field warnings any[] of ptxas, about lost performance: code, text, kernel
---@field warnings_left_out integer warnings that had no room
---@field why_target string why the target is the manifest's first and not the device's; else empty

---@class wb.CheckAnswer
---@field pass boolean every supported problem passed, and every drawn run
---per problem, and once for the drawn runs, outcome, message and the worst share of the error
---budget
---@field problems any[]
---@field subject_output string what the variant printed before it failed
---@field subject_output_ref? string for read_ref, the whole of that
---@field variant string label

---@class wb.MeasureAnswer
---@field problems any[] per problem outcome, median_us, interval_us, gflop_per_s
---@field variant string label

---@class wb.ProfileAnswer
---per problem outcome, message, launches (kernel, grid, block, metrics with value and unit,
---share_frac of the kernels' time by torch.profiler) and csv (ncu's report, null when it is large
---or none)
---@field problems any[]
---@field taken boolean on every problem
---@field text string the same for people
---@field variant string label

---@class wb.SanitizeAnswer
---@field pass boolean every run was clean
---per tool and problem outcome (clean, found, not_available or an invalidity), errors, warnings,
---messages
---@field runs any[]
---@field variant string label

---@class wb.CompareAnswer
---@field interval table<string, any> low, high, confidence
---@field outcome string faster, slower, same or ambiguous, over all problems
---per problem and other one the comparison, against, candidate_us, against_us (us), fastest (of
---the others there)
---@field problems any[]
---@field speedup number geometric mean (ratio, above 1: candidate is faster)

---@class wb.StatusAnswer
---@field best_speedup? number incumbent over the start, confirmed (ratio)
---@field cost table<string, any> ledger
---@field incumbent string label
---@field iterations integer iterations closed, baseline included
---@field status string open, paused or closed
---@field stop_reason? string which budget or stop rule holds
---@field text string the screen
---@field warning? string which events the log lost, and what to do

---@class wb.ReportAnswer
---@field file? string output
---@field text string Markdown or HTML; with output what was written

---@class wb.ShowAnswer
---@field kind string event, iteration, variant, source, ptx or sass
---@field text string the same for people
---@field value any its content; of code the label, the target and why_target as in build

---@class wb.SuitesAnswer
---@field suites any[] name, about, problems

---@class wb.KernelsAnswer
---@field kernels any[] name, about, backend, parameters, folder

---@class wb.BriefAnswer
---used and left (null: no limit) of evaluations, wall_s and usd; stop_reason
---@field budget table<string, any>
---@field in_flight? table<string, any> the iteration that runs, or was cut off
---@field incumbent? table<string, any> variant, configuration, over_start (ratio), iteration, event
---@field last any[] outcomes, newest first
---@field left_out table<string, any> how many of each list had no room
---@field next any[] what the facts suggest
---@field notes any[] newest first
---@field objective table<string, any> rule, plan, min_speedup, suite, problems, held_out, some
---@field refuted any[] refuted hypotheses with what they measured, newest first
---@field rivals any[] the incumbent against each over the suite (ratio)
---@field session string its name
---@field status string open, paused or closed
---@field techniques any[] what tries added to their parents, with the best of their speedups
---@field title string its heading
---@field untried any[] techniques that nothing here has used

---@class wb.AdviseAnswer
---share (of the predicted logarithm that past predictions measured), count, events
---@field calibration table<string, any>
---technique, low, expected and high (speedup over the suite), strength of the evidence, why,
---events, source of the range, hours, complexity, risk, needs, pros, cons; best first
---@field entries any[]
---@field hours_high number likewise (h)
---@field hours_low number of all stages, a guess (h)
---@field incumbent string label
---@field measuring_s? number an iteration a step, as those before (s)
---@field measuring_usd? number the same (USD)
---@field not_advised any[] technique, reason, event
---@field reached_at_stage? integer where the expected figures reach the target; 0: already
---@field rival_ratio? number speed over the fastest rival now (ratio)
---techniques of a stage; low, expected and high up to there; and the speed over the fastest rival
---then
---@field stages any[]
---@field target_ratio number as asked for
---@field text string the same for people
---@field unseen any[] what the log does not say

---@class wb.HistoryAnswer
---kind, event, iteration, variant, outcome, speedup, decision and where the words stand
---@field matches any[]
---@field text string the same for people
---@field total integer how many there are

---@class wb.BestAnswer
---@field artifact_id? string of the recorded pass
---@field configuration table<string, any> tunable parameters
---@field device? string the name that the rules saw
---@field fallback boolean it is the last rule
---rule, variant, reason of rules that could not serve, and whether one is offered here (dispatch
---adopt)
---@field passed_over any[]
---@field problem string its text form
---@field proof? table<string, any> of proven ones variant (label), session and artifact_id
---@field rule integer its place in the table, from 1
---@field session? string that proved it
---@field table string the file
---@field text string the same for people
---@field variant string kernel name
---@field when string its conditions

---@class wb.ProposeAnswer
---@field cached boolean nothing was compiled
---@field compiler_output string the compiler's words
---@field message string what happened
---@field outcome string pass, stopped, or why it is invalid
---@field output_ref? string for read_ref, the whole of them
---@field parent string what it derives from
---@field pass boolean it takes a problem of the suite and every verdict passed
---@field problems any[] per problem outcome, message and worst_share
---@field spill_bytes integer registers spilled, as ptxas says (bytes)
---@field stop_reason? string why the session should end now
---@field subject_output string what the variant printed before it failed
---@field subject_output_ref? string for read_ref, the whole of that
---@field variant string label, for iterate, race and as a parent
---@field variant_id string hash of its sources
---@field worst_share? number the largest share of the error budget

---@class wb.ProposeManyAnswer
---@field passed integer how many passed
---rank, proposal (its place in the list, from 1), and what propose answers; outcome refused: it
---could not be read
---@field rows any[]
---@field stop_reason? string why the session should end now

---@class wb.RecordUsageAnswer
---@field event integer its event id
---@field stop_reason? string why the session should end now
---@field tokens integer of this call
---@field total_tokens number of the session so far
---@field total_usd? number of the session so far, all items (USD)
---@field usd? number its price; null: no rate was given (USD)
---@field warning? string costs that no budget can count

---@class wb.ReadRefAnswer
---@field next_offset? integer where the next one begins; null: it is the last
---@field offset integer where the text begins (bytes)
---@field ref string as asked for
---@field text string the piece
---@field total_bytes integer of the whole text

---@class wb.DiagnoseAnswer
---cause, title, theory, test, prediction, state (supported, refuted, undecided), strength,
---contradictory, where, share_frac, evidence, needs, remedies, gain (speedup over the suite: low,
---expected, high); the most important first (docs/contracts/causes.md)
---@field causes any[]
---@field explains any[] with iteration: causes supported of its candidate and not of its parent
---@field gaps any[] what could not be read, and why
---@field measured any[] probe, outcome, message of what --measure took
---@field plan string of the objective
---@field start? table<string, any> subject and causes of the start, if another holds now
---@field subject string what was diagnosed; empty where files name none
---@field text string the same for people
