-- expect: ok
local steps = require "lib.steps"

return {
  name = "library",
  about = "shares code through lib/, and cannot leave it",
  run = function(wb, args)
    assert(steps.double(21) == 42 and require "lib.steps" == steps)
    local others = { "steps", "lib/steps", "lib.steps.lua", "../library", "lib.nothing", "os" }
    for _, name in ipairs(others) do
      local fine, why = pcall(require, name)
      assert(not fine and why:find("there is no playbook library", 1, true), name)
    end
  end,
}
