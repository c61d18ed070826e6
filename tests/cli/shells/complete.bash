# Prints what bash offers at the end of the command line $2 with the completion script $1, one per line.
# The rest of the arguments are the words into which bash splits that line.
# shellcheck source=/dev/null # it is generated
source "$1"
# shellcheck disable=SC2034 # bash itself sets these for a completion function
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3))
_holdfast 2>/dev/null # compopt says that nothing is being completed
printf '%s\n' "${COMPREPLY[@]}"
