-- refused: ARGV is read outside a declaration, in '  return #ARGV'
local owner = ARGV[1]
if owner then
  return #ARGV
end
