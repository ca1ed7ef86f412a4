-- expect: exit 5 "it ran more than 200000000 instructions"
return {
  name = "endless_loop",
  about = "does not end",
  run = function(wb, args)
    while true do
    end
  end,
}
