// SPDX-License-Identifier: Apache-2.0
// Start, turns and orderly stop of a server.
#include "server/server.h"

#include "base/diagnostics.h"
#include "catalog/access.h"
#include "server/descriptor_shares.h"
#include "server/memory_limit.h"
#include "server/notify.h"

#include <malloc.h>

#include <algorithm>

namespace millrace::server {

namespace {

std::uint64_t bytesOf(const Share& share, std::uint64_t of) {
    return share.absolute ? *share.absolute
                          : static_cast<std::uint64_t>(share.relative * static_cast<double>(of));
}

} // namespace

const char* version() {
    return MILLRACE_VERSION;
}

base::Result<std::unique_ptr<Server>> Server::start(Options options, base::FileSystem& files,
                                                    const base::Clock& clock) {
    std::unique_ptr<Server> server(new Server(std::move(options), clock));
    if (auto built = server->build(files); !built) {
        return built.error();
    }
    return server;
}

Server::Server(Options options, const base::Clock& clock)
    : options_(std::move(options)), clock_(clock) {
    options_.session.productVersion = version();
}

base::Status Server::build(base::FileSystem& files) {
    auto lock = LockFile::acquire(options_.dataDirectory, version());
    if (!lock) {
        return lock.error();
    }
    lock_ = std::make_unique<LockFile>(std::move(*lock));
    const DescriptorShares descriptors = descriptorSharesOf(net::raiseDescriptorLimit());
    mostConnections_ = descriptors.connections;
    auto loop = net::EventLoop::create(options_.backend, clock_);
    if (!loop) {
        return loop.error();
    }
    loop_ = std::move(*loop);

    const std::uint64_t total = options_.totalMemory.value_or(availableMemory());
    const std::uint64_t watermark = bytesOf(options_.memoryWatermark, total);
    StorageOptions storage;
    storage.directory = options_.dataDirectory;
    storage.memoryBytes = watermark;
    storage.diskFreeLimit = bytesOf(options_.diskFreeLimit, total);
    storage.openSegments = descriptors.openSegments;
    storage.maxMessageSize = options_.session.maxMessageSize;
    storage.wake = [loopToWake = loop_.get()] { loopToWake->wake(); };
    auto opened = Storage::open(files, clock_, storage);
    if (!opened) {
        return opened.error();
    }
    storage_ = std::move(*opened);
    alarms_ = std::make_unique<Alarms>(watermark);
    outboxes_ = std::make_unique<session::OutboxMemory>(sharesOf(watermark).outboxes);
    environment_ = std::make_unique<session::Environment>(
        session::Environment{storage_->broker(), clock_, options_.session, alarms_->gate(),
                             *outboxes_, replies_, bodies_});
    peers_ = std::make_unique<Peers>(*loop_, *environment_);
    loop_->onWake([this] { storage_->harvest(); });
    loop_->onTurnEnd([this] { return endTurn(); });
    everyLook();
    everyPeerTick();
    if (auto created = createFirstUser(); !created) {
        return created;
    }
    return openListeners();
}

base::Status Server::createFirstUser() {
    engine::Broker& broker = storage_->broker();
    if (broker.hasUsers()) {
        return {};
    }
    auto hash = catalog::hashPassword(options_.defaultPassword);
    if (!hash) {
        return hash.error();
    }
    const base::LogIndex vhost = broker.putVhost({options_.defaultVhost}).visibleAt;
    const base::LogIndex user =
        broker.putUser({options_.defaultUser, *hash, {"administrator"}}).visibleAt;
    const base::LogIndex last = std::max(vhost, user);
    turnUntil(limits::kFinalCheckpoint, [&] { return broker.isVisible(last) || broker.stale(); });
    if (!broker.isVisible(last)) {
        return base::Error{base::ErrorCode::io,
                           "the first user could not be written to the log in " +
                               options_.dataDirectory};
    }
    return {};
}

base::Status Server::openListeners() {
    std::vector<std::string> opened;
    for (const ListenAddress& wanted : options_.listeners) {
        auto listener = net::Listener::open(
            *loop_, wanted.address,
            [this](net::Socket socket) { peers_->accept(std::move(socket)); },
            [this] { return peers_->size() < mostConnections_; });
        if (!listener && wanted.required) {
            base::Error error = listener.error();
            if (error.code == base::ErrorCode::exists) {
                error.text += "; stop the program that listens there (another broker?), or choose "
                              "an address with --listen or listeners.tcp.default";
            }
            return error;
        }
        if (!listener) {
            base::diagnose(base::Severity::info, listener.error().text + "; going on without it");
            continue;
        }
        listeners_.push_back(std::move(*listener));
    }
    return lock_->setListeners(addresses());
}

base::Status Server::stopOnSignals() {
    auto signals = Signals::open(*loop_, [this] { requestStop(); });
    if (!signals) {
        return signals.error();
    }
    signals_ = std::move(*signals);
    return {};
}

std::vector<std::string> Server::addresses() const {
    std::vector<std::string> addresses;
    for (const auto& listener : listeners_) {
        addresses.push_back("amqp://" + listener->address().text());
    }
    return addresses;
}

std::string Server::readyLine() const {
    std::string line = std::string("Millrace ") + version() + " ready:";
    for (const std::string& address : addresses()) {
        line += " " + address;
    }
    return line + " (data in " + options_.dataDirectory + ")";
}

ServerNumbers Server::numbers() const {
    return {peers_->size(), residentBytes_, loop_->longestTurn(),
            storage_->durableLog().statistics()};
}

void Server::run() {
    while (!stopping_.load()) {
        loop_->turn(std::chrono::milliseconds{-1});
    }
    stopOrderly();
}

void Server::requestStop() {
    stopping_.store(true);
    loop_->wake();
}

void Server::everyLook() {
    storage_->tick();
    residentBytes_ = residentMemory();
    if (alarms_->memoryIsLow()) {
        // What was freed may still lie in the allocator; only what the system has back counts.
        ::malloc_trim(0);
    }
    loop_->after(limits::kLookInterval, [this] { everyLook(); });
}

void Server::everyPeerTick() {
    peers_->tick();
    loop_->after(limits::kPeerTick, [this] { everyPeerTick(); });
}

bool Server::endTurn() {
    lookAtGate();
    return peers_->endTurn();
}

void Server::lookAtGate() {
    using Trouble = log::LocalLog::Trouble;
    const Trouble trouble = storage_->trouble();
    Pressure pressure;
    pressure.memoryBytes = residentBytes_;
    pressure.diskShort = trouble == Trouble::diskFull;
    pressure.logEnded = trouble == Trouble::stopped;
    pressure.logBehind = trouble == Trouble::slow || storage_->logIsBehind();
    if (alarms_->look(pressure)) {
        peers_->gateChanged();
    }
}

void Server::turnUntil(std::chrono::nanoseconds longest, const std::function<bool()>& done) {
    const std::chrono::nanoseconds end = clock_.now() + longest;
    while (!done() && clock_.now() < end) {
        loop_->turn(std::chrono::milliseconds{10});
    }
}

void Server::stopOrderly() {
    notifyServiceManager("STOPPING=1");
    base::diagnose(base::Severity::info, "stopping");
    listeners_.clear();
    peers_->forceCloseAll({base::ReplyCode::connectionForced,
                           "broker forced connection closure with reason 'shutdown'"});
    turnUntil(limits::kGoodbye, [this] { return peers_->size() == 0; });
    peers_->dropAll();
    turnUntil(limits::kFinalCheckpoint, [this] { return storage_->settled(); });
    storage_->stop();
    (void)lock_->setListeners({}).ok();
    base::diagnose(base::Severity::info, "stopped; everything is on disk");
}

Server::~Server() {
    signals_.reset();
    listeners_.clear();
    if (peers_) {
        peers_->dropAll();
    }
}

} // namespace millrace::server
