-- expect: ok
return {
  name = "random_and_order",
  about = "what a replay relies on: the same numbers and the same order in every run",
  run = function(wb, args)
    -- The dry run's seed is 1; Lua 5.4 fixes the generator.
    assert(math.random(1, 1000) == 414 and math.random(1, 1000) == 488)
    local t, seen = { z = 1, y = 2, [3] = "c", [1] = "a", [0.5] = "h", x1 = 3, x10 = 4, x2 = 5 }, {}
    for key in pairs(t) do
      seen[#seen + 1] = tostring(key)
    end
    assert(table.concat(seen, " ") == "1 3 0.5 x1 x10 x2 y z")
    assert(next {} == nil and next { b = 1, a = 2 } == "a")
    assert(tostring {} == "table" and ("%s"):format(print) == "function")
    local list = { { 2, "a" }, { 1, "b" }, { 2, "c" }, { 1, "d" } }
    table.sort(list, function(a, b) return a[1] < b[1] end)
    local order = {}
    for i, item in ipairs(list) do
      order[i] = item[2]
    end
    assert(table.concat(order) == "bdac")
  end,
}
