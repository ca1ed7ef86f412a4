-- expect: exit 5 "it ran more than 200000000 instructions"
-- Catches whatever stops it; even so it is stopped.
local function go_on()
  while true do
    pcall(function()
      while true do
      end
    end)
  end
end

return {
  name = "endless_pcall",
  about = "does not end and catches errors",
  run = function(wb, args)
    while true do
      pcall(go_on)
      xpcall(go_on, function(why) return why end)
      coroutine.wrap(go_on)()
    end
  end,
}
