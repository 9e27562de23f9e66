# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# DevStack sources this as: plugin.sh stack|unstack|clean [phase]

_XTRACE_SERIFOS=$(set +o | grep xtrace)
set +o xtrace

source "$SERIFOS_DIR/devstack/lib/serifos"

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
