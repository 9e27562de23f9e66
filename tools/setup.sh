# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # root is the caller's
# Sourced by the commands of tools: the programs and virtual environments that
# they need. $root is the checkout.

venv=$root/.venv

die() {
    echo "${0##*/}: $*" >&2
    exit 4
}

# need PROGRAM=PACKAGE...: installs the Debian packages of missing programs,
# or of missing files.
need() {
    local packages=() pair
    for pair in "$@"; do
        [[ $pair == /* && -e ${pair%%=*} ]] ||
            PATH=$PATH:/usr/sbin:/sbin command -v "${pair%%=*}" >/dev/null ||
            packages+=("${pair#*=}")
    done
    ((${#packages[@]} == 0)) || install_packages "${packages[@]}"
}

# need_static PROGRAM=PACKAGE: the same, and where the program that is there
# wants a dynamic linker, which it then names near its beginning.
need_static() {
    need "$1"
    if grep -qsa /ld- <(head -c 4096 "$(command -v "${1%%=*}")"); then
        install_packages "${1#*=}"
    fi
}

install_packages() {
    command -v apt-get >/dev/null ||
        die "needs what Debian packages as: $*; install it and run again."
    [ "$(id -u)" = 0 ] ||
        die "run 'sudo apt-get install $*' first, then run this again."
    echo "Installing $* ..."
    said=$(apt-get -qq update 2>&1) || die "apt-get update failed: $said"
    said=$(apt_install "$@" 2>&1) ||
        die "apt-get could not install $*: $said"
}

# apt_install PACKAGE...: starts no daemon that comes with them, unless the
# machine has a policy of its own; whoever wants one starts it himself.
apt_install() (
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        trap 'exit 130' HUP INT TERM
        printf '#!/bin/sh\nexit 101\n' > "$policy"
        chmod 755 "$policy"
    fi
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y install \
        --no-install-recommends "$@"
)

find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null && return 0
    done
    die 'needs Python 3.11 or later as python3 or python3.N.'
}

# make_venv WHAT PIP_ARGUMENT...: an editable install in .venv; done again
# only where what it was made from has changed.
make_venv() {
    stamp=$venv/.serifos-$1
    shift
    is_stale "$stamp" || return 0
    begin_venv
    pip_install "$@" -e '.[model,report]'
    echo "$made_from" > "$stamp"
}

# make_cinder RELEASE: the newest Cinder of a release in $venv-cinderRELEASE,
# and of serifos what its scheduler's tests need; compiled as it is imported.
make_cinder() {
    venv=$venv-cinder$1
    stamp=$venv/.serifos-cinder
    is_stale "$stamp" || return 0
    begin_venv
    pip_install --no-compile "cinder==$1.*" -r test-requirements.txt \
        "$(grep -o '^fastjsonschema[^ ]*' "$root/requirements.txt")"
    # One at a time: all of them write to serifos.egg-info.
    flock "$root/setup.py" -c "'$venv/bin/pip' install \
        -qq --no-compile --no-deps --no-build-isolation -e '$root'" ||
        die 'pip failed, see above.'
    echo "$made_from" > "$stamp"
}

# make_watcher: Watcher 17 in $venv-watcher, and all that serifos needs there.
make_watcher() {
    venv=$venv-watcher
    stamp=$venv/.serifos-watcher
    is_stale "$stamp" || return 0
    begin_venv
    pip_install --no-compile -r test-requirements.txt
    flock "$root/setup.py" -c "'$venv/bin/pip' install \
        -qq --no-compile -e '${root}[watcher]' 'python-watcher==17.*'" ||
        die 'pip failed, see above.'
    echo "$made_from" > "$stamp"
}

is_stale() {
    made_from=$(cat "$root"/*requirements.txt "$root/setup.cfg" | cksum)
    [ "$(cat "$1" 2>/dev/null)" != "$made_from" ]
}

begin_venv() {
    find_python
    [ -x "$venv/bin/python" ] ||
        "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        install_packages python3-venv
    echo "Installing serifos in $venv ..."
    [ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
    # pbr asks git for the version; a copy without git has to be told one.
    git -C "$root" rev-parse HEAD >/dev/null 2>&1 ||
        export PBR_VERSION="${PBR_VERSION:-0.1.0}"
}

pip_install() {
    (cd "$root" && "$venv/bin/pip" install -qq --disable-pip-version-check \
        "$@") || die 'pip failed, see above.'
}
