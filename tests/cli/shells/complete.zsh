# Prints what zsh offers at the end of the command line $2 with the completion script $1, one per line: in an
# interactive zsh on a terminal of its own, since elsewhere zsh completes nothing.
zmodload zsh/zpty
export work=$(mktemp -d) script=$1
export ZDOTDIR=$work
cat >$work/.zshrc <<'RC'
PROMPT=
autoload -Uz compinit && compinit -D -u
source $script
compadd() {
  # With these a function of zsh's own asks for an array; otherwise it makes an offer.
  if [[ -z ${(M)@[1,(i)(-|--)]:#-[a-zA-Z12]#[OAD]} ]]; then
    local -a hits
    builtin compadd -A hits "$@"
    print -rl -- $hits >>$work/offers
  fi
  builtin compadd "$@"
}
tell_end() { print '<the end>' }
comppostfuncs=(tell_end)
zle-line-init() { print '<ready>' }
zle -N zle-line-init
RC
zpty shell zsh -i
zpty -r shell said '*<ready>*'  # what is typed before isn't always for the line editor
zpty -w -n shell "$2"$'\t'
zpty -r shell said '*<the end>*'
zpty -d shell
[[ ! -e $work/offers ]] || cat $work/offers
rm -rf $work
