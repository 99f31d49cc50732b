// SPDX-License-Identifier: Apache-2.0
// What the durable log is told, entry by entry: the oracle learns which record says what.
#include "model/broker_world.h"

#include "catalog/change_codec.h"
#include "engine/entry.h"

namespace millrace::model {

using engine::EntryKind;

namespace {

std::string keyOf(const catalog::Object& object) {
    if (const auto* queue = std::get_if<catalog::QueueSpec>(&object)) {
        return "queue " + queue->name;
    }
    if (const auto* exchange = std::get_if<catalog::ExchangeSpec>(&object)) {
        return "exchange " + exchange->name;
    }
    if (const auto* binding = std::get_if<catalog::BindingSpec>(&object)) {
        return "binding " + binding->source + " " + binding->destination;
    }
    return {};
}

} // namespace

void BrokerWorld::appended(const log::Entry& entry, const base::MessageId& id) {
    std::string payload;
    for (const base::Bytes part : entry.parts) {
        payload.append(base::textOf(part));
    }
    const base::Bytes bytes = base::bytesOf(payload);
    switch (static_cast<EntryKind>(entry.kind)) {
    case EntryKind::message:
    case EntryKind::largeMessage: {
        const auto message = engine::readMessage(bytes);
        const std::uint64_t body = message ? bodyOf(message->properties) : 0;
        bodies_[id] = body;
        logged_["message " + std::to_string(body)] = id.record;
        return;
    }
    case EntryKind::settle:
        return settlesLogged(bytes, id.record);
    case EntryKind::txCommit:
        logged_["commit"] = id.record;
        return settlesLogged(bytes.subspan(4), id.record);
    case EntryKind::catalog:
        return catalogLogged(bytes, id.record);
    case EntryKind::purge:
        if (const auto purge = engine::readPurge(bytes)) {
            logged_["purge " + queueNames_[purge->queue]] = id.record;
        }
        return;
    case EntryKind::bodyPiece:
    case EntryKind::deliveredMark:
        return;
    }
}

void BrokerWorld::settlesLogged(base::Bytes blocks, LogIndex record) {
    const bool whole = engine::readSettles(blocks, [&](base::QueueId id, const engine::Run& run) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            oracle.settled(queueNames_[id], bodies_[run.at(i)], record);
        }
    });
    if (!whole) {
        fail("settles in record " + std::to_string(record) + " are not well formed");
    }
}

void BrokerWorld::catalogLogged(base::Bytes payload, LogIndex record) {
    base::ByteReader in(payload);
    while (in.ok() && !in.atEnd()) {
        const auto change = catalog::decodeChange(base::bytesOf(base::readText32(in)));
        if (!change.ok()) {
            fail("a change in record " + std::to_string(record) + " is not well formed");
            return;
        }
        const auto* const queue = std::get_if<catalog::QueueSpec>(&change.value().object);
        if (queue && change.value().put) {
            queueNames_[queue->id] = queue->name;
        }
        if (const std::string key = keyOf(change.value().object); !key.empty()) {
            logged_[key] = record;
        }
    }
}

LogIndex BrokerWorld::loggedAt(const std::string& key, bool must) {
    const auto at = logged_.find(key);
    if (at == logged_.end()) {
        if (must) {
            fail(key + " is not in the log");
        }
        return 0;
    }
    const LogIndex record = at->second;
    logged_.erase(at);
    if (!must) {
        fail(key + " is in the log in vain");
    }
    return record;
}

void BrokerWorld::checkAllExpected() {
    for (const auto& [key, record] : logged_) {
        fail("record " + std::to_string(record) + " says something of " + key +
             ", which nobody did");
    }
    logged_.clear();
    if (oracle.settlesNotCaused() > 0) {
        fail("the log settles what nobody settled");
    }
}

} // namespace millrace::model
