-- expect: exit 65 "did you mean hypothesis?"
return {
  name = "misspelled_argument",
  about = "an unknown argument is an error with its line",
  run = function(wb, args)
    wb.iterate { variant = "cpu_tiled", hypotesis = "h", predicted_speedup = 1.1 }
  end,
}
