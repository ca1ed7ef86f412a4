---@meta
-- SPDX-License-Identifier: MIT
-- For editors only: what `wb` offers and what a playbook returns (docs/guide/add_a_playbook.md).
-- Generated from the verb table by bindings/generate_lua_stub.py.

---What a call that fails raises; it prints as its message.
---@class wb.Error
---@field code string usage, not_found, …
---@field message string
---@field where string

---What a playbook file returns.
---@class wb.Playbook
---@field name string
---@field about string becomes the session's title
---@field arguments? table<string, wb.PlaybookArgument> what --arguments NAME=VALUE may set
---@field open? wb.OpenArguments
---@field run fun(wb: wb.Verbs, args: table<string, string>): any

---@class wb.PlaybookArgument
---@field default? string
---@field doc? string

---The first argument of `run`: one function a verb.
---@class wb.Verbs
local wb = {}

---Take the noise floors again: those of a busy machine hide gains that are there.
---@param arguments? wb.RemeasureFloorArguments
---@return wb.RemeasureFloorAnswer
function wb.remeasure_floor(arguments) end

---Write a note into the session's log.
---@param arguments wb.NoteArguments
---@return wb.NoteAnswer
function wb.note(arguments) end

---Write a decision into the session's log: what was asked, what was chosen and why.
---@param arguments wb.RecordDecisionArguments
---@return wb.RecordDecisionAnswer
function wb.record_decision(arguments) end

---Close the session: final report, last commit.
---@param arguments? wb.CloseArguments
---@return wb.CloseAnswer
function wb.close(arguments) end

---One iteration: hypothesis, build, verdict, measurement beside the incumbent, commit.
---@param arguments wb.IterateArguments
---@return wb.IterateAnswer
function wb.iterate(arguments) end

---One iteration that searches a variant's tunable parameters and confirms the best in fresh
---processes.
---@param arguments wb.TuneArguments
---@return wb.TuneAnswer
function wb.tune(arguments) end

---One iteration that times several variants against each other, drops the slower ones stage by
---stage, and confirms the best in fresh processes.
---@param arguments wb.RaceArguments
---@return wb.RaceAnswer
function wb.race(arguments) end

---Compile a variant, or find it in the cache; a CUDA one needs nvcc and no GPU.
---@param arguments wb.BuildArguments
---@return wb.BuildAnswer
function wb.build(arguments) end

---Build a variant and judge it against scaled dot product attention.
---@param arguments wb.CheckArguments
---@return wb.CheckAnswer
function wb.check(arguments) end

---Time one variant (after its verdict).
---@param arguments wb.MeasureArguments
---@return wb.MeasureAnswer
function wb.measure(arguments) end

---One call on a GPU under a profiler (a CUDA variant: ncu, what its kernels did; Python:
---torch.profiler, which kernels it launched), never a timed figure.
---@param arguments wb.ProfileArguments
---@return wb.ProfileAnswer
function wb.profile(arguments) end

---One call of a CUDA variant under compute-sanitizer: wrong accesses and races.
---@param arguments wb.SanitizeArguments
---@return wb.SanitizeAnswer
function wb.sanitize(arguments) end

---Time a variant and one or more others in turns and compare them.
---@param arguments wb.CompareArguments
---@return wb.CompareAnswer
function wb.compare(arguments) end

---Where a session stands, on one screen.
---@return wb.StatusAnswer
function wb.status() end

---The session's report, made from its log: Markdown, or a page for a browser.
---@param arguments? wb.ReportArguments
---@return wb.ReportAnswer
function wb.report(arguments) end

---One event, iteration or variant in full, with raw samples; or a variant's code.
---@param arguments wb.ShowArguments
---@return wb.ShowAnswer
function wb.show(arguments) end

---The problem suites.
---@param arguments? wb.SuitesArguments
---@return wb.SuitesAnswer
function wb.suites(arguments) end

---The kernels that can be found.
---@param arguments? wb.KernelsArguments
---@return wb.KernelsAnswer
function wb.kernels(arguments) end

---What to know of a session after losing all context, in at most 4 KiB.
---@return wb.BriefAnswer
function wb.brief() end

---What to try next on a session's incumbent, what it should gain, and its cost.
---@param arguments? wb.AdviseArguments
---@return wb.AdviseAnswer
function wb.advise(arguments) end

---Search a session's iterations, notes and decisions by words, newest first.
---@param arguments? wb.HistoryArguments
---@return wb.HistoryAnswer
function wb.history(arguments) end

---Which variant the dispatch rules choose for a problem, and what proves it.
---@param arguments wb.BestArguments
---@return wb.BestAnswer
function wb.best(arguments) end

---Store, compile and check a new variant, by files or by edits of a parent; nothing is timed.
---@param arguments? wb.ProposeArguments
---@return wb.ProposeAnswer
function wb.propose(arguments) end

---Propose several variants and rank them: right ones first, by spills and error; race times them.
---@param arguments wb.ProposeManyArguments
---@return wb.ProposeManyAnswer
function wb.propose_many(arguments) end

---Debit what an agent's model used; the session's token rate gives the price.
---@param arguments wb.RecordUsageArguments
---@return wb.RecordUsageAnswer
function wb.record_usage(arguments) end

---Read a long text by its reference, piece by piece: sources, events, compiler output, answers
---that were cut.
---@param arguments wb.ReadRefArguments
---@return wb.ReadRefAnswer
function wb.read_ref(arguments) end

---Why it is slow: known causes held against what was found, of a session or of files.
---@param arguments? wb.DiagnoseArguments
---@return wb.DiagnoseAnswer
function wb.diagnose(arguments) end

return wb
