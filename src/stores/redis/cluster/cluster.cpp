#include "stores/redis/cluster/cluster.hpp"

#include <algorithm>

#include "stores/redis/cluster/slots.hpp"
#include "stores/redis/jitter.hpp"

namespace herdlock::redis {
namespace {

void report_moves(tracking const& to, cluster_map const& before, cluster_map const& now) {
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
    auto const* const old_owner = before.owner(slot);
    auto const* const new_owner = now.owner(slot);
    if (old_owner && (!new_owner || *new_owner != *old_owner)) to.slot_moved(slot);
  }
}

// A master has gone: whoever serves its slots now may not have all that was written there.
bool has_lost_a_master(cluster_map const& before, cluster_map const& now) {
  return std::ranges::any_of(before.masters(), [&](auto const& one) { return !now.has(one); });
}

}  // namespace

// What the connection of one node tells.
class cluster::node final : public connection_listener,
                            public redirector,
                            public std::enable_shared_from_this<cluster::node> {
 public:
  node(cluster& home, node_address at)
      : home_(home.weak_from_this()), at_(std::move(at)), retirement_(home.executor_) {
    settings how = home.how_.at(at_);
    auto check = std::make_shared<connection_check>(how, home.warnings_);
    wire_ = std::make_shared<connection>(home.executor_, std::move(how), std::move(check));
  }

  void open(tracking* links) {
    wire_->redirect_to(weak_from_this());
    wire_->attach(weak_from_this());
    if (links) links->add(wire_);
    wire_->open();
  }
  void close() {
    retirement_.cancel();
    wire_->close();
  }

  node_address const& at() const { return at_; }
  std::shared_ptr<connection> const& wire() const { return wire_; }
  asio::steady_timer& retirement() { return retirement_; }
  bool used = false;  // by commands; else it was only asked for a map
  bool retired = false;
  bool was_out = false;  // it left the map and may have been a replica since

  // It is to serve a slot, and was a replica, perhaps, when we met it.
  void became_master() {
    bool const was_replica = std::exchange(was_out, false) || wire_->facts()->role == "slave";
    if (!wire_->up() || !was_replica) return;
    wire_->leave(wire_->how().failed(errc::unavailable, at_.text() + " has become a master"));
  }

 private:
  void on_connection_down() override {
    if (auto const to = home_.lock()) to->on_node_down(*this);
  }
  bool redirect(command_ptr& one, std::string_view line) override {
    auto const to = home_.lock();
    return to && !to->closed_ && to->redirect(*this, one, line);
  }

  std::weak_ptr<cluster> home_;
  node_address at_;
  std::shared_ptr<connection> wire_;
  asio::steady_timer retirement_;
};

cluster::cluster(asio::any_io_executor executor, settings how, std::vector<node_address> seeds,
                 std::shared_ptr<store_warnings> warnings, std::shared_ptr<tracking> links)
    : executor_(std::move(executor)),
      how_(std::move(how)),
      seeds_(std::move(seeds)),
      warnings_(std::move(warnings)),
      links_(std::move(links)),
      deferred_(std::make_shared<deferred_commands>(
          executor_, [this](command_ptr one) { route(std::move(one)); },
          [this] { return no_map_in_time(); })) {
  auto members = std::make_shared<cluster_members>(how_.display_name, warnings_);
  how_.members = members;
  finder_ = std::make_shared<map_finder>(executor_, how_, std::move(members), *this);
}

// Nobody else has the finder or the deferred commands, so what they know of `this` goes with it.
cluster::~cluster() {
  if (!closed_) finder_->close();
}

void cluster::open() { finder_->refresh(); }

void cluster::close() {
  if (std::exchange(closed_, true)) return;
  finder_->close();
  deferred_->close(how_.failed(errc::canceled, "the store handle is being closed"));
  for (auto& [at, one] : nodes_) one->close();
  nodes_.clear();
}

failure cluster::check_key(std::string_view key) const {
  return check_cluster_key(key, how_.display_name);
}

// ---------------------------------------------------------------------------------- commands

void cluster::submit(command_ptr what) {
  if (closed_) {
    return what->fail(how_.failed(errc::canceled, "the store is closed"), completion::later);
  }
  if (auto const why = check_key(what->key()); why.code) return what->fail(why, completion::later);
  // One deadline for the whole way.
  what->deadline = std::chrono::steady_clock::now() + how_.timeout;
  route(std::move(what));
}

void cluster::cancel(command& what) {
  if (!what.open()) return;
  if (what.carrier) return what.carrier->cancel(what);
  what.fail(how_.failed(errc::canceled, "cancelled by the caller"), completion::later);
}

void cluster::route(command_ptr one) {
  one->asking = false;
  auto const* const owner = map_.owner(key_slot(one->key()));
  if (!owner) return wait_for_map(std::move(one));
  send_to(*owner, std::move(one));
}

