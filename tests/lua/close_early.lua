-- expect: exit 65 "the session is closed"
return {
  name = "close_early",
  about = "goes on after close",
  run = function(wb, args)
    wb.close { reason = "enough" }
    wb.status {}
    wb.note { text = "one more thing" }
  end,
}
