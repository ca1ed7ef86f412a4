-- expect: exit 65 "no_clock.lua:6: 'os' is not defined"
return {
  name = "no_clock",
  about = "a clock would break replay",
  run = function(wb, args)
    return os.time()
  end,
}
