-- expect: exit 2 "did you mean n6?"
return {
  name = "unknown_suite",
  about = "opens on a suite that does not exist",
  open = { start = "cpu_unfused", suite = "n66" },
  run = function(wb, args) end,
}
