-- Twenty cached iterations on one small problem: what the workbench itself costs, see overhead.py.
return {
  name = "overhead",
  about = "many short iterations",
  open = {
    start = "cpu_unfused",
    problem = "B=1 Hq=1 Sq=64 D=32 f32",
    rivals = { "none" },
    effort = "quick",
  },
  run = function(wb)
    for round = 1, 20 do
      wb.iterate {
        variant = round % 2 == 0 and "cpu_tiled" or "cpu_online",
        hypothesis = "round " .. round,
        predicted_speedup = 1.1,
        confirm = "never",
      }
    end
  end,
}
