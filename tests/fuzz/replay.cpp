// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over every file of its corpus and over seeded mutations of each, under any
// compiler. Usage: tst_fuzz_NAME FOLDER [MUTATIONS PER FILE]; MILLRACE_SEED repeats a failed run.
#include "fuzz/target.h"
#include "support/seed.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using millrace::support::Random;

constexpr std::size_t kLargestInput = 4096;

struct Input {
    std::string name;
    std::string bytes;
};

std::vector<Input> readCorpus(const std::filesystem::path& folder) {
    std::vector<Input> corpus;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(entry.path(), std::ios::binary);
        corpus.push_back({entry.path().filename().string(),
                          {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}});
    }
    std::sort(corpus.begin(), corpus.end(),
              [](const Input& a, const Input& b) { return a.name < b.name; });
    return corpus;
}

// An allocation of exactly the input's size, so that a sanitizer sees the first byte read behind
// it.
void run(const std::string& bytes) {
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void mutateOnce(std::string& bytes, const std::string& other, Random& random) {
    static constexpr unsigned char kTelling[] = {0, 1, 0x7F, 0x80, 0xFF, 0xCE, 'S', 'F', 'A', 'V'};
    const std::size_t at = random.below(bytes.size() + 1);
    const std::size_t length = random.below(std::min<std::size_t>(bytes.size() - at, 16) + 1);
    switch (random.below(6)) {
    case 0:
        if (at < bytes.size()) {
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        }
        break;
    case 1:
        if (at < bytes.size()) {
            bytes[at] = static_cast<char>(kTelling[random.below(sizeof kTelling)]);
        }
        break;
    case 2:
        bytes.erase(at, length);
        break;
    case 3:
        bytes.insert(at, random.bytes(random.below(9)));
        break;
    case 4:
        bytes.insert(at, bytes.substr(at, length));
        break;
    default:
        bytes = bytes.substr(0, at) + other.substr(random.below(other.size() + 1));
        break;
    }
    bytes.resize(std::min(bytes.size(), kLargestInput));
}

} // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        std::fprintf(stderr, "usage: %s FOLDER [MUTATIONS PER FILE]\n", arguments[0]);
        return 64;
    }
    const std::vector<Input> corpus = readCorpus(arguments[1]);
    if (corpus.empty()) {
        std::fprintf(stderr, "%s has no files\n", arguments[1]);
        return 1;
    }
    const int mutations = count > 2 ? std::atoi(arguments[2]) : 2000;
    const std::uint64_t seed = millrace::support::seedOr(0xF0220);
    std::printf("MILLRACE_SEED=%llu, %zu files, %d mutations of each\n",
                static_cast<unsigned long long>(seed), corpus.size(), mutations);
    std::fflush(stdout);
    Random random(seed);
    for (const Input& input : corpus) {
        std::printf("%s\n", input.name.c_str());
        std::fflush(stdout); // the last line names the file if the target ends the program
        run(input.bytes);
        for (int round = 0; round < mutations; ++round) {
            std::string bytes = input.bytes;
            for (std::uint64_t steps = random.between(1, 4); steps > 0; --steps) {
                mutateOnce(bytes, corpus[random.below(corpus.size())].bytes, random);
            }
            run(bytes);
        }
    }
    return 0;
}
