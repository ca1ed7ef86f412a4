-- expect: exit 2 "did you mean cpu_unfused?"
return {
  name = "misspelled_kernel",
  about = "the start does not exist",
  open = { start = "cpu_unfusd" },
  run = function(wb, args) end,
}
