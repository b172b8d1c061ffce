"""`ds --print-completion`: scripts for shells, made from the table of commands, and the names that they offer.

Commands, options and files are completed by the script alone. For names in a file and values of options, the scripts of
bash, zsh and fish run `ds --print-completion names N -- FORMS WORD...`, which reads the header of the file on the line.
FORMS are the arguments and options of the command; see `forms`. The scripts contain them, because the import of a
command may import NumPy.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence

from .. import drivers
from . import commands, lookup
from .arguments import GENERAL, READ, WRITE, Command, Option, Request, UsageError

EVERYWHERE = (*GENERAL, *READ, *WRITE)
"""Options of every command."""

BASH = r"""# Completion of ds in bash: eval "$(ds --print-completion bash)"
_ds() {
    local word=${COMP_WORDS[COMP_CWORD]} command='' words forms file i name n
    local -a line=()
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            @COMMANDS@) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    # bash takes the colon of an option as a word
    for ((i = 1; i < ${#COMP_WORDS[@]}; i++)); do
        if [ "${COMP_WORDS[i]}" = : ] && [ ${#line[@]} -gt 0 ]; then
            line[${#line[@]}-1]+=:
        else
            line+=("${COMP_WORDS[i]}")
        fi
        if [ "$i" -eq "$COMP_CWORD" ]; then
            n=$((${#line[@]} - 1))
        fi
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
    while IFS= read -r name; do
        case $name in
            "$word"*) COMPREPLY+=("$(printf %q "$name")") ;;
        esac
    done < <("${COMP_WORDS[0]}" --print-completion names "$n" -- "$forms" "${line[@]}" 2>/dev/null)
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
    local -a commands options names program
    local command='' word forms
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
        program=(${words[1]} --print-completion names $((CURRENT - 2)) -- "$forms")
        names=(${(f)"$("${program[@]}" "${(@Q)words[2,-1]}" 2>/dev/null)"})
        compadd -a names
    fi
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

FISH = r"""# Completion of ds in fish: ds --print-completion fish > ~/.config/fish/completions/ds.fish
function __ds_command
    for word in (commandline -opc)[2..-1]
        if contains -- $word @COMMANDS@
            echo $word
            return
        end
    end
end
function __ds_forms
    switch (__ds_command)
@CASES@
    end
end
function __ds_names
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l all (commandline -op)
    set -l after
    set -l next (math (count $before) + 1)
    test -n "$word"; and set next (math $next + 1)
    test $next -le (count $all); and set after $all[$next..-1]
    set -l position (math (count $before) - 1)
    $before[1] --print-completion names $position -- (__ds_forms) $before[2..-1] "$word" $after 2>/dev/null
end
complete -c ds -f
complete -c ds -a '(__ds_names)'
complete -c ds -k -a '(__fish_complete_suffix @SUFFIXES@)'
@ROWS@
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
    """Return the script for the shell that a request names, or the names that a script asks for.

    Raises
    ------
    UsageError
        If the shell is not supported.
    """
    given = request.options["print-completion"]
    shells = [given] if isinstance(given, str) else request.words
    if len(shells) > 2 and shells[0] == "names" and str(shells[1]).isdecimal():
        position, given_forms, *words = map(str, shells[1:])
        return "".join(f"{name}\n" for name in names(given_forms, words, int(position)))
    makers = {"bash": bash, "zsh": zsh, "fish": fish, "tcsh": tcsh}
    if len(shells) != 1 or shells[0] not in makers:
        raise UsageError(f"--print-completion: expected one of {', '.join(makers)}")
    return makers[shells[0]]()


CALENDARS = ("standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day")
"""Calendars of the CF conventions."""


ARGUMENTS = ("VAR", "DIM", "ATTR", "DIM: INDEX", "OLD: NEW")
"""Arguments that are names in a file."""


def forms(command: Command) -> str:
    """Return the arguments that are names in a file, and `NAME=VALUE` of each option with a value, joined by `;`."""
    labels = [label for label, _ in command.arguments if label in ARGUMENTS]
    return ";".join([*labels, *(f"{option.name}={option.value}" for option in command.options if option.value)])


def names(forms: str, words: Sequence[str], position: int) -> list[str]:
    """Return the names in a file, or the values of an option, that are possible at a position of a command line.

    Parameters
    ----------
    forms : str
        Arguments and options of the command; see `forms`.
    words : sequence of str
        The command line without the name of the program.
    position : int
        The word to complete, from 0. The suggestions do not depend on what is already typed.

    Returns
    -------
    list of str
        Empty if the command line has no readable file and needs one.
    """
    before, others = words[:position], [*words[:position], *words[position + 1 :]]
    key = before[-1].removesuffix(":") if before and before[-1].endswith(":") else ""
    outer = before[-2].removesuffix(":") if len(before) > 1 and before[-1] == "{" and before[-2].endswith(":") else ""
    labels = [form for form in forms.split(";") if "=" not in form]
    options = {option.name: option.value for option in EVERYWHERE if option.value}
    options |= dict(form.split("=", 1) for form in forms.split(";") if "=" in form)
    if key in options and options[key] == options[key].lower():
        return options[key].split(" | ")
    fixed = {"CALENDAR": CALENDARS, "FORMAT": [*drivers.all_formats()]}
    if options.get(key) in fixed:
        return [*fixed[options[key]]]
    header = _header(others)
    if header is None:
        return []
    variables, dims = [*header.variables], sorted(lookup.sizes(header.variables.values()))
    owner = header.variables.get(before[-1]) if before else None
    attributes = [*(header.attributes if owner is None else lookup.attributes(owner))]
    kinds: dict[str, Callable[[], Iterable[str]]] = {
        "VAR": lambda: () if owner is not None and "ATTR" in labels else variables,
        "VARS": lambda: variables,
        "DIM": lambda: dims,
        "ATTR": lambda: attributes if owner is not None or before[-1:] == ["none"] else (),
        "ATTRS": lambda: sorted({name for entry in header.variables.values() for name in lookup.attributes(entry)}),
        "DIM: INDEX": lambda: (f"{dim}:" for dim in dims),
        "OLD: NEW": lambda: (f"{name}:" for name in (dims if "rename_dim" in before else variables)),
    }
    if key or outer:
        form = options.get(key or outer, "")
        if form.startswith("{"):
            return [f"{name}:" for name in (dims if "DIM" in form else variables)] if outer else ["{"]
        labels = [form]
    found = (name for label in labels if label in kinds for name in kinds[label]())
    return [name for name in dict.fromkeys(found) if name.isprintable()]


def _header(words: Iterable[str]) -> lookup.HeaderFacts | None:
    """Return the header of the first file among some words; None if there is no file that can be read."""
    for word in words:
        if os.path.isfile(word) or drivers.of_folder(word) is not None:
            with contextlib.suppress(Exception):  # nothing can be reported while a word is completed
                return lookup.read(word)
    return None


def bash() -> str:
    """Return the script for bash."""
    names = list(commands.COMMANDS)
    every = {name: commands.load(name) for name in names}
    default = every[commands.DEFAULT]
    cases = [f"        {name}) words='{_joined(one.options)}' forms='{forms(one)}' ;;" for name, one in every.items()]
    cases.append(f"        *) words='{' '.join(names)} {_joined(default.options)}' forms='{forms(default)}' ;;")
    files = "|".join(f"*{suffix}" for suffix in drivers.all_suffixes())
    return _filled(BASH, COMMANDS="|".join(names), CASES="\n".join(cases), FILES=files, GENERAL=_joined(EVERYWHERE))


def zsh() -> str:
    """Return the script for zsh."""
    names = list(commands.COMMANDS)
    rows = [f"        {_quoted(name, entry.caption)}" for name, entry in commands.COMMANDS.items()]
    labels = {**{name: name for name in names}, "*": commands.DEFAULT}
    every = {label: commands.load(name) for label, name in labels.items()}
    cases = [
        f"        {label}) options=({_described(one.options)}) forms='{forms(one)}' ;;" for label, one in every.items()
    ]
    parts = {"COMMANDS": "\n".join(rows), "NAMES": "|".join(names), "CASES": "\n".join(cases)}
    return _filled(ZSH, **parts, GENERAL=_described(EVERYWHERE), SUFFIXES=_suffixes("|"))


def fish() -> str:
    """Return the script for fish."""
    rows = [
        f"complete -c ds -n 'test -z \"$(__ds_command)\"' -a {name} -d {_in_fish(row.caption)}"
        for name, row in commands.COMMANDS.items()
    ]
    rows += [f"complete -c ds {_option_in_fish(option)}" for option in EVERYWHERE]
    for name in commands.COMMANDS:
        rows += [
            f"complete -c ds -n 'test \"$(__ds_command)\" = {name}' {_option_in_fish(option)}"
            for option in commands.load(name).options
        ]
    labels = {**{name: name for name in commands.COMMANDS}, "'*'": commands.DEFAULT}
    cases = [f"        case {label}\n            echo '{forms(commands.load(name))}'" for label, name in labels.items()]
    suffixes = " ".join(drivers.all_suffixes())
    return _filled(
        FISH, CASES="\n".join(cases), COMMANDS=" ".join(commands.COMMANDS), SUFFIXES=suffixes, ROWS="\n".join(rows)
    )


def _option_in_fish(option: Option) -> str:
    if option.value:
        return f"-a {_word(option)} -d {_in_fish(option.about)}"
    return f"-{'s' if len(option.name) == 1 else 'l'} {option.name} -d {_in_fish(option.about)}"


def _in_fish(text: str) -> str:
    """Return text in quotes of fish."""
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"


def tcsh() -> str:
    """Return the script for tcsh, which cannot distinguish the options of different commands."""
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
    """Return an option as typed, without its value."""
    return f"{option.name}:" if option.value else option.label


def _joined(options: Iterable[Option]) -> str:
    return " ".join(map(_word, options))


def _described(options: Iterable[Option]) -> str:
    return " ".join(_quoted(_word(option), option.about) for option in options)


def _quoted(word: str, about: str) -> str:
    """Return a word and its explanation in the form of zsh's `_describe`."""
    described = word.replace(":", "\\:") + ":" + about
    return "'" + described.replace("'", "'\\''") + "'"


def _suffixes(separator: str) -> str:
    return separator.join(suffix[1:] for suffix in drivers.all_suffixes())
