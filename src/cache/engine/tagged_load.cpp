#include "cache/engine/tagged_load.hpp"

#include "cache/engine/engine.hpp"

namespace herdlock::runtime {
namespace {

using algo::tag_verdict;
using on_judged_claim = std::function<void(result<claim_reply>, tag_verdict)>;

// The store grants a claim beside an entry that tags ended whatever is there by now. So who has it
// looks once more: the one who had it before may have stored the next entry.
void look_under_claim(cache_engine& home, claim_of_load const& mine, claim_reply granted,
                      on_judged_claim const& done) {
  auto const& values = home.home().values();
  if (!values) return done(std::move(granted), tag_verdict::fresh);
  auto on_reply = [keep = home.shared_from_this(), mine, granted = std::move(granted),
                   done](result<cache_lookup> reply) {
    if (reply.has_error() || !*reply) return done(granted, tag_verdict::fresh);
    auto on_said = [keep, mine, granted, done](result<judged_value> said) {
      bool const is_next = said.has_value() && said->verdict == tag_verdict::fresh;
      auto const found = is_next ? keep->read(said->stored) : std::nullopt;
      bool const serves = found && found->age && clock::now() < found->age->times.expires;
      if (!serves) return done(granted, tag_verdict::fresh);
      keep->give_up_claim(mine.key, mine.owner);
      done(claim_reply(cache_hit{std::move(said->stored)}), tag_verdict::fresh);
    };
    keep->freshness()->tags().judge(**std::move(reply), std::move(on_said));
  };
  values->get(mine.key, home.form(), std::move(on_reply));
}

}  // namespace

void judge_claim(cache_engine& home, claim_of_load const& mine, result<claim_reply> reply,
                 on_judged_claim const& done) {
  bool const framed = is_framed(home.options());
  bool const granted = reply.has_value() && std::holds_alternative<claimed>(*reply);
  if (granted && mine.by_tags) return look_under_claim(home, mine, *std::move(reply), done);
  auto* const hit = reply.has_value() ? std::get_if<cache_hit>(&*reply) : nullptr;
  if (!framed || !hit) return done(std::move(reply), tag_verdict::fresh);
  auto on_said = [done](result<judged_value> said) {
    if (said.has_error()) return done(std::move(said).error(), tag_verdict::fresh);
    done(claim_reply(cache_hit{std::move(said->stored)}), said->verdict);
  };
  home.freshness()->tags().judge(std::move(hit->value), std::move(on_said));
}

void judge_push(cache_engine& home, result<watch_reply> reply,
                std::function<void(result<watch_reply>)> const& done) {
  auto* const hit = reply.has_value() ? std::get_if<cache_hit>(&*reply) : nullptr;
  if (!hit || !is_framed(home.options())) return done(std::move(reply));
  auto on_said = [done](result<judged_value> said) {
    if (said.has_error()) return done(std::move(said).error());
    done(watch_reply(cache_hit{std::move(said->stored)}));
  };
  home.freshness()->tags().judge(std::move(hit->value), std::move(on_said));
}

void prepare_load(cache_engine& home, load_flight& flight, algo::load_guard guard,
                  std::function<void(result<std::optional<std::string>>)> const& done) {
  auto const none = std::optional(std::string());
  if (!is_framed(home.options())) return done(none);
  auto& tags = home.freshness()->tags();
  auto const names = tags.names_of(flight.key());
  if (names.has_error()) return done(names.error());
  if (names->empty()) return done(none);
  tags.load_began(flight, *names);
  // Nothing is stored of what is loaded without the store.
  if (guard == algo::load_guard::unguarded) return done(none);
  tags.prepare(*names, [keep = home.shared_from_this(), done](result<std::string> extensions) {
    if (extensions.has_value()) return done(std::optional(*std::move(extensions)));
    keep->trouble().tell(extensions.error());
    done(std::optional<std::string>());
  });
}

}  // namespace herdlock::runtime
