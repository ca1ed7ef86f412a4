-- expect: ok "seen	table	nil"
return {
  name = "notes_and_prints",
  about = "print goes to the log and is shown by a dry run",
  run = function(wb, args)
    print("seen", {}, nil)
    wb.note { text = "several\nlines" }
  end,
}