void cluster::send_to(node_address const& to, command_ptr one) {
  auto const next = node_at(to);
  if (!next) {
    return try_again(std::move(one), how_.failed(errc::unavailable, "it has too many nodes"));
  }
  next->used = true;
  next->became_master();
  next->wire()->submit(std::move(one));
}

connection* cluster::carrier_for(std::string_view key) {
  auto const* const owner = map_.owner(key_slot(key));
  auto const found = owner ? nodes_.find(*owner) : nodes_.end();
  if (found == nodes_.end()) return nullptr;
  found->second->used = true;
  return found->second->wire().get();
}

std::vector<std::shared_ptr<connection>> cluster::servers() {
  auto masters = map_.masters();
  std::sort(masters.begin(), masters.end());
  std::vector<std::shared_ptr<connection>> all;
  for (auto const& at : masters) {
    auto const to = connection_to(at);
    if (!to) return {};
    nodes_.at(at)->used = true;
    all.push_back(to);
  }
  return all;
}

void cluster::wait_for_map(command_ptr one) {
  if (map_errors_.refused.code && map_.empty())
    return one->fail(map_errors_.refused, completion::later);
  failure why;
  if (!map_.empty()) {
    why = out_of_time(how_.failed(
        errc::unavailable, "nobody serves slot " + std::to_string(key_slot(one->key())) +
                               " of the cluster; redis-cli --cluster check says what is wrong"));
  }
  finder_->refresh();
  auto const until = one->deadline;
  wait(std::move(one), until, std::move(why));
}

void cluster::wait(command_ptr one, std::chrono::steady_clock::time_point until, failure why) {
  if (deferred_->add(one, until, std::move(why))) return;
  one->fail(how_.failed(errc::overloaded, std::to_string(max_outstanding_commands) +
                                              " commands are waiting already; ask less at once"),
            completion::later);
}

void cluster::try_again(command_ptr one, failure const& why) {
  one->hops = 0;
  auto const pause = std::min(min_try_pause * (1 << std::min<int>(one->tries, 8)), max_try_pause);
  if (one->tries < 255) ++one->tries;
  auto until = std::chrono::steady_clock::now() + jittered(pause);
  // What is sent at the last moment and not answered in time has an unknown outcome. Better not
  // sent.
  if (until + std::min(how_.timeout / 8, max_last_moment) > one->deadline) until = one->deadline;
  wait(std::move(one), until, out_of_time(why));
}

failure cluster::out_of_time(failure const& why) const {
  return {why.code, why.message + " (tried again and again within " + in_ms(how_.timeout) + ")"};
}

failure cluster::no_map_in_time() const {
  if (map_errors_.last.code) return out_of_time(map_errors_.last);
  return how_.failed(errc::timed_out, "no node of the cluster said who serves which slot within " +
                                          in_ms(how_.timeout) + "; are its nodes reachable?");
}

// ---------------------------------------------------------------------------------- redirections

bool cluster::redirect(node& from, command_ptr& one, std::string_view line) {
  if (one->key().empty()) return false;  // the search for the map asks this very node
  auto to = parse_redirection(line, from.at());
  if (!to) return false;
  one->asking = false;
  auto const said = [&](std::string const& what) {
    bool const moves = to->kind == redirection_kind::try_again;
    return how_.failed(moves ? one->in_moving_slot() : errc::unavailable,
                       what + " (" + from.at().text() + " says " + in_quotes(line) + ")");
  };
  switch (to->kind) {
    case redirection_kind::moved:
      map_.move(to->slot, to->to);
      if (links_) links_->slot_moved(to->slot);
      finder_->refresh();
      hop(std::move(one), to->to);
      break;
    case redirection_kind::ask:
      one->asking = true;
      if (links_) links_->slots_leaving(*from.wire());
      hop(std::move(one), to->to);
      break;
    case redirection_kind::try_again:
      try_again(std::move(one),
                said("the slot is being moved to another node, and a lock or an entry that does "
                     "not exist cannot be made there meanwhile; try again later"));
      break;
    case redirection_kind::down:
      finder_->suspect(from.at());
      finder_->refresh();
      try_again(std::move(one), said("a node or the whole cluster is down"));
      break;
    case redirection_kind::garbled:
      one->fail(how_.failed(errc::protocol,
                            from.at().text() + " redirects to nowhere: " + in_quotes(line)),
                completion::later);
      break;
  }
  return true;
}

void cluster::hop(command_ptr one, node_address const& to) {
  if (++one->hops > max_hops) {
    return one->fail(how_.failed(errc::unavailable,
                                 "the nodes send the command to and fro, at last to " + to.text() +
                                     "; redis-cli --cluster check says what is wrong"),
                     completion::later);
  }
  send_to(to, std::move(one));
}

// ---------------------------------------------------------------------------------- nodes

// Null when there are too many.
std::shared_ptr<cluster::node> cluster::node_at(node_address const& at) {
  auto found = nodes_.find(at);
  if (found == nodes_.end()) {
    if (nodes_.size() >= max_nodes + seeds_.size()) return nullptr;
    auto made = std::make_shared<node>(*this, at);
    found = nodes_.emplace(at, made).first;
    made->open(links_.get());
  }
  found->second->retired = false;
  return found->second;
}

