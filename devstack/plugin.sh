# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# DevStack sources this as: plugin.sh stack|unstack|clean [phase]

_XTRACE_SERIFOS=$(set +o | grep xtrace)
set +o xtrace

function check_serifos_settings {
    local pair
    case $SERIFOS_SCHEDULER in
        driver | weigher | none) ;;
        *)
            die $LINENO "SERIFOS_SCHEDULER is '$SERIFOS_SCHEDULER';" \
                "it can be driver, weigher or none."
            ;;
    esac
    case $SERIFOS_MODE in
        advise | auto) ;;
        *)
            die $LINENO "SERIFOS_MODE is '$SERIFOS_MODE';" \
                "it can be advise or auto."
            ;;
    esac
    for pair in ${SERIFOS_BACKEND_MODELS//,/ }; do
        if [[ $pair != ?*:?* || \
            ,$CINDER_ENABLED_BACKENDS, != *,lvm:${pair%%:*},* ]]; then
            die $LINENO "SERIFOS_BACKEND_MODELS has '$pair'; it takes" \
                "BACKEND:MODEL, of lvm backends in CINDER_ENABLED_BACKENDS."
        fi
    done
}

function install_serifos_packages {
    install_package fio
    if is_service_enabled c-vol && [[ -n $SERIFOS_NODE_EXPORTER ]]; then
        install_package "$SERIFOS_NODE_EXPORTER"
    fi
}

# Where Cinder is installed: cinder-scheduler imports what we bring.
function install_serifos {
    PIP_VIRTUAL_ENV=${PROJECT_VENV["cinder"]:-} \
        setup_develop "$SERIFOS_DIR" model,report
}

# The group by which Cinder, which runs as $STACK_USER here, reads what the
# balancer and the modeler write; directories hand it down.
function create_serifos_directories {
    sudo groupadd --force --system "$SERIFOS_GROUP"
    add_user_to_group "$STACK_USER" "$SERIFOS_GROUP"
    sudo install -d -o "$STACK_USER" -g "$SERIFOS_GROUP" -m 2750 \
        "$SERIFOS_CONF_DIR" "$SERIFOS_STATE_DIR" "$SERIFOS_MODELS_DIR"
}

