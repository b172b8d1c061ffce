"""`ds --print-completion`: scripts that complete words on a command line, made from the table of commands.

They are static: completing a word runs no Python.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import drivers
from . import commands
from .arguments import GENERAL, READ, WRITE, Option, Request, UsageError

EVERYWHERE = (*GENERAL, *READ, *WRITE)
"""Options of every command."""

BASH = r"""# Completion of ds in bash: eval "$(ds --print-completion bash)"
_ds() {
    local word=${COMP_WORDS[COMP_CWORD]} command='' words file i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            @COMMANDS@) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    case $command in
@CASES@
    esac
    words="$words @GENERAL@"
    case $word in
        *[\'\"\$\`\\]*) ;;
        *) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    esac
    case $word in
        -*) return ;;
    esac
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        compopt -o filenames 2>/dev/null
    fi
    while IFS= read -r file; do
        case $file in
            @FILES@) COMPREPLY+=("$file") ;;
            *) [ -d "$file" ] && COMPREPLY+=("$file") ;;
        esac
    done < <(compgen -f -- "$word")
}
complete -F _ds ds
"""

ZSH = r"""#compdef ds
# Completion of ds in zsh: eval "$(ds --print-completion zsh)", or a file _ds in a folder of $fpath.
_ds() {
    local -a commands options
    local command='' word
    commands=(
@COMMANDS@
    )
    for word in ${words[2,CURRENT-1]}; do
        case $word in
            @NAMES@) command=$word; break ;;
        esac
    done
    case $command in
@CASES@
    esac
    options+=(@GENERAL@)
    if [[ -z $command && $PREFIX != -* ]]; then
        _describe -t commands 'command' commands
    fi
    _describe -t options 'option' options
    if [[ $PREFIX != -* ]]; then
        _files -g '*.(@SUFFIXES@)'
    fi
}
if [[ $funcstack[1] == _ds ]]; then
    _ds "$@"
else
    compdef _ds ds
fi
"""

TCSH = r"""# Completion of ds in tcsh: ds --print-completion tcsh > ~/.ds.tcsh, and source ~/.ds.tcsh
complete ds \
    'c/--/(@LONG@)/' \
    'c/-/(@SHORT@)/' \
    'n/-*/f:*.{@SUFFIXES@}/' \
    'p/1/(@COMMANDS@)/' \
    'n/*:/()/' \
    'p/*/f:*.{@SUFFIXES@}/'
"""


def script(request: Request) -> str:
    """Return the script for the shell that a request names.

    Raises
    ------
    UsageError
        If that is none of those that are known.
    """
    given = request.options["print-completion"]
    shells = [given] if isinstance(given, str) else request.words
    makers = {"bash": bash, "zsh": zsh, "tcsh": tcsh}
    if len(shells) != 1 or shells[0] not in makers:
        raise UsageError("--print-completion: expected one of bash, zsh, tcsh")
    return makers[shells[0]]()


def bash() -> str:
    """Return the script for bash."""
    names = list(commands.COMMANDS)
    cases = [f"        {name}) words='{_joined(commands.load(name).options)}' ;;" for name in names]
    words = " ".join(names)
    cases.append(f"        *) words='{words} {_joined(commands.load(commands.DEFAULT).options)}' ;;")
    files = "|".join(f"*{suffix}" for suffix in drivers.all_suffixes())
    return _filled(BASH, COMMANDS="|".join(names), CASES="\n".join(cases), FILES=files, GENERAL=_joined(EVERYWHERE))


def zsh() -> str:
    """Return the script for zsh."""
    names = list(commands.COMMANDS)
    rows = [f"        {_quoted(name, entry.caption)}" for name, entry in commands.COMMANDS.items()]
    cases = [f"        {name}) options=({_described(commands.load(name).options)}) ;;" for name in names]
    cases.append(f"        *) options=({_described(commands.load(commands.DEFAULT).options)}) ;;")
    parts = {"COMMANDS": "\n".join(rows), "NAMES": "|".join(names), "CASES": "\n".join(cases)}
    return _filled(ZSH, **parts, GENERAL=_described(EVERYWHERE), SUFFIXES=_suffixes("|"))


def tcsh() -> str:
    """Return the script for tcsh, which cannot tell the options of one command from those of another."""
    every = [*GENERAL, *(option for name in commands.COMMANDS for option in commands.load(name).options)]
    flags = sorted({option.name for option in every if not option.value})
    return _filled(
        TCSH,
        LONG=" ".join(name for name in flags if len(name) > 1),
        SHORT=" ".join(name for name in flags if len(name) == 1),
        COMMANDS=" ".join(commands.COMMANDS),
        SUFFIXES=_suffixes(","),
    )


def _filled(template: str, **parts: str) -> str:
    for name, part in parts.items():
        template = template.replace(f"@{name}@", part)
    return template


def _word(option: Option) -> str:
    """Return what is typed for an option, without its value."""
    return f"{option.name}:" if option.value else option.label


def _joined(options: Iterable[Option]) -> str:
    return " ".join(map(_word, options))


def _described(options: Iterable[Option]) -> str:
    return " ".join(_quoted(_word(option), option.about) for option in options)


def _quoted(word: str, about: str) -> str:
    """Return a word and what it is about as zsh's `_describe` takes them."""
    told = word.replace(":", "\\:") + ":" + about
    return "'" + told.replace("'", "'\\''") + "'"


def _suffixes(separator: str) -> str:
    return separator.join(suffix[1:] for suffix in drivers.all_suffixes())
