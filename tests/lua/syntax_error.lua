-- expect: exit 65 "syntax_error.lua:5: 'then' expected near 'return'"
return {
  name = "syntax_error",
  run = function(wb, args)
    if args return 1 end
  end,
}
