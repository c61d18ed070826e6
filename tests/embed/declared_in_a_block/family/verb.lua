-- refused: ARGV is read outside a declaration, in '  local owner = ARGV[1]'
do
  local owner = ARGV[1]
end
