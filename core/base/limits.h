// SPDX-License-Identifier: Apache-2.0
// Every bound of Millrace with its reason. A bound that a configuration key can move is only the default here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millrace::limits {

using namespace std::chrono_literals;

// --- protocol (RabbitMQ 4.0.5's numbers, which its clients' tests rely on)
inline constexpr std::uint16_t kChannelMax = 2047;
inline constexpr std::uint32_t kFrameMax = 131072;
inline constexpr std::uint32_t kFrameMaxCap = 16 * 1024 * 1024; // of the key frame_max: a loop's read buffer has room for one such frame
inline constexpr std::uint32_t kFrameMin = 4096;
inline constexpr std::uint32_t kFrameMaxBeforeTune = 8192;
inline constexpr std::chrono::seconds kHeartbeat = 60s;
inline constexpr std::chrono::seconds kHandshakeTimeout = 10s;
inline constexpr std::chrono::seconds kCloseTimeout = 30s;   // how long a close-ok is waited for
inline constexpr std::uint64_t kMaxMessageSize = 16'777'216; // default of max_message_size
inline constexpr std::uint64_t kMaxMessageSizeCap = 536'870'912;
inline constexpr int kTableDepth = 32; // nesting of field tables: stops a recursion that input could drive

// --- log
inline constexpr std::size_t kRecordBytes = 64 * 1024;      // a record is closed here: one slab, one socket send
inline constexpr std::size_t kGroupBytes = 4 * 1024 * 1024; // what one fdatasync covers: keeps its p99 near the disk's own
inline constexpr std::uint64_t kSegmentBytes = 16 * 1024 * 1024; // two spares and the active one fit 64 MiB of an idle data directory
inline constexpr std::size_t kBodyPieceBytes = 512 * 1024;  // bodies above kWholeBodyBytes are stored and delivered in such pieces
inline constexpr std::size_t kWholeBodyBytes = 1024 * 1024;
inline constexpr std::size_t kUnreleasedBytes = 64 * 1024 * 1024; // appended and not yet synced; then publishers wait
inline constexpr std::chrono::milliseconds kLazySync = 5ms; // how long an entry that nobody waits for may stay unwritten
inline constexpr std::chrono::milliseconds kIdleMark = 100ms; // then an idle log records how far it is durable
inline constexpr std::uint64_t kReplayBytes = 512ull * 1024 * 1024; // checkpoint at the latest after this much log,
inline constexpr std::uint64_t kReplayEntries = 2'000'000;          // or this many entries: start-up stays under a second
inline constexpr std::size_t kOpenSegments = 256; // of each log, for reading; fewer where descriptors are few
inline constexpr std::chrono::milliseconds kDescriptorRetry = 100ms; // a reader without a descriptor tries again this much later

// --- checkpoint
inline constexpr std::uint64_t kPageSegmentBytes = 4 * 1024 * 1024; // one active and one spare: an idle data directory stays small
inline constexpr std::size_t kPageBytes = 1024 * 1024;              // a page at most; 4,096 objects of 256 B
inline constexpr std::size_t kPageWriteBytes = 1024 * 1024;   // between two syncs: the log's own sync beside it stays below 4 ms
inline constexpr std::size_t kPagesWaiting = 4 * 1024 * 1024; // put and not yet written; then CheckpointStore::ready() is false
inline constexpr std::chrono::milliseconds kPageSpaceRetry = 200ms; // how often a full disk is asked for a segment again

inline constexpr std::size_t kPagesAhead = 1024 * 1024; // pages encoded and not yet synced: what a round may keep in memory
inline constexpr std::chrono::seconds kCheckpointInterval = 10s; // with little to write: what a crash then replays
inline constexpr std::chrono::milliseconds kHurriedCheckpoint = 500ms; // on a short disk, where segments go only below a checkpoint

// --- event loop
inline constexpr std::size_t kReadBuffer = 64 * 1024;
inline constexpr int kReadsPerTurn = 16;
inline constexpr std::size_t kFlushBytes = 64 * 1024;
inline constexpr std::size_t kTurnBytes = 2 * 1024 * 1024;
inline constexpr std::chrono::milliseconds kTurnTime = 1ms;
inline constexpr std::chrono::milliseconds kPeerTick = 50ms; // a share of the peers is looked at for timeouts,
inline constexpr std::size_t kPeerTickShares = 4;            // so each one every 200 ms: 10,000 idle peers do not make one long turn
inline constexpr int kAcceptsPerTurn = 64;                   // a storm of connects must not hold up those who are connected
inline constexpr std::chrono::milliseconds kAcceptRest = 100ms; // out of descriptors: a listener looks again this much later
inline constexpr std::size_t kGatherParts = 64;              // spans of one send; the kernel copies their list each time
inline constexpr std::chrono::seconds kLinger = 2s;          // a last reply may be read for this long before the socket goes
inline constexpr std::chrono::milliseconds kCloseOkDelay = 1ms; // close-ok comes no sooner: aiormq loses a close that is answered within its own turn
inline constexpr std::size_t kOutboxBytes = 1024 * 1024;     // above, nothing is dispatched to that connection's consumers
inline constexpr std::size_t kCopyBodyBytes = 4 * 1024;      // larger bodies are referenced, not copied, into the outbox
inline constexpr std::size_t kParkedPublishBytes = 1024 * 1024; // publishes held of a blocked connection that still must be read for acks

