#include "stores/redis/near/tracking.hpp"

#include <algorithm>

#include "algo/near_machine.hpp"
#include "stores/redis/client/operation.hpp"

namespace herdlock::redis {
namespace {

constexpr int oldest_version = 7;

struct tracking_message {
  using value_type = void;
  static constexpr std::string_view verb = "ask for the changes of keys, with";
  static constexpr bool for_this_server = true;

  std::string_view name() const { return "CLIENT TRACKING"; }
  void encode(command_writer& out, script_form) const {
    out.request(algo::near_tracking_command());
  }
  result<void> parse(reply const&) const { return boost::system::in_place_value; }
};

}  // namespace

// One connection of the store: over and over up, asked, down.
class tracking::tracked_wire final : public connection_listener,
                                     public std::enable_shared_from_this<tracking::tracked_wire> {
 public:
  tracked_wire(std::weak_ptr<tracking> home, std::weak_ptr<connection> wire)
      : home_(std::move(home)), wire_(std::move(wire)) {}

  std::shared_ptr<connection> wire() const { return wire_.lock(); }
  link_id id() const { return id_; }
  bool is_settled() const { return state_ == state::tracked || state_ == state::refused; }

  /// Asks the server to push, if the connection is up and it was not asked yet.
  void begin() {
    auto const home = home_.lock();
    auto const to = wire();
    if (!home || !to || !to->up() || state_ != state::idle) return;
    id_ = link_id{++home->last_link_};
    asked_ = clock::now();
    state_ = state::asked;
    if (to->facts() && is_older_than(*to->facts(), oldest_version, 0)) {
      return refuse(to->how().failed(errc::not_supported,
                                     "Redis " + to->facts()->version +
                                         " can put a push into the middle of a reply; the near "
                                         "cache needs 7.0 or newer"));
    }
    operation<tracking_message>::start(*to, {},
                                       [weak = weak_from_this(), which = id_](result<void> said) {
                                         auto const self = weak.lock();
                                         if (self && self->id_ == which)
                                           self->on_answer(std::move(said));
                                       });
  }

  void refuse(failure why) {
    if (state_ == state::refused) return;
    if (state_ == state::tracked) tell([this](auto& to) { to.on_link_down(id_); });
    state_ = state::refused;
    refusal_ = std::move(why);
    tell([this](auto& to) { tell_state(to); });
  }
  /// It is not up any more, or its server is not the one any more that keys are read from.
  void end() { on_connection_down(); }

  std::string key;  // that was read over it last

  void tell_state(tracking_listener& to) const {
    if (state_ == state::tracked) to.on_link_up(id_, asked_);
    if (state_ == state::refused) to.on_link_refused(id_, asked_, refusal_);
  }

 private:
  enum class state { idle, asked, tracked, refused };

  void on_answer(result<void> said) {
    if (state_ != state::asked) return;
    if (said.has_error()) {
      if (!may_pass(said.error())) return refuse(std::move(said).error());
      state_ = state::idle;  // asked again soon
      return;
    }
    state_ = state::tracked;
    tell([this](auto& to) { tell_state(to); });
  }
  static bool may_pass(failure const& why) {
    return why == errc::timed_out || why == errc::overloaded || why == errc::unavailable ||
           why == errc::canceled;
  }

  void on_connection_up() override {
    auto const home = home_.lock();
    if (home && home->somebody_listens()) begin();
  }
  void on_connection_down() override {
    bool const told = is_settled();
    state_ = state::idle;
    if (told) tell([this](auto& to) { to.on_link_down(id_); });
  }

  void on_message(reply const& message) override {
    if (state_ != state::tracked || message.text(1) != "invalidate") return;
    try {
      tell_push(message);
    } catch (...) {  // no memory: somebody may not have heard of it
      if (auto const to = wire()) to->leave({make_error_code(errc::unavailable), {}});
      throw;
    }
  }
  void tell_push(reply const& message) {
    if (message.kind(2) != reply_kind::list || message.too_large()) {
      return tell([this](auto& to) { to.on_all_changed(id_); });
    }
    std::vector<std::string_view> keys;
    for (std::size_t i = 3; i < message.nodes(); ++i) keys.push_back(message.text(i));
    tell([&](auto& to) { to.on_changed(id_, keys); });
  }

  template <class F>
  void tell(F what) const {
    if (auto const home = home_.lock()) home->tell(what);
  }

  std::weak_ptr<tracking> home_;
  std::weak_ptr<connection> wire_;
  link_id id_{};
  clock::time_point asked_{};
  state state_ = state::idle;
  failure refusal_;
};

tracking::tracking() = default;
tracking::~tracking() = default;

void tracking::add(std::shared_ptr<connection> const& wire) {
  std::erase_if(links_, [](auto const& one) { return !one->wire(); });
  links_.push_back(std::make_shared<tracked_wire>(weak_from_this(), wire));
  wire->attach(links_.back());
}

bool tracking::somebody_listens() const {
  return std::ranges::any_of(listeners_, [](auto const& one) { return !one.expired(); });
}

void tracking::listen(std::weak_ptr<tracking_listener> to) {
  // In the place of one that has gone, and without moving the others: they may be being told.
  auto const free = std::ranges::find_if(listeners_, [](auto const& one) { return one.expired(); });
  if (free == listeners_.end()) {
    listeners_.push_back(to);
  } else {
    *free = to;
  }
  auto const fresh = to.lock();
  for (auto const& one : links_) {
    if (fresh && one->is_settled()) one->tell_state(*fresh);
    one->begin();
  }
}

template <class F>
void tracking::tell(F what) const {
  auto const keep = shared_from_this();
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (auto const one = listeners_[i].lock()) what(*one);
  }
}

void tracking::left(connection const& wire) {
  for (auto const& one : links_) {
    if (one->wire().get() == &wire) one->end();
  }
}

void tracking::ask_again() {
  for (std::size_t i = 0; i < links_.size(); ++i) links_[i]->begin();
}

tracking::tracked_wire* tracking::settled(link_id which) const {
  for (auto const& one : links_) {
    if (one->is_settled() && one->id() == which) return one.get();
  }
  return nullptr;
}

void tracking::refuse(link_id which, failure why) {
  if (auto* const one = settled(which)) one->refuse(std::move(why));
}

void tracking::note_key(link_id which, std::string_view key) {
  if (auto* const one = settled(which)) one->key = key;
}

std::string tracking::key_of(link_id which) const {
  auto const* const one = settled(which);
  return one ? one->key : std::string();
}

void tracking::slot_moved(std::uint16_t slot) const {
  tell([slot](auto& to) { to.on_slot_moved(slot); });
}

void tracking::slots_leaving(connection const& wire) const {
  if (auto const which = link_of(wire)) tell([&](auto& to) { to.on_slots_leaving(*which); });
}

std::optional<link_id> tracking::link_of(connection const& wire) const {
  for (auto const& one : links_) {
    if (one->is_settled() && one->wire().get() == &wire) return one->id();
  }
  return std::nullopt;
}

std::vector<link_id> tracking::all() const {
  std::vector<link_id> found;
  for (auto const& one : links_) {
    if (one->is_settled()) found.push_back(one->id());
  }
  return found;
}

std::shared_ptr<connection> tracking::wire_of(link_id which) const {
  auto const* const one = settled(which);
  return one ? one->wire() : nullptr;
}

}  // namespace herdlock::redis
