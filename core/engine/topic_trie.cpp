// SPDX-License-Identifier: Apache-2.0
#include "engine/topic_trie.h"

#include <utility>

namespace millrace::engine {
namespace {

// Calls each(word) for the words of a key; the empty key has none.
template <typename Each> void eachWord(std::string_view key, const Each& each) {
    if (key.empty()) {
        return;
    }
    for (std::size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
        each(key.substr(0, dot));
        key.remove_prefix(dot + 1);
    }
    each(key);
}

} // namespace

TopicTrie::TopicTrie() {
    MILLRACE_CHECK(nodes_.add() == kRoot);
}

std::uint32_t TopicTrie::wordChild(std::uint32_t parent, std::string_view word,
                                   std::uint64_t hash) const {
    return words_.find(edgeHash(parent, hash), [&](std::uint32_t number) {
        const Node& node = nodes_[number];
        return node.parent == parent && node.word == word;
    });
}

// kNone if there is no such child.
std::uint32_t TopicTrie::childFor(std::uint32_t parent, std::string_view word) const {
    const Node& node = nodes_[parent];
    if (word == "*") {
        return node.star == 0 ? HashIndex::kNone : node.star;
    }
    if (word == "#") {
        return node.hash == 0 ? HashIndex::kNone : node.hash;
    }
    return wordChild(parent, word, hashOf(word));
}

std::uint32_t TopicTrie::addChild(std::uint32_t parent, std::string_view word) {
    const std::uint32_t number = nodes_.add();
    Node& node = nodes_[number];
    node.word = word;
    node.parent = parent;
    node.many = word == "#";
    if (word == "*") {
        nodes_[parent].star = number;
    } else if (word == "#") {
        nodes_[parent].hash = number;
    } else {
        words_.insert(edgeHash(parent, hashOf(word)), number);
    }
    ++nodes_[parent].children;
    return number;
}

void TopicTrie::add(Edge& edge) {
    std::uint32_t at = kRoot;
    eachWord(edge.routingKey, [&](std::string_view word) {
        const std::uint32_t child = childFor(at, word);
        at = child == HashIndex::kNone ? addChild(at, word) : child;
    });
    nodes_[at].edges.add(edge);
}

void TopicTrie::remove(Edge& edge) {
    std::uint32_t at = kRoot;
    eachWord(edge.routingKey, [&](std::string_view word) {
        at = childFor(at, word);
        MILLRACE_CHECK(at != HashIndex::kNone);
    });
    nodes_[at].edges.remove(edge);
    prune(at);
}

// Removes the node and its ancestors as far as nothing hangs on them.
void TopicTrie::prune(std::uint32_t number) {
    while (number != kRoot && nodes_[number].children == 0 && nodes_[number].edges.empty()) {
        Node& node = nodes_[number];
        Node& parent = nodes_[node.parent];
        if (parent.star == number) {
            parent.star = 0;
        } else if (parent.hash == number) {
            parent.hash = 0;
        } else {
            words_.erase(edgeHash(node.parent, hashOf(node.word)), number);
        }
        --parent.children;
        nodes_.remove(std::exchange(number, node.parent));
    }
}

void TopicTrie::reach(std::uint32_t number) {
    // A `#` below is reached as well, since it may stand for no word at all; so may a `#` below
    // that.
    for (;;) {
        Node& node = nodes_[number];
        if (node.stamp == step_) {
            return;
        }
        node.stamp = step_;
        reached_.push_back(number);
        if (node.hash == 0) {
            return;
        }
        number = node.hash;
    }
}

void TopicTrie::walk(std::string_view key) {
    ++step_;
    reached_.clear();
    reach(kRoot);
    eachWord(key, [this](std::string_view word) {
        if (reached_.empty()) {
            return;
        }
        ++step_;
        before_.swap(reached_);
        reached_.clear();
        const std::uint64_t hash = hashOf(word);
        for (const std::uint32_t number : before_) {
            const Node& node = nodes_[number];
            if (node.many) {
                reach(number);
            }
            if (node.star != 0) {
                reach(node.star);
            }
            if (const std::uint32_t child = wordChild(number, word, hash);
                child != HashIndex::kNone) {
                reach(child);
            }
        }
    });
}

} // namespace millrace::engine
