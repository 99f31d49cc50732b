// SPDX-License-Identifier: Apache-2.0
// The method structs against the table of the protocol, and decoding: exact, without allocation,
// whatever is cut off.
#include "wire/amqp/methods.h"

#include "unit/wire/random_method.h"
#include "wire/amqp/writer.h"

#include <QFile>
#include <QtTest>

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>

namespace {
std::atomic<std::uint64_t> allocations{0};
}

void* operator new(std::size_t size) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* memory = std::malloc(size)) {
        return memory;
    }
    std::abort();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

using namespace millrace;
using namespace millrace::wire;
using namespace millrace::wire::amqp;

namespace {

QByteArray nameOf(const Octet&) {
    return "octet";
}
QByteArray nameOf(const Short&) {
    return "short";
}
QByteArray nameOf(const Long&) {
    return "long";
}
QByteArray nameOf(const LongLong&) {
    return "longlong";
}
QByteArray nameOf(const Bit&) {
    return "bit";
}
QByteArray nameOf(const ShortStr&) {
    return "shortstr";
}
QByteArray nameOf(const LongStr&) {
    return "longstr";
}
QByteArray nameOf(const Table&) {
    return "table";
}

using Rows = std::map<QByteArray, QByteArray>; // "class.method" -> field types

template <typename List> Rows rowsOf() {
    Rows rows;
    List::each([&rows]<typename M>() {
        QByteArrayList types;
        const M method{};
        eachField(method, [&types](const auto& field) { types.append(nameOf(field)); });
        const QByteArray id =
            QByteArray::number(M::id.classId) + '.' + QByteArray::number(M::id.methodId);
        rows[id] = types.join(' ');
    });
    return rows;
}

// Rows of the file that `sender` ('c' or 's') may send.
Rows rowsOfFile(char sender) {
    Rows rows;
    QFile file(QStringLiteral(AMQP_METHODS_TSV));
    if (!file.open(QIODevice::ReadOnly)) {
        return rows;
    }
    while (!file.atEnd()) {
        const QByteArrayList columns = file.readLine().chopped(1).split('\t');
        if (columns.size() == 5 && (columns[2][0] == sender || columns[2] == "b")) {
            rows[columns[0] + '.' + columns[1]] = columns[4];
        }
    }
    return rows;
}

// Writes every method it is given again.
struct Rewriter {
    std::string out;
    template <typename M> void on(const M& method) {
        out.clear();
        StringSink sink(out);
        writeMethod(sink, 7, method);
    }
};

struct Counter {
    int calls = 0;
    template <typename M> void on(const M&) { ++calls; }
};

template <typename M> std::string payloadOf(const M& method) {
    std::string frame;
    StringSink sink(frame);
    writeMethod(sink, 7, method);
    return frame.substr(kFrameHead, frame.size() - kFrameOverhead);
}

template <typename List> void roundTripAll(support::Random& random) {
    List::each([&random]<typename M>() {
        RandomMethod maker(random);
        const std::string payload = payloadOf(maker.make<M>());
        Rewriter rewriter;
        QVERIFY(List::dispatch(base::bytesOf(payload), rewriter) == Dispatched::handled);
        QVERIFY(rewriter.out.substr(kFrameHead, rewriter.out.size() - kFrameOverhead) == payload);
    });
}

} // namespace

class MethodsTest : public QObject {
    Q_OBJECT

  private slots:
    void theStructsAreTheTableOfTheProtocol() {
        const Rows fromClients = rowsOfFile('c');
        const Rows fromServers = rowsOfFile('s');
        QCOMPARE(fromClients.size(), std::size_t{37});
        QCOMPARE(fromServers.size(), std::size_t{39});
        QCOMPARE(ServerMethods::kSize, fromClients.size());
        QCOMPARE(ClientMethods::kSize, fromServers.size());
        for (const auto& [id, types] : fromClients) {
            QCOMPARE(id + ": " + rowsOf<ServerMethods>()[id], id + ": " + types);
        }
        for (const auto& [id, types] : fromServers) {
            QCOMPARE(id + ": " + rowsOf<ClientMethods>()[id], id + ": " + types);
        }
    }

