// A command on its way: encoded when it is sent, completed by its reply, its deadline or its
// caller, whichever is first.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/error.hpp>
#include "resp/writer.hpp"
#include "stores/redis/client/bundled_answers.hpp"
#include "stores/redis/client/reply.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/scripts/script.hpp"
#include "stores/redis/timers.hpp"

namespace herdlock::redis {

/// Builds commands argument by argument. Text is not copied until end().
class command_writer {
 public:
  virtual ~command_writer() = default;

  void begin(std::string_view verb) {
    arguments_.clear();
    side_keys_ = numbers_ = 0;
    arguments_.push_back(verb);
  }
  void begin(script const& what, script_form form) {
    begin_keys(what, form);
    arguments_.back() = what.key_count;
  }
  /// A script whose keys are counted: everything that is added up to end_keys() is one.
  void begin_keys(script const& what, script_form form) {
    begin(form == script_form::by_hash ? "EVALSHA" : "EVAL");
    add(form == script_form::by_hash ? what.sha() : what.source);
    add("0");
  }
  void end_keys() {
    constexpr std::size_t count_at = 2;
    auto const keys = arguments_.size() - count_at - 1;
    add_number(static_cast<std::int64_t>(keys));
    arguments_[count_at] = arguments_.back();
    arguments_.pop_back();
  }
  void add(std::string_view text) { arguments_.push_back(text); }
  void add_number(std::int64_t value) {
    if (numbers_ == number_space_.size()) number_space_.emplace_back();
    auto& digits = number_space_[numbers_++];
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    arguments_.emplace_back(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  void add_side_key(std::string_view key, std::string_view role) {
    if (side_keys_ == side_key_space_.size()) side_key_space_.emplace_back();
    auto& text = side_key_space_[side_keys_++];
    side_key(text, key, role);
    arguments_.push_back(text);
  }
  void end() { push(arguments_); }
  /// A whole request that is no script.
  void request(std::span<std::string_view const> words) { push(words); }
  void request(std::initializer_list<std::string_view> words) {
    push({words.begin(), words.size()});
  }

 private:
  virtual void push(std::span<std::string_view const> arguments) = 0;

  boost::container::small_vector<std::string_view, 16> arguments_;
  // What is in them stays where it is while they grow.
  std::deque<std::string> side_key_space_;
  std::deque<std::array<char, 24>> number_space_;
  std::size_t side_keys_ = 0;
  std::size_t numbers_ = 0;
};

class connection;

/// `now`: the handler may run inside the call (event handlers); `later`: it is posted.
enum class completion { now, later };

/// Exactly one server command with exactly one reply. `open()` from its start until its handler
/// has been called; after that it may still exist, until the connection has no use for it.
class command : public steady_shared_timer::entry {
 public:
  ~command() override = default;

  virtual void encode(command_writer& out, script_form form) const = 0;
  /// Completes the handler from the reply; not NOSCRIPT.
  virtual void complete(reply const& answer) = 0;
  /// Completes the handler with a failure. The text gets the command's subject put in front.
  virtual void fail(failure const& why, completion when) = 0;
  virtual bool open() const = 0;
  /// By which a cluster finds the node: the caller's name, whose slot all its side keys share.
  /// Empty: it is for the very node that it was given to.
  virtual std::string_view key() const { return {}; }
  /// What scripts/many.lua calls the step that this command's script does; empty: it has none.
  virtual std::string_view step_in_bundle() const { return {}; }
  /// What has to go out right in front of it, each time that it is sent: a raw_command, or nothing.
  virtual std::unique_ptr<command> in_front() const { return nullptr; }
  /// What it fails with when its slot is being moved for as long as its time is.
  virtual errc in_moving_slot() const { return errc::unavailable; }
  /// Its reply came, though it is not open.
  virtual void overhear(reply const&) {}

  /// Its deadline is in the timer queue of the connection that has it, as long as it is open.
  void on_due(time_point now) final;

  std::chrono::steady_clock::time_point deadline;
  std::uint64_t reads_at_send = 0;  ///< what the connection had read when this was sent
  script_form form = script_form::by_hash;
  bool sent = false;
  bool alone = false;  ///< not to be bundled

  // In a cluster:
  connection* carrier = nullptr;  ///< which has it while it is open; null: it waits for its turn
  bool short_deadline = false;    ///< submitted with less than half of its time left
  bool asking = false;            ///< ASKING goes out right in front of it
  std::uint8_t hops = 0;          ///< redirections in a row
  std::uint8_t tries = 0;         ///< pauses so far, 255 for more
};

using command_ptr = std::unique_ptr<command>;

/// Commands that travel together. Used again for others when all are answered.
class batch final : public command_writer {
 public:
  std::vector<command_ptr> commands;
  std::vector<reply> replies;  ///< one for each request, or more from an earlier use
  bundled_answers answers;
  std::size_t told = 0;  ///< commands that were told their answer

  void reset() {
    commands.clear();
    answers.clear();
    told = requests_ = 0;
    if (bytes_.capacity() > keep_bytes) std::string().swap(bytes_);
    bytes_.clear();
  }

  reply const& answer_to(std::size_t i) { return answers.answer_to(i, replies); }

  /// What is sent, as the server reads it.
  std::string_view bytes() const { return bytes_; }
  /// Before it is sent. How many there will be.
  std::size_t prepare_replies() {
    if (replies.size() < requests_) replies.resize(requests_);
    for (std::size_t i = 0; i < requests_; ++i) replies[i].clear();
    return requests_;
  }

 private:
  static constexpr std::size_t keep_bytes = 64 * 1024;

  void push(std::span<std::string_view const> arguments) override {
    resp::write_request(bytes_, arguments);
    ++requests_;
  }

  std::string bytes_;
  std::size_t requests_ = 0;
};

using batch_ptr = std::unique_ptr<batch>;
inline batch_ptr make_batch() { return std::make_unique<batch>(); }

}  // namespace herdlock::redis
