// SPDX-License-Identifier: Apache-2.0
// RabbitMQ's configuration keys that do nothing here, each with the reason that its user is told.
// Any thread.
#include "server/config_keys.h"

namespace millrace::server {

namespace {

constexpr std::string_view kNoTls = "TLS comes with a later version; this listener stays closed";
constexpr std::string_view kNoCluster = "this version is a single node";
constexpr std::string_view kNoPlugin = "this protocol or plug-in does not exist here";
constexpr std::string_view kNoManagement = "the management listener comes with a later version";
constexpr std::string_view kNoAuth = "users come from the catalog, with PLAIN and AMQPLAIN";
constexpr std::string_view kErlang = "it tunes the Erlang runtime, which Millrace does not have";
constexpr std::string_view kOwnStorage =
    "it tunes RabbitMQ's storage; Millrace keeps one log for all queues";
constexpr std::string_view kLogConsole =
    "the log goes to standard error; log.console.level sets its level";
constexpr std::string_view kLater = "it comes with a later version";

constexpr IdleKey kIdleKeys[] = {
    {"listeners.ssl.*", kNoTls},
    {"listeners.ssl", kNoTls},
    {"ssl_options.*", kNoTls},
    {"ssl_handshake_timeout", kNoTls},
    {"ssl_allow_poodle_attack", kNoTls},
    {"ssl_cert_login_from", kNoTls},
    {"ssl_cert_login_san_type", kNoTls},
    {"ssl_cert_login_san_index", kNoTls},
    {"num_acceptors.*", "one event loop accepts for all listeners"},
    {"tcp_listen_options.*",
     "sockets are set up by Millrace itself: no delay, a backlog of 4096, large reads"},
    {"socket_writer.*", kErlang},
    {"erlang.*", kErlang},
    {"distribution.*", kErlang},
    {"net_ticktime", kNoCluster},
    {"background_gc_enabled", kErlang},
    {"background_gc_target_interval", kErlang},
    {"hipe_compile", kErlang},
    {"vm_memory_calculation_strategy", "resident memory is what is counted"},
    {"vm_memory_high_watermark_paging_ratio",
     "memory is bounded whatever the backlog; nothing is paged"},
    {"memory_monitor_interval", "memory is looked at ten times a second"},
    {"disk_monitor_failure_retries", "the disk is looked at all the time"},
    {"disk_monitor_failure_retry_interval", "the disk is looked at all the time"},
    {"cluster_formation.*", kNoCluster},
    {"cluster_partition_handling", kNoCluster},
    {"cluster_partition_handling.*", kNoCluster},
    {"cluster_keepalive_interval", kNoCluster},
    {"cluster_nodes.*", kNoCluster},
    {"cluster_name", kLater},
    {"cluster_tags.*", kNoCluster},
    {"node_tags.*", kNoCluster},
    {"cluster_queue_limit", kLater},
    {"mirroring_sync_batch_size", kNoCluster},
    {"mirroring_sync_max_throughput", kNoCluster},
    {"mnesia_table_loading_retry_timeout", kNoCluster},
    {"mnesia_table_loading_retry_limit", kNoCluster},
    {"schema_db.*", kNoCluster},
    {"khepri_mnesia.*", kNoCluster},
    {"queue_leader_locator", kNoCluster},
    {"queue_master_locator", kNoCluster},
    {"quorum_queue.*", kNoCluster},
    {"raft.*", kOwnStorage},
    {"classic_queue.*", kOwnStorage},
    {"stream.*", "the stream protocol comes with a later version"},
    {"queue_index_embed_msgs_below", kOwnStorage},
    {"queue_index_max_journal_entries", kOwnStorage},
    {"msg_store_file_size_limit", kOwnStorage},
    {"msg_store_credit_disc_bound.*", kOwnStorage},
    {"msg_store_index_module", kOwnStorage},
    {"msg_store_shutdown_timeout", kOwnStorage},
    {"credit_flow_default_credit", "publishers are held by their sockets"},
    {"lazy_queue_explicit_gc_run_operation_threshold", kOwnStorage},
    {"collect_statistics", kNoManagement},
    {"collect_statistics_interval", kNoManagement},
    {"management.*", kNoManagement},
    {"management_agent.*", kNoManagement},
    {"prometheus.*", kNoManagement},
    {"mqtt.*", kNoPlugin},
    {"stomp.*", kNoPlugin},
    {"amqp1_0.*", kNoPlugin},
    {"web_stomp.*", kNoPlugin},
    {"web_mqtt.*", kNoPlugin},
    {"web_amqp.*", kNoPlugin},
    {"web_dispatch.*", kNoPlugin},
    {"federation.*", kNoPlugin},
    {"shovel.*", kNoPlugin},
    {"trust_store.*", kNoPlugin},
    {"tracing.*", kNoPlugin},
    {"sharding.*", kNoPlugin},
    {"consistent_hash_exchange.*", kNoPlugin},
    {"auth_backends.*", kNoAuth},
    {"auth_mechanisms.*", kNoAuth},
    {"auth_ldap.*", kNoAuth},
    {"auth_http.*", kNoAuth},
    {"auth_oauth2.*", kNoAuth},
    {"auth_cache.*", kNoAuth},
    {"anonymous_login_user", kNoAuth},
    {"anonymous_login_pass", kNoAuth},
    {"password_hashing_module", "passwords are kept as salted SHA-256"},
    {"credential_validator.*", kNoAuth},
    {"auth_attempts.*", kNoAuth},
    {"default_user_tags.*", "the default user is an administrator"},
    {"default_permissions.*",
     "permissions come with a later version; every user may do everything"},
    {"default_users.*", kLater},
    {"default_policies.*", kLater},
    {"default_limits.*", kLater},
    {"default_queue_type", kLater},
    {"node.*", kNoCluster},
    {"load_definitions", kLater},
    {"definitions.*", kLater},
    {"vhost_max", kLater},
    {"vhost_restart_strategy", kErlang},
    {"consumer_timeout", kLater},
    {"consumer_max_per_channel", kLater},
    {"channel_max_per_node", kLater},
    {"connection_max", "the number of descriptors is the bound"},
    {"session_max_per_connection", kNoPlugin},
    {"link_max_per_session", kNoPlugin},
    {"initial_frame_max", "frames before tune are capped at 8192 bytes"},
    {"channel_operation_timeout", kErlang},
    {"channel_tick_interval", kErlang},
    {"message_interceptors.*", kLater},
    {"max_message_size.*", kLater},
    {"reverse_dns_lookups", "peers are shown by address"},
    {"proxy_protocol", kLater},
    {"product.*", "the product is Millrace"},
    {"motd_file", "there is no message of the day"},
    {"deprecated_features.permit.*",
     "everything that RabbitMQ deprecates and Millrace has is permitted"},
    {"feature_flags.*", "there are no feature flags"},
    {"permit_deprecated_features.*",
     "everything that RabbitMQ deprecates and Millrace has is permitted"},
    {"runtime_parameters.*", kLater},
    {"config_entry_decoder.*", "values are not encrypted"},
    {"systemd.*", "readiness goes to $NOTIFY_SOCKET by itself"},
    {"sysmon_handler.*", kErlang},
    {"track_auth_attempt_source", kNoAuth},
    {"return_auth_attempts", kNoAuth},
    {"halt_on_upgrade_failure", kErlang},
    {"delegate_count", kErlang},
    {"statistics.*", kNoManagement},
    {"log.*", kLogConsole},
    {"log", kLogConsole},
};

} // namespace

std::span<const IdleKey> idleKeys() {
    return kIdleKeys;
}

const IdleKey* findIdleKey(std::string_view key) {
    std::string_view rest;
    for (const IdleKey& known : kIdleKeys) {
        if (keyMatches(known.name, key, rest)) {
            return &known;
        }
    }
    return nullptr;
}

} // namespace millrace::server