    void whatIsWrittenIsRead() {
        support::Seed seed(0xA091);
        support::Random random(seed.value());
        for (int round = 0; round < 200; ++round) {
            roundTripAll<ServerMethods>(random);
            roundTripAll<ClientMethods>(random);
        }
    }

    void aMethodCutAnywhereOrWithMoreBehindItIsMalformed() {
        support::Seed seed(0xA092);
        support::Random random(seed.value());
        RandomMethod maker(random);
        ServerMethods::each([&maker]<typename M>() {
            const std::string payload = payloadOf(maker.make<M>());
            Counter counter;
            for (std::size_t size = 0; size < payload.size(); ++size) {
                const auto cut = base::bytesOf(payload).first(size);
                QVERIFY(ServerMethods::dispatch(cut, counter) == Dispatched::malformed);
            }
            const std::string more = payload + '\0';
            QVERIFY(ServerMethods::dispatch(base::bytesOf(more), counter) == Dispatched::malformed);
            QCOMPARE(counter.calls, 0);
        });
    }

    void methodsOfTheOtherSideAndNumbersOfNobodyAreUnknown() {
        Counter counter;
        const std::string deliver = payloadOf(BasicDeliver{"tag", 1, false, "", "key"});
        QVERIFY(ServerMethods::dispatch(base::bytesOf(deliver), counter) == Dispatched::unknown);
        for (const std::string_view ids : {"\0\x63\0\x0a", "\0\x3c\0\x63", "\0\x28\0\x29"}) {
            const std::string raw(ids.data(), 4);
            QVERIFY(ClientMethods::dispatch(base::bytesOf(raw), counter) == Dispatched::unknown);
        }
        QCOMPARE(counter.calls, 0);
    }

    void theIdsAreToldWhereTheyAre() {
        const std::string payload = payloadOf(BasicNack{});
        QVERIFY((methodIdOf(base::bytesOf(payload)) == MethodId{60, 120}));
        QVERIFY((methodIdOf(base::bytesOf("\x01\x02\x03")) == MethodId{0, 0}));
    }

    void decodingAllocatesNothing() {
        support::Seed seed(0xA093);
        support::Random random(seed.value());
        RandomMethod maker(random);
        std::vector<std::string> payloads;
        ServerMethods::each([&]<typename M>() { payloads.push_back(payloadOf(maker.make<M>())); });
        Counter counter;
        const std::uint64_t before = allocations.load();
        for (const std::string& payload : payloads) {
            ServerMethods::dispatch(base::bytesOf(payload), counter);
        }
        QCOMPARE(allocations.load() - before, std::uint64_t{0});
        QCOMPARE(counter.calls, static_cast<int>(payloads.size()));
    }

    void noiseBehindKnownIdsNeverReadsOutsideThePayload() {
        support::Seed seed(0xA094);
        support::Random random(seed.value());
        for (int round = 0; round < 300; ++round) {
            ServerMethods::each([&random]<typename M>() {
                // Exactly as large as it is: a sanitizer sees the first byte read behind it.
                std::vector<Byte> payload(4 + random.below(60));
                for (Byte& byte : payload) {
                    byte = static_cast<Byte>(random.chance(50) ? random.below(8) : random.next());
                }
                base::storeBig(payload.data(), M::id.classId);
                base::storeBig(payload.data() + 2, M::id.methodId);
                Counter counter;
                const Dispatched result = ServerMethods::dispatch(payload, counter);
                QVERIFY(result != Dispatched::unknown);
                QCOMPARE(counter.calls, result == Dispatched::handled ? 1 : 0);
            });
        }
    }
};

QTEST_APPLESS_MAIN(MethodsTest)
#include "tst_methods.moc"
