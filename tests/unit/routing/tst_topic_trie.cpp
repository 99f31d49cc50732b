// SPDX-License-Identifier: Apache-2.0
// Topic patterns match as RabbitMQ's, compared with a matcher so naive that it is plainly right.
#include "engine/topic_trie.h"

#include "support/random.h"
#include "support/seed.h"

#include <QElapsedTimer>
#include <QtTest>

#include <deque>
#include <set>

using namespace millrace::engine;

namespace {

using Words = std::vector<std::string>;

Words wordsOf(const std::string& key) {
    Words words;
    if (!key.empty()) {
        std::size_t from = 0;
        for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', from)) {
            words.push_back(key.substr(from, dot - from));
            from = dot + 1;
        }
        words.push_back(key.substr(from));
    }
    return words;
}

bool naive(const Words& pattern, std::size_t p, const Words& key, std::size_t k) {
    if (p == pattern.size()) {
        return k == key.size();
    }
    if (pattern[p] == "#") {
        return naive(pattern, p + 1, key, k) || (k < key.size() && naive(pattern, p, key, k + 1));
    }
    return k < key.size() && (pattern[p] == "*" || pattern[p] == key[k]) &&
           naive(pattern, p + 1, key, k + 1);
}

std::string randomKey(millrace::support::Random& random, const std::vector<std::string>& words) {
    std::string key;
    const std::uint64_t count = random.below(6);
    for (std::uint64_t i = 0; i < count; ++i) {
        key += (i == 0 ? "" : ".") + words[random.below(words.size())];
    }
    return key;
}

bool matchesAlone(const std::string& pattern, const std::string& key) {
    TopicTrie trie;
    Edge edge;
    edge.routingKey = pattern;
    trie.add(edge);
    int found = 0;
    trie.match(key, [&](Edge&) { ++found; });
    return found == 1;
}

} // namespace

class TopicTrieTest : public QObject {
    Q_OBJECT

  private slots:
    // As asked of RabbitMQ 4.0.5.
    void theVerifiedEdgeCases_data() {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QString>("key");
        QTest::addColumn<bool>("expected");
        const auto row = [](const char* pattern, const char* key, bool expected) {
            QTest::addRow("'%s' on '%s'", pattern, key) << pattern << key << expected;
        };
        row("#", "", true);
        row("*", "", false);
        row("", "", true);
        row("", "a", false);
        row("a.#", "a", true);
        row("a.#", "a.b.c", true);
        row("a.*", "a", false);
        row("*.b", "a.b", true);
        row("#.b", "b", true);
        row("a.#.b", "a.b", true);
        row("a.#.b", "a.x.y.b", true);
        row("a.*.b", "a..b", true);
        row("#.#", "a", true);
        row("#.#", "", true);
        row("*.*", "a.", true);
        row("*.*", ".", true);
        row("a.b", "a.b.", false);
        row("a.b.", "a.b.", true);
        row("#.a", "a.", false);
        row("a*", "ab", false);
        row("#.*", "a", true);
        row("#.*", "", false);
        row("*.#.*", "a", false);
        row("*.#.*", "a.b", true);
    }
    void theVerifiedEdgeCases() {
        QFETCH(QString, pattern);
        QFETCH(QString, key);
        QFETCH(bool, expected);
        QCOMPARE(matchesAlone(pattern.toStdString(), key.toStdString()), expected);
    }

    void randomPatternsAgreeWithTheNaiveMatcher() {
        const millrace::support::Seed seed(4711);
        millrace::support::Random random(seed.value());
        const std::vector<std::string> patternWords{"a", "b", "", "*", "#", "#", "aa"};
        const std::vector<std::string> keyWords{"a", "b", "", "aa", "c"};
        TopicTrie trie;
        std::deque<Edge> edges;
        std::vector<Edge*> in, out;
        for (int i = 0; i < 400; ++i) {
            edges.emplace_back().routingKey = randomKey(random, patternWords);
            out.push_back(&edges.back());
        }
        for (int step = 0; step < 3000; ++step) {
            auto& from = random.chance(50) ? in : out;
            if (!from.empty()) {
                std::swap(from[random.below(from.size())], from.back());
                Edge& edge = *from.back();
                from.pop_back();
                (&from == &in) ? trie.remove(edge) : trie.add(edge);
                (&from == &in ? out : in).push_back(&edge);
            }
            const std::string key = randomKey(random, keyWords);
            const Words words = wordsOf(key);
            std::multiset<Edge*> expected, found;
            for (Edge* edge : in) {
                if (naive(wordsOf(edge->routingKey), 0, words, 0)) {
                    expected.insert(edge);
                }
            }
            trie.match(key, [&](Edge& edge) { found.insert(&edge); });
            QVERIFY2(found == expected, key.c_str());
        }
        for (Edge* edge : in) {
            trie.remove(*edge);
        }
        QCOMPARE(trie.nodeCount(), std::size_t{1});
    }

    // Backtracking would take longer than the universe has.
    void manyHashesDoNotExplode() {
        TopicTrie trie;
        Edge edge;
        for (int i = 0; i < 60; ++i) {
            edge.routingKey += "#.a.";
        }
        edge.routingKey += "z";
        trie.add(edge);
        std::string key;
        for (int i = 0; i < 127; ++i) {
            key += "a.";
        }
        QElapsedTimer timer;
        timer.start();
        int found = 0;
        trie.match(key + "y", [&](Edge&) { ++found; });
        QCOMPARE(found, 0);
        trie.match(key + "z", [&](Edge&) { ++found; });
        QCOMPARE(found, 1);
        QVERIFY(timer.elapsed() < 1000);
    }
};

QTEST_APPLESS_MAIN(TopicTrieTest)
#include "tst_topic_trie.moc"
