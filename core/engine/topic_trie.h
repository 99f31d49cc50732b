// SPDX-License-Identifier: Apache-2.0
// The bindings of a topic exchange as a trie of words.
//
// Rules (RabbitMQ's): words are what stands between dots; `*` is exactly one word, which may be
// empty; `#` is any number of words, also none. The empty key has no words: `#` and the empty
// pattern match it, `*` does not. A lookup walks all patterns at once, word by word, and looks at
// each node at most once a word: O(words x nodes reached), whatever the number of `#` in a row. It
// allocates nothing once its scratch space has grown. Lives on: the engine's loop.
#pragma once

#include "engine/hash_index.h"
#include "engine/routing_edge.h"
#include "engine/slab.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engine {

class TopicTrie {
  public:
    TopicTrie();

    // The pattern is the edge's routing key.
    void add(Edge& edge);
    void remove(Edge& edge);

    // Calls visit(Edge&) once for each edge whose pattern matches. visit must not change the trie.
    template <typename Visit> void match(std::string_view key, const Visit& visit) {
        walk(key);
        for (const std::uint32_t number : reached_) {
            for (Edge* edge : nodes_[number].edges) {
                visit(*edge);
            }
        }
    }
    std::size_t nodeCount() const { return nodes_.size(); }

  private:
    struct Node {
        std::string word;
        std::uint32_t parent = 0;
        std::uint32_t star = 0;     // child for `*`; 0 is the root, which is nobody's child: none
        std::uint32_t hash = 0;     // child for `#`
        std::uint32_t children = 0; // of all kinds
        bool many = false;          // is itself a `#`: stays reached whatever the next word is
        std::uint64_t stamp = 0;    // the step of the walk that reached it
        MatchGroup edges;
    };
    static constexpr std::uint32_t kRoot = 0;

    std::uint32_t childFor(std::uint32_t parent, std::string_view word) const;
    std::uint32_t addChild(std::uint32_t parent, std::string_view word);
    void prune(std::uint32_t number);
    // Fills reached_ with the nodes that the whole key leads to.
    void walk(std::string_view key);
    void reach(std::uint32_t number);
    std::uint32_t wordChild(std::uint32_t parent, std::string_view word, std::uint64_t hash) const;
    static std::uint64_t hashOf(std::string_view word) {
        return std::hash<std::string_view>{}(word);
    }
    static std::uint64_t edgeHash(std::uint32_t parent, std::uint64_t wordHash) {
        return wordHash ^ (std::uint64_t{parent} * 0xD6E8FEB86659FD93ULL);
    }

    Slab<Node> nodes_;
    HashIndex words_; // (parent, word) to child, for plain words
    std::uint64_t step_ = 0;
    std::vector<std::uint32_t> reached_;
    std::vector<std::uint32_t> before_;
};

} // namespace millrace::engine
