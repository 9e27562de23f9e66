# SPDX-License-Identifier: Apache-2.0
# DevStack sources this as: plugin.sh stack|unstack|clean [phase]

_XTRACE_SERIFOS=$(set +o | grep xtrace)
set +o xtrace

SERIFOS_CONF=$SERIFOS_CONF_DIR/serifos.conf

function install_serifos {
    setup_develop $SERIFOS_DIR model,report
}

# The group by which Cinder, which runs as $STACK_USER here, reads what the
# balancer and the modeler write; directories hand it down.
function create_serifos_directories {
    sudo groupadd --force --system $SERIFOS_GROUP
    add_user_to_group $STACK_USER $SERIFOS_GROUP
    sudo install -d -o $STACK_USER -g $SERIFOS_GROUP -m 2750 \
        $SERIFOS_CONF_DIR $SERIFOS_STATE_DIR $SERIFOS_MODELS_DIR
}

function configure_serifos {
    create_serifos_directories
    sudo install -o $STACK_USER -g $SERIFOS_GROUP -m 0640 \
        $SERIFOS_DIR/etc/serifos/serifos.conf.sample $SERIFOS_CONF
    iniset -sudo $SERIFOS_CONF serifos state_dir $SERIFOS_STATE_DIR
    iniset -sudo $SERIFOS_CONF serifos models_dir $SERIFOS_MODELS_DIR
}

function cleanup_serifos {
    sudo rm -rf $SERIFOS_CONF_DIR $SERIFOS_STATE_DIR $SERIFOS_MODELS_DIR
}

if is_service_enabled serifos; then
    case "$1 $2" in
        'stack pre-install')
            install_package fio
            ;;
        'stack install')
            echo_summary "Installing serifos"
            install_serifos
            ;;
        'stack post-config')
            echo_summary "Configuring serifos"
            configure_serifos
            ;;
        'clean '*)
            cleanup_serifos
            ;;
    esac
fi

$_XTRACE_SERIFOS
