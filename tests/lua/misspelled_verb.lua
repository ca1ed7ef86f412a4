-- expect: exit 65 "misspelled_verb.lua:6: there is no verb wb.itterate; did you mean wb.iterate?"
return {
  name = "misspelled_verb",
  about = "an unknown verb is an error with its line",
  run = function(wb, args)
    wb.itterate {}
  end,
}
