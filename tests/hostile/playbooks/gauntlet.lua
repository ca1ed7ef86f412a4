-- SPDX-License-Identifier: MIT
-- Every hostile candidate of `cases` in one session, with the honest one after each of them.
-- cases: "verb:name" or "verb:name:problem", joined by "|"; verb: check or measure, or eager or
-- cold, which are measure with that plan.
return {
  name = "gauntlet",
  about = "hostile candidates, each followed by an honest one",
  arguments = {
    cases = { default = "check:honest", doc = "verb:name:problem, joined by |" },
    problem = { default = "B=1 Hq=2 Sq=33 Skv=65 D=16 f32", doc = "where a case names none" },
    honest_draws = { default = 1, doc = "drawn runs of the honest one" },
  },
  open = { start = "honest", rivals = { "none" }, effort = "quick",
           problem = "B=1 Hq=2 Sq=33 Skv=65 D=16 f32" },
  run = function(wb, args)
    local results = {}
    for item in string.gmatch(args.cases, "[^|]+") do
      local verb, name, problem = string.match(item, "^(%a+):([%w_]+):?(.*)$")
      local call = { variant = name, problem = problem ~= "" and problem or args.problem }
      if verb == "eager" or verb == "cold" then
        verb, call.plan = "measure", verb
      end
      if verb == "measure" then call.effort = "quick" end
      local fine, answer = pcall(wb[verb], call)
      local result = { name = name }
      if fine then
        for _, row in ipairs(answer.problems) do
          if not result.word and row.outcome ~= "pass" and row.outcome ~= "measured" then
            result.word, result.message = row.outcome, row.message
          end
        end
        result.word = result.word or "pass"
      else
        result.code, result.message = answer.code, answer.message
      end
      fine, answer = pcall(wb.check, { variant = "honest", problem = args.problem,
                                       draws = tonumber(args.honest_draws) })
      result.honest = fine and answer.pass
      if not fine then
        result.honest_message = answer.message
      elseif not answer.pass then
        for _, row in ipairs(answer.problems) do
          if not result.honest_message and row.outcome ~= "pass" then
            result.honest_message = row.outcome .. ": " .. row.message
          end
        end
      end
      results[#results + 1] = result
    end
    return { results = results }
  end,
}
