#compdef admercs
# Completes admercs in zsh. Use: source <(admercs completion zsh), after compinit
_admercs() {
  local -a commands
  commands=(
@names
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
@cases
  esac
}
compdef _admercs admercs