// --- engine
inline constexpr std::uint32_t kDeliveredMarkStep = 1024; // messages between two logged delivered marks
inline constexpr std::size_t kChunkBytes = 2048;     // encoded runs of one chunk of a queue's index: decoding it costs 1-2 us
inline constexpr std::size_t kChunkBytesLeast = 128; // its first allocation; doubles
inline constexpr std::uint32_t kChunkMessages = 8192; // of one chunk: its bitmaps are at most 1 KiB each
inline constexpr std::uint32_t kDeliveryNotedSeconds = 1; // deliveries whose times differ by less share one entry of the ledger
inline constexpr std::chrono::microseconds kSliceTime{500}; // of engine time for work that is done in slices
inline constexpr std::chrono::milliseconds kConsumerTimeout = 30min; // RabbitMQ's consumer_timeout
inline constexpr std::chrono::seconds kConsumerTimeoutLook = 5s;     // how often it is looked at
inline constexpr std::size_t kReadAheadMessages = 512;         // a queue behind the recent memory fetches at most so many at once,
inline constexpr std::size_t kQueueReadAheadBytes = 256 * 1024; // aims at so many bytes (adapted from fetch to fetch),
inline constexpr std::size_t kReadAheadBytes = 32 * 1024 * 1024; // and all queues together keep no more than about this
inline constexpr std::size_t kUnackedBytes = 256 * 1024 * 1024; // of unacked deliveries of all channels, where the server says no other share of its memory;
inline constexpr std::size_t kUnackedLeastBytes = 4 * 1024 * 1024; // the server says an eighth of its memory, but never less than this;
inline constexpr std::uint64_t kTightUnacked = 1000; // above, a consumer with so many unacked (40 KiB at most) waits until it has acked some
inline constexpr std::size_t kTransactionBytes = 64 * 1024 * 1024; // uncommitted publishes of all transactions together: they lie in memory
inline constexpr std::size_t kSettleEntryBytes = 32 * 1024; // of one settle entry: it shares a record with its neighbours

// --- session
inline constexpr std::size_t kOutboxChunkBytes = 64 * 1024; // one socket send
inline constexpr std::size_t kOutboxesBytes = 64 * 1024 * 1024; // held by all outboxes of a loop, where the server says no other share of its memory;
inline constexpr std::size_t kOutboxesLeastBytes = 8 * 1024 * 1024; // the server says a quarter of its memory, but never less than this;
inline constexpr std::size_t kTightOutboxBytes = 16 * 1024; // above, a peer that reads gets this much a turn, one that is behind gets nothing
inline constexpr std::size_t kSpareChunks = 64;             // of a loop, 4 MiB: what a busy turn fills again and again
inline constexpr std::uint32_t kUnlimitedFrame = 16 * 1024 * 1024; // where server and client agree on no frame-max: a frame must fit in memory
inline constexpr std::size_t kReplyBytes = 4 * 1024 * 1024; // unread output above which no further command is taken from a peer
inline constexpr std::size_t kAssemblyBytes = 32 * 1024 * 1024; // of bodies being put together, all connections: half of what may lie above the memory limit
inline constexpr std::size_t kFreeBodyBytes = 16 * 1024; // bodies up to this are not counted there; larger ones go to the log in such pieces when it is used up
inline constexpr std::chrono::seconds kSilentCloseDelay = 3s; // failed logins and broken frames: slows guessing, lets the close arrive

// --- catalog
inline constexpr std::chrono::milliseconds kCatalogBusy = 2s; // how long another process, e.g. a backup, may hold the catalog file

// --- server
inline constexpr std::chrono::milliseconds kLookInterval = 100ms; // memory, disk and logs are looked at this often
inline constexpr std::size_t kFixedDescriptors = 80; // of an idle server (17), its spares and files under way; not for connections
inline constexpr std::chrono::seconds kCatalogRetry = 1s;    // after a failed write of the catalog
inline constexpr std::chrono::seconds kGoodbye = 3s;         // at an orderly stop: for clients to answer connection.close
inline constexpr std::chrono::seconds kFinalCheckpoint = 30s; // at an orderly stop; without it the next start replays the log

} // namespace millrace::limits