std::shared_ptr<connection> cluster::connection_to(node_address const& at) {
  auto const to = closed_ ? nullptr : node_at(at);
  return to ? to->wire() : nullptr;
}

// Connected ones first, then the rest of the map, then the seeds; each in random order. Those that
// are not to be believed come behind all of them.
std::vector<node_address> cluster::nodes_to_ask() {
  std::vector<node_address> list;
  auto const add = [&](std::vector<node_address> some) {
    std::ranges::shuffle(some, random_source());
    for (auto& one : some) {
      if (std::ranges::find(list, one) == list.end()) list.push_back(std::move(one));
    }
  };
  std::vector<node_address> connected;
  for (auto const& one : map_.masters()) {
    auto const found = nodes_.find(one);
    if (found != nodes_.end() && found->second->wire()->up()) connected.push_back(one);
  }
  add(std::move(connected));
  add(map_.masters());
  add(seeds_);
  return finder_->in_order(std::move(list));
}

void cluster::on_map(cluster_map map, map_worth worth) {
  auto const self = shared_from_this();
  auto const before = std::exchange(map_, std::move(map));
  map_errors_ = {};
  if (links_) report_moves(*links_, before, map_);
  if (how_.news && has_lost_a_master(before, map_)) how_.news->tell();
  // What has not been sent yet may belong elsewhere now; what was sent has to come back first.
  std::vector<command_ptr> again;
  for (auto const& [at, one] : nodes_) {
    bool const serves = map_.has(at);
    if (!serves && before.has(at)) one->was_out = true;
    // Else each process would stay connected to all whom it asked in an outage.
    if (worth == map_worth::counts && !one->used) retire(one);
    if (serves && one->wire()->up()) continue;
    for (auto& waiting : one->wire()->take_unsent()) again.push_back(std::move(waiting));
    if (!serves) retire(one);
  }
  for (auto& waiting : deferred_->take_all()) again.push_back(std::move(waiting));
  for (auto& one : again) route(std::move(one));
  std::erase_if(event_connections_, [](auto const& one) { return one.expired(); });
  for (auto const& weak : event_connections_) {
    auto const one = weak.lock();
    if (!one || map_.has({one->how().host, one->how().port})) continue;
    one->leave(how_.failed(errc::unavailable, one->how().address() + " has left the cluster"));
  }
  if (auto const listener = route_listener_.lock()) listener->on_routes_changed();
}

void cluster::on_no_map(failure const& why) {
  auto const self = shared_from_this();
  bool const may_recover = why == errc::unavailable || why == errc::timed_out;
  map_errors_ = {why, may_recover ? failure{} : why};
  // Waiting is no use when they refuse us; with a map, its connections say so themselves.
  if (may_recover || !map_.empty()) return;
  for (auto& one : deferred_->take_all()) one->fail(why, completion::later);
}

// Closed when every command that it can still have has ended, if nobody sends one there meanwhile.
void cluster::retire(std::shared_ptr<node> const& old) {
  if (std::exchange(old->retired, true)) return;
  run_after(old->retirement(), how_.timeout + min_map_pause, weak_from_this(),
            [one = std::weak_ptr<node>(old)](cluster& self) {
              auto const gone = one.lock();
              if (self.closed_ || !gone || !gone->retired) return;
              self.nodes_.erase(gone->at());
              if (auto const listener = self.route_listener_.lock())
                listener->on_connection_left(*gone->wire());
              if (self.links_) self.links_->left(*gone->wire());
              gone->close();
            });
}

void cluster::on_node_down(node& which) {
  if (closed_) return;
  auto const self = shared_from_this();
  finder_->on_down(which.at(), which.wire()->last_failure());
  if (map_.has(which.at())) finder_->refresh();
}

// ---------------------------------------------------------------------------------- events

std::shared_ptr<connection> cluster::make_event_connection() {
  // Checked, too: a stranger at the address of one of ours tells nothing of what happens here.
  auto check = std::make_shared<connection_check>(how_, nullptr);
  settings common = how_;
  common.news = nullptr;
  auto made = std::make_shared<connection>(executor_, std::move(common), std::move(check));
  made->choose_address([weak = weak_from_this()](settings& how) {
    if (auto const self = weak.lock()) self->choose_event_address(how);
  });
  event_connections_.push_back(made);
  return made;
}

// Every node gets every event. Any will do, and after a failure any other.
void cluster::choose_event_address(settings& how) {
  node_address const last{how.host, how.port};
  for (auto const& one : nodes_to_ask()) {
    if (one == last || (!map_.empty() && !map_.has(one))) continue;
    auto const found = nodes_.find(one);
    bool const known_down = found != nodes_.end() && !found->second->wire()->up() &&
                            found->second->wire()->last_failure().code;
    if (known_down) continue;
    how.host = one.host;
    how.port = one.port;
    return;
  }
}

}  // namespace herdlock::redis
