-- refused: include/last.lua ends the script, but 'return 1' follows it
-- @include last

-- Never reached:
return 1
