# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What devstack/plugin.sh uses of DevStack, as thin as it goes: for machines
# that have no DevStack. Where DEVSTACK_DIR names one, its own are used too.

function define_plugin { :; }

function trueorfalse { echo "${!2:-$1}"; }

# It returns what the command before it did, and so may end stack.sh.
function warn {
    local code=$?
    echo "[WARNING] $2"
    return $code
}

function die { echo "[ERROR] ${*:2}" >&2; exit 1; }

function is_service_enabled {
    local service
    for service in "$@"; do
        case "$service ,$ENABLED_SERVICES," in
            'cinder '*,c-* | 'keystone '*,key,* | "$service "*,"$service",*)
                return 0
                ;;
        esac
    done
    return 1
}

function enable_service {
    local service
    for service in "$@"; do
        if [[ ,$DISABLED_SERVICES, != *,$service,* ]]; then
            ENABLED_SERVICES+=,$service
        fi
    done
}

function iniget {
    sed -n "/^\[$2\]$/,/^\[/ s/^$3 *= *//p" "$1"
}

function inidelete { sed -i "/^\[$2\]$/,/^\[/ { /^$3 *=/ d }" "$1"; }

function inicomment { sed -i "/^\[$2\]$/,/^\[/ s/^$3 *=/#&/" "$1"; }

function iniuncomment { sed -i "/^\[$2\]$/,/^\[/ s/^#\($3 *=\)/\1/" "$1"; }

function iniset {
    if ! grep -qsF "[$2]" "$1"; then printf '\n[%s]\n' "$2" >> "$1"; fi
    if [[ -n $(iniget "$1" "$2" "$3") ]]; then
        sed -i "/^\[$2\]$/,/^\[/ s|^$3 *=.*|$3 = $4|" "$1"
    else
        sed -i "/^\[$2\]$/ a $3 = $4" "$1"
    fi
}

function install_package { apt-get install "$@"; }

function setup_develop { pip install -e "$1[$2]"; }

function add_user_to_group { sudo usermod -a -G "$2" "$1"; }

function create_service_user {
    openstack user create "$1"
    openstack role add "$2" --user "$1"
}

function configure_keystoneauth {
    iniset "$1" "$3" auth_type password
    iniset "$1" "$3" auth_url "$KEYSTONE_SERVICE_URI"
    iniset "$1" "$3" username "$2"
    iniset "$1" "$3" password "$SERVICE_PASSWORD"
    iniset "$1" "$3" user_domain_name "$SERVICE_DOMAIN_NAME"
    iniset "$1" "$3" project_name "$SERVICE_PROJECT_NAME"
    iniset "$1" "$3" project_domain_name "$SERVICE_DOMAIN_NAME"
}

function start_service { systemctl start "$1"; }

function run_process {
    if is_service_enabled "$1"; then
        iniset "$SYSTEMD_DIR/devstack@$1.service" Service ExecStart "$2"
        systemctl enable "devstack@$1.service"
        systemctl start "devstack@$1.service"
    fi
}

function stop_process {
    if is_service_enabled "$1"; then
        systemctl stop "devstack@$1.service"
        systemctl disable "devstack@$1.service"
    fi
}
