#include "stores/memory/exchange_table.hpp"

#include <optional>

#include "stores/memory/fencing_counter.hpp"

namespace herdlock::memory {
namespace {

auto saying(std::shared_ptr<std::string const> text) {
  return [text = std::move(text)](report_listener& to) { to.on_report(*text); };
}

auto saying(store_rules rules) {
  return [rules = std::move(rules)](rules_listener& to) { to.on_rules(rules); };
}

}  // namespace

result<void> exchange_table::report(store_report what, clock::time_point now) {
  auto const known = reports_.find({what.topic, what.process});
  if (known != reports_.end() && known->second.number >= what.number) return {};
  auto const where = make_room(what);
  if (!where) return where.error();
  row& there = (*where)->second;
  there.number = what.number;
  there.text = std::make_shared<std::string const>(std::move(what.text));
  auto const until = now + report_store::keeps_for;
  if (there.end) {
    due_.move(there.end, until);
  } else {
    there.end = due_.add(until, [this, at = *where](clock::time_point) {
      used_.remove_entry(at->second.bytes);
      reports_.erase(at);
    });
  }
  report_listeners_.tell(what.topic, saying(there.text));
  return {};
}

result<exchange_table::rows::iterator> exchange_table::make_room(store_report const& what) {
  auto const bytes = what.topic.size() + what.process.size() + what.text.size();
  auto where = reports_.find({what.topic, what.process});
  if (where == reports_.end()) {
    if (failure full = used_.check_entry(bytes); full.code) return full;
    where = reports_.emplace(std::pair(what.topic, what.process), row{}).first;
    used_.add_entry(bytes);
  } else {
    if (failure full = used_.check_bytes(bytes, where->second.bytes); full.code) return full;
    used_.replace_bytes(where->second.bytes, bytes);
  }
  where->second.bytes = bytes;
  return where;
}

void exchange_table::listen(std::string topic, std::weak_ptr<report_listener> to,
                            std::shared_ptr<endpoint> home) {
  for (auto at = reports_.lower_bound({topic, ""});
       at != reports_.end() && at->first.first == topic; ++at) {
    listeners<report_listener>::tell_one(to, *home, saying(at->second.text));
  }
  report_listeners_.add(std::move(topic), std::move(to), std::move(home));
}

exchange_table::kept_reports exchange_table::kept() const {
  kept_reports all;
  for (auto const& [name, there] : reports_) all[name.first].push_back(*there.text);
  return all;
}

store_rules exchange_table::read_rules(std::string const& topic) const {
  auto const at = rules_.find(topic);
  return at == rules_.end() ? store_rules() : at->second;
}

result<std::uint64_t> exchange_table::write_rules(rules_change what) {
  auto const at = rules_.find(what.topic);
  bool const is_new = at == rules_.end();
  if (what.expected != (is_new ? 0 : at->second.version)) return std::uint64_t{0};
  auto const bytes = what.topic.size() + what.text.size();
  auto const before = is_new ? 0 : what.topic.size() + at->second.text.size();
  failure full = is_new ? used_.check_entry(bytes) : used_.check_bytes(bytes, before);
  if (full.code) return full;
  if (is_new) {
    used_.add_entry(bytes);
  } else {
    used_.replace_bytes(before, bytes);
  }
  auto& now = rules_[what.topic];
  now = {next_fencing().value, std::move(what.text)};
  rules_listeners_.tell(what.topic, saying(now));
  return now.version;
}

void exchange_table::listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to,
                                      std::shared_ptr<endpoint> home) {
  auto const there = read_rules(topic);
  if (there.version != 0) listeners<rules_listener>::tell_one(to, *home, saying(there));
  rules_listeners_.add(std::move(topic), std::move(to), std::move(home));
}

void exchange_table::leave(endpoint const& home) {
  report_listeners_.leave(home);
  rules_listeners_.leave(home);
}

}  // namespace herdlock::memory
