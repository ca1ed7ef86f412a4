-- What tests/lua/library.lua shares.
return {
  double = function(x)
    return 2 * x
  end,
}
