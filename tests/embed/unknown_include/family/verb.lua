-- refused: @include of nowhere, but there is no include/nowhere.lua
-- @include nowhere
return 0