function install_serifos_models {
    local pair model
    for pair in ${SERIFOS_BACKEND_MODELS//,/ }; do
        model=${pair#*:}.json
        if [[ ! -e $SERIFOS_MODELS_DIR/$model &&
                -e $SERIFOS_MODEL_SOURCE/$model ]]; then
            install -m 0640 "$SERIFOS_MODEL_SOURCE/$model" \
                "$SERIFOS_MODELS_DIR/$model"
        fi
        # In a branch of its own: warn returns what was returned before it.
        if [[ ! -e $SERIFOS_MODELS_DIR/$model ]]; then
            warn $LINENO "$SERIFOS_MODELS_DIR still lacks the model $model."
        fi
    done
}

function configure_serifos {
    create_serifos_directories
    install_serifos_models
    sudo install -o "$STACK_USER" -g "$SERIFOS_GROUP" -m 0640 \
        "$SERIFOS_DIR/etc/serifos/serifos.conf.sample" "$SERIFOS_CONF"
    iniset "$SERIFOS_CONF" serifos state_dir "$SERIFOS_STATE_DIR"
    iniset "$SERIFOS_CONF" serifos models_dir "$SERIFOS_MODELS_DIR"
    iniset "$SERIFOS_CONF" balancer mode "$SERIFOS_MODE"
    iniset "$SERIFOS_CONF" telemetry endpoints "$SERIFOS_ENDPOINTS"
    if is_service_enabled serifos-balancer; then
        configure_serifos_account
    fi
}

# Seeing and moving the volumes of all projects takes an administrator. Nova
# is asked by the same account what it would refuse.
function configure_serifos_account {
    local group
    if is_service_enabled keystone; then
        create_service_user serifos admin
    fi
    configure_keystoneauth "$SERIFOS_CONF" serifos cinder
    for group in cinder nova; do
        iniset "$SERIFOS_CONF" $group region_name "$REGION_NAME"
        iniset "$SERIFOS_CONF" $group valid_interfaces public
    done
    if is_service_enabled tls-proxy; then
        iniset "$SERIFOS_CONF" cinder cafile "$SSL_BUNDLE_FILE"
    fi
}

# set_for_cinder SECTION OPTION VALUE: what stood there becomes a comment,
# until restore_cinder.
function set_for_cinder {
    inicomment "$CINDER_CONF" "$1" "$2"
    iniset "$CINDER_CONF" "$1" "$2" "$3"
}

# unset_for_cinder SECTION OPTION: all that we set has our name in its value.
function unset_for_cinder {
    if [[ $(iniget "$CINDER_CONF" "$1" "$2") == *[Ss]erifos* ]]; then
        inidelete "$CINDER_CONF" "$1" "$2"
        iniuncomment "$CINDER_CONF" "$1" "$2"
    fi
}

function restore_cinder {
    local backend backends option
    for option in driver default_weighers default_filters; do
        unset_for_cinder DEFAULT "scheduler_$option"
    done
    backends=$(iniget "$CINDER_CONF" DEFAULT enabled_backends)
    for backend in ${backends//,/ }; do
        unset_for_cinder "$backend" extra_capabilities
    done
}

# add_for_cinder OPTION DEFAULT NAME: adds a name to a list in [DEFAULT].
function add_for_cinder {
    local names
    names=$(iniget "$CINDER_CONF" DEFAULT "$1")
    set_for_cinder DEFAULT "$1" "${names:-$2},$3"
}

# What lib/cinder has written, and is not read yet, is ours to add to.
function configure_cinder_for_serifos {
    restore_cinder
    iniset "$CINDER_CONF" serifos state_dir "$SERIFOS_STATE_DIR"
    iniset "$CINDER_CONF" serifos models_dir "$SERIFOS_MODELS_DIR"
    case $SERIFOS_SCHEDULER in
        driver)
            set_for_cinder DEFAULT scheduler_driver \
                serifos.scheduler.driver.SerifosScheduler
            ;;
        weigher)
            add_for_cinder scheduler_default_weighers CapacityWeigher \
                SerifosWeigher
            ;;
    esac
    if [[ $SERIFOS_FILTER == True ]]; then
        add_for_cinder scheduler_default_filters \
            AvailabilityZoneFilter,CapacityFilter,CapabilitiesFilter \
            SerifosFilter
    fi
    name_serifos_models
}

# Every scheduler learns of a pool's model by a capability of its backend.
function name_serifos_models {
    local pair capabilities
    for pair in ${SERIFOS_BACKEND_MODELS//,/ }; do
        capabilities=$(iniget "$CINDER_CONF" "${pair%%:*}" extra_capabilities)
        capabilities=$(python3 -c 'import json, sys
was, model = sys.argv[1:]
print(json.dumps({**json.loads(was or "{}"), "serifos_model": model}))' \
            "$capabilities" "${pair#*:}")
        set_for_cinder "${pair%%:*}" extra_capabilities "$capabilities"
    done
}

function start_serifos {
    if is_service_enabled c-vol && [[ -n $SERIFOS_NODE_EXPORTER ]]; then
        start_service "$SERIFOS_NODE_EXPORTER"
    fi
    run_process serifos-balancer \
        "$CINDER_BIN_DIR/serifos-balancer --config-file $SERIFOS_CONF run"
}

function cleanup_serifos {
    if [[ -e $CINDER_CONF ]]; then
        restore_cinder
        sed -i '/^\[serifos\]$/,/^\[/ { /^\[serifos\]$/d; /^\[/!d }' \
            "$CINDER_CONF"
    fi
    sudo rm -rf "$SERIFOS_CONF_DIR" "$SERIFOS_STATE_DIR" "$SERIFOS_MODELS_DIR"
    if getent group "$SERIFOS_GROUP" >/dev/null; then
        sudo groupdel "$SERIFOS_GROUP"
    fi
}

if is_service_enabled serifos; then
    case "$1 $2" in
        'stack pre-install')
            check_serifos_settings
            install_serifos_packages
            ;;
        'stack install')
            echo_summary "Installing serifos"
            install_serifos
            ;;
        'stack post-config')
            echo_summary "Configuring serifos"
            configure_serifos
            if is_service_enabled cinder; then
                configure_cinder_for_serifos
            fi
            ;;
        'stack extra')
            echo_summary "Starting serifos"
            start_serifos
            ;;
        'unstack '*)
            stop_process serifos-balancer
            ;;
        'clean '*)
            cleanup_serifos
            ;;
    esac
fi

$_XTRACE_SERIFOS
