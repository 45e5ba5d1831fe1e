#include "stores/memory/exchange_table.hpp"

#include "stores/memory/fencing_counter.hpp"

namespace herdlock::memory {
namespace {

void say_report(report_listener& to, std::shared_ptr<std::string const> const& text) {
  to.on_report(*text);
}

void say_rules(rules_listener& to, store_rules const& rules) { to.on_rules(rules); }

}  // namespace

result<void> exchange_table::report(store_report what, clock::time_point now) {
  auto const bytes = what.topic.size() + what.process.size() + what.text.size();
  auto const text = std::make_shared<std::string const>(std::move(what.text));
  auto const [at, fresh] = reports_.try_emplace({what.topic, what.process});
  if (!fresh && at->second.number >= what.number) return {};
  try {
    auto room = make_room(at, bytes, now + report_store::keeps_for);
    if (room.has_error()) {
      if (fresh) reports_.erase(at);
      return room;
    }
  } catch (...) {
    if (fresh) reports_.erase(at);
    throw;
  }
  at->second.number = what.number;
  at->second.text = text;
  report_listeners_.tell(what.topic, what.process, text);
  return {};
}

// When it throws nothing is changed.
result<void> exchange_table::make_room(rows::iterator at, std::size_t bytes,
                                       clock::time_point until) {
  row& there = at->second;
  bool const is_new = !there.end;
  failure full = is_new ? used_.check_entry(bytes) : used_.check_bytes(bytes, there.bytes);
  if (full.code) return full;
  if (is_new) {
    there.end = due_.add(until, [this, at](clock::time_point) {
      used_.remove_entry(at->second.bytes);
      reports_.erase(at);
    });
    used_.add_entry(bytes);
  } else {
    due_.move(there.end, until);
    used_.replace_bytes(there.bytes, bytes);
  }
  there.bytes = bytes;
  return {};
}

void exchange_table::listen(std::string topic, std::weak_ptr<report_listener> to,
                            std::shared_ptr<endpoint> home) {
  auto const box = std::make_shared<mailbox<report_listener, std::shared_ptr<std::string const>>>(
      std::move(to), &say_report);
  for (auto at = reports_.lower_bound({topic, ""});
       at != reports_.end() && at->first.first == topic; ++at) {
    box->put(at->first.second, at->second.text, *home);
  }
  report_listeners_.add(std::move(topic), box, std::move(home));
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
  auto& now = rules_[what.topic];
  if (is_new) {
    used_.add_entry(bytes);
  } else {
    used_.replace_bytes(before, bytes);
  }
  now = {next_fencing().value, std::move(what.text)};
  rules_listeners_.tell(what.topic, "", now);
  return now.version;
}

void exchange_table::listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to,
                                      std::shared_ptr<endpoint> home) {
  auto const box =
      std::make_shared<mailbox<rules_listener, store_rules>>(std::move(to), &say_rules);
  auto const there = read_rules(topic);
  if (there.version != 0) box->put("", there, *home);
  rules_listeners_.add(std::move(topic), box, std::move(home));
}

void exchange_table::leave(endpoint const& home) {
  report_listeners_.leave(home);
  rules_listeners_.leave(home);
}

}  // namespace herdlock::memory
