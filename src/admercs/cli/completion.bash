# Completes admercs in bash. Use: source <(admercs completion bash)
_admercs() {
  local current="${COMP_WORDS[COMP_CWORD]}" words=""
  case "$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
    "1 "*) words="@names --help --version" ;;
@cases
  esac
  if [[ "$words" != --* || "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o default -o bashdefault -F _admercs admercs
