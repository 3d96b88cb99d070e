# alias.awk - gives kernels of an AMDGPU assembly file second names
#
#   awk -v module=NAME -f alias.awk ALIASES.csv MODULE.s >OUT.s
#
# An alias is the same code and descriptor under another name: two more ELF
# symbols (ALIAS and ALIAS.kd) and a second entry in the metadata, by which HIP
# and kpack-gen find kernels. Assembly is the one form in which both are text.
#
# ALIASES.csv has the columns module, text, alias. Every kernel of the module
# ("*": of any module) whose name contains `text` gets an alias in which each
# occurrence is replaced by `alias`. Lines that begin with # are comments. An
# alias that is the name of another kernel, or is made twice, is an error.

function fail(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what >"/dev/stderr"
    failed = 1
    exit 1
}

function replace(name, text, by,    result, at) {
    result = ""
    while ((at = index(name, text)) > 0) {
        result = result substr(name, 1, at - 1) by
        name = substr(name, at + length(text))
    }
    return result name
}

# The aliases of a kernel as a list, each followed by a blank.
function aliases_of(name,    i, list, alias) {
    list = ""
    for (i = 1; i <= nrules; i++)
        if (index(name, text[i]) > 0) {
            alias = replace(name, text[i], by[i])
            if (alias in taken)
                fail("alias " alias " of " name " is taken by " taken[alias])
            taken[alias] = name
            list = list alias " "
        }
    return list
}

# ---- the rules ----

NR == FNR {
    sub(/\r$/, "")
    if ($0 ~ /^#/ || $0 == "" || $0 == "module,text,alias")
        next
    if (split($0, column, ",") != 3 || column[2] == "" || column[3] == "")
        fail("a row is module,text,alias")
    if (column[1] == "*" || column[1] == module) {
        nrules++
        text[nrules] = column[2]
        by[nrules] = column[3]
    }
    next
}

# ---- the assembly ----

$1 == ".amdhsa_kernel" {
    if ($2 in taken)
        fail("kernel " $2 " has the name of an alias of " taken[$2])
    taken[$2] = $2
    kernels[++nkernels] = $2
}

# Symbols go before the metadata; all kernels have been seen by then.
$1 == ".amdgpu_metadata" {
    for (k = 1; k <= nkernels; k++) {
        name = kernels[k]
        list[name] = aliases_of(name)
        n = split(list[name], alias, " ")
        for (a = 1; a <= n; a++) {
            printf "\t.protected\t%s\n\t.globl\t%s\n", alias[a], alias[a]
            printf "\t.type\t%s,@function\n", alias[a]
            printf "\t.set\t%s, %s\n", alias[a], name
            printf "\t.size\t%s, %s\n", alias[a], size[name]
            printf "\t.protected\t%s.kd\n\t.globl\t%s.kd\n", alias[a], alias[a]
            printf "\t.type\t%s.kd,@object\n", alias[a]
            printf "\t.set\t%s.kd, %s.kd\n", alias[a], name
            printf "\t.size\t%s.kd, 64\n", alias[a]
        }
    }
}

$1 == ".size" { # of a kernel: NAME, END-NAME
    name = $2
    sub(/,$/, "", name)
    size[name] = $3
}

# A kernel's entry in the metadata is kept until it ends, then repeated.
/^amdhsa\.kernels:/ {
    print
    in_kernels = 1
    next
}
in_kernels && (/^  - / || /^[^ ]/) {
    end_entry()
    if (/^[^ ]/)
        in_kernels = 0
}
in_kernels {
    lines[++nlines] = $0
    if ($0 ~ /^    \.name:/ || $0 ~ /^  - \.name:/)
        entry = $NF
    next
}
{ print }

function end_entry(    n, alias, a, l, line) {
    n = nlines > 0 ? split(entry " " list[entry], alias, " ") : 0
    for (a = 1; a <= n; a++)
        for (l = 1; l <= nlines; l++) {
            line = lines[l]
            if (line ~ /^(    |  - )\.name:/)
                line = substr(line, 1, 21) alias[a]
            else if (line ~ /^(    |  - )\.symbol:/)
                line = substr(line, 1, 21) alias[a] ".kd"
            print line
        }
    nlines = 0
}

END {
    if (!failed && in_kernels)
        fail("the metadata does not end")
}
