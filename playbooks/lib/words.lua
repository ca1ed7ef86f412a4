-- SPDX-License-Identifier: MIT
-- What the playbooks say in the same words: figures, rows, lists given as arguments.
local words = {}

-- "a+b" or "a, b" as a list; "none" and nothing are empty.
function words.list(text)
  local items = {}
  for item in text:gmatch("[^+,;%s]+") do
    if item ~= "none" then
      items[#items + 1] = item
    end
  end
  return items
end

-- "1, 2, 4" as whole numbers.
function words.numbers(text)
  local numbers = {}
  for _, item in ipairs(words.list(text)) do
    local number = math.tointeger(tonumber(item))
    assert(number and number > 0, "not a whole number above 0: " .. item)
    numbers[#numbers + 1] = number
  end
  assert(#numbers > 0, "a list of numbers is empty")
  return numbers
end

-- "TILE_M=32 TILE_N=64" as a configuration.
function words.configuration(text)
  local configuration = {}
  for _, item in ipairs(words.list(text)) do
    local name, value = item:match("^([%w_]+)=(%-?%d+)$")
    assert(name, "not NAME=VALUE: " .. item)
    configuration[name] = math.tointeger(tonumber(value))
  end
  return configuration
end

-- One text for a configuration, the same however its table was built.
function words.text_of(configuration)
  local parts = {}
  for name, value in pairs(configuration) do
    parts[#parts + 1] = name .. "=" .. value
  end
  table.sort(parts)
  return table.concat(parts, " ")
end

-- How an iteration came out, in a few words.
function words.outcome(answer)
  local figure = answer.speedup and string.format(" %.2fx", answer.speedup) or ""
  return (answer.invalidity or answer.outcome) .. figure
end

-- One sentence over the rows of an answer.
function words.per_problem(rows, figure)
  local parts = {}
  for _, row in ipairs(rows) do
    parts[#parts + 1] = string.format("%s %s", row.problem, figure(row))
  end
  return table.concat(parts, ", ")
end

return words
