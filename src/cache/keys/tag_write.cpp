#include "cache/keys/tag_write.hpp"

#include <algorithm>

#include "algo/key_hash.hpp"
#include "cache/keys/claim_clean_up.hpp"
#include "cache/keys/tags.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

constexpr algo::backoff_options between_claims{milliseconds{1}, milliseconds{25}};
// A process needs some round trips to make a record; one that died with its claim is waited for.
constexpr milliseconds longest_claim{1000};

}  // namespace

tag_write::tag_write(home_ptr home, cache_tags& tags, std::string tag,
                     std::function<void(failure const&)> done)
    : home_(std::move(home)),
      keep_(home_->keep()),
      tags_(tags),
      tag_(std::move(tag)),
      key_(*tags.record_key(tag_)),
      owner_(owner_token::generate()),
      done_(std::move(done)),
      pause_(home_->store->executor()),
      backoff_(between_claims),
      asked_(clock::now()) {
  if (!home_->store->closing()) home_->store->tell_when_closing(*this);
}

void tag_write::run() {
  auto const& values = home_->store->values();
  if (!values) return finish(home_->store->closed_failure());
  auto const below = beside_ ? limits::max_ttl : milliseconds{0};
  claim_request request{key_, owner_, claim_ttl(), layout::string, below};
  may_hold_claim_ = true;
  auto on_reply = [self = shared_from_this(), sent = clock::now()](result<claim_reply> reply) {
    self->on_claim(std::move(reply), sent);
  };
  values->claim(std::move(request), std::move(on_reply));
}

void tag_write::on_claim(result<claim_reply> reply, clock::time_point sent) {
  if (reply.has_error()) {
    give_up();
    return finish(reply.error());
  }
  // on_closing() has given up what was granted.
  if (home_->store->closing()) return finish(home_->store->closed_failure());
  auto const* const ours = std::get_if<claimed>(&*reply);
  may_hold_claim_ = ours != nullptr;
  if (auto* const hit = std::get_if<cache_hit>(&*reply)) {
    return on_record(cache_lookup(std::move(hit->value)), sent);
  }
  if (!ours) return on_busy();
  if (beside_) return look_again();
  auto const number = next_number();
  fill({number, number});
}

// A record that is not stale only ends too soon: the other writes it anew with its generations, and
// if it does not, what is loaded ends with the record.
void tag_write::on_busy() {
  auto const there = beside_ ? tags_.known().record(tag_) : std::nullopt;
  if (there && !there->made_stale) return finish({});
  again();
}

// Not the number of the claim: a server that has lost how far it had counted, in a failover or with
// a backup, gives that twice, and entries of the first time would be good again.
std::uint64_t tag_write::next_number() { return detail::key_hash(owner_.str(), ++numbers_); }

// A record that was there when we would have claimed it.
void tag_write::on_record(cache_lookup const& found, clock::time_point sent) {
  auto const record = found ? tags_.record_of(*found) : std::nullopt;
  auto const now = clock::now();
  tags_.known().told(tag_, record, sent, now);
  if (!record) return remove();  // something else, in its way
  if (tags_.known().need(tag_, {asked_, tags_.span().ends}, now) == algo::tag_need::none) {
    return finish({});
  }
  // A claim beside it was refused by a store that keeps it without an end.
  if (beside_) return remove();
  beside_ = true;
  run();
}

void tag_write::look_again() {
  auto const& values = home_->store->values();
  if (!values) return finish(home_->store->closed_failure());
  auto on_reply = [self = shared_from_this(),
                   sent = clock::now()](result<cache_lookup> const& reply) {
    if (reply.has_error()) {
      self->give_up();
      return self->finish(reply.error());
    }
    if (self->home_->store->closing()) return self->finish(self->home_->store->closed_failure());
    auto const record = *reply ? self->tags_.record_of(**reply) : std::nullopt;
    auto const now = clock::now();
    auto& known = self->tags_.known();
    known.told(self->tag_, record, sent, now);
    auto const ends = self->tags_.span().ends;
    if (record && known.need(self->tag_, {self->asked_, ends}, now) == algo::tag_need::none) {
      self->give_up();
      return self->finish({});
    }
    auto const number = self->next_number();
    algo::tag_generations next{number, number};
    if (record) next.lives = record->now.lives;
    if (record && !record->made_stale) next.is_fresh = record->now.is_fresh;
    self->fill(next);
  };
  values->get(key_, layout::string, std::move(on_reply));
}

void tag_write::fill(algo::tag_generations const& now) {
  auto const& values = home_->store->values();
  if (!values) return finish(home_->store->closed_failure());
  fill_request request{key_, owner_, tags_.encode(now), tags_.record_ttl()};
  auto on_reply =
      [self = shared_from_this(), write = tags_.local().write_apart(key_), now, sent = clock::now(),
       bracket = give_back_bracket(*home_->store)](result<fill_reply> const& reply) mutable {
        write = nullptr;
        if (reply.has_error()) {
          self->give_up();
          return self->finish(reply.error());
        }
        self->may_hold_claim_ = false;
        // Invalidated or expired meanwhile, or we were too slow.
        if (*reply == fill_reply::superseded) return self->again();
        self->made(now, sent);
      };
  values->fill(std::move(request), std::move(on_reply));
}

void tag_write::remove() {
  auto const& values = home_->store->values();
  if (!values) return finish(home_->store->closed_failure());
  tags_.local().remove(*values, key_, [self = shared_from_this()](failure const& why) {
    if (why.code) return self->finish(why);
    self->again();
  });
}

void tag_write::made(algo::tag_generations const& now, clock::time_point sent) {
  auto const ends = sent + tags_.record_ttl();
  tags_.known().made(tag_, {now, false, ends}, sent);
  finish({});
}

void tag_write::again() {
  beside_ = false;
  if (clock::now() >= asked_ + 2 * claim_ttl()) {
    return finish(make_failure(
        errc::overloaded, "the tag " + in_quotes(tag_) + " in " + home_->store->display_name() +
                              ": others change it all the time, so nothing is stored with it; "
                              "end it less often"));
  }
  pause_.expires_after(backoff_.next(random_unit()));
  pause_.async_wait([self = shared_from_this()](boost::system::error_code const& ec) {
    if (ec) return self->finish(self->home_->store->closed_failure());
    self->run();
  });
}

milliseconds tag_write::claim_ttl() const {
  return std::min(home_->options.claim_ttl, longest_claim);
}

// While the store can still be told.
void tag_write::on_closing() {
  pause_.cancel();
  give_up();
}

void tag_write::give_up() {
  if (!std::exchange(may_hold_claim_, false)) return;
  start_claim_clean_up(home_->store, nullptr, {key_, owner_, claim_ttl(), layout::string});
}

void tag_write::finish(failure const& why) {
  if (auto const done = std::exchange(done_, nullptr)) done(why);
}

}  // namespace herdlock::runtime
