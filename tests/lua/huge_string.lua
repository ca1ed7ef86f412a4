-- expect: exit 5 "it needs more than 64 MiB of memory"
return {
  name = "huge_string",
  about = "asks for 1 GB",
  run = function(wb, args)
    return #(("x"):rep(1024 * 1024 * 1024))
  end,
}
