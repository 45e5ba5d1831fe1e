#include "stores/redis/cluster/slot_query.hpp"

#include "stores/redis/client/server_errors.hpp"

namespace herdlock::redis {

void slot_query::encode(command_writer& out, script_form) const {
  out.begin("CLUSTER");
  out.add("SLOTS");
  out.end();
}

void slot_query::complete(reply const& answer) {
  if (answer.is_error()) {
    bool const single = answer.text().find("cluster support disabled") != std::string_view::npos;
    return fail(single ? make_failure(errc::not_supported,
                                      store_ + ": the server at " + asked_.text() +
                                          " is not part of a cluster; open it with redis:// (or "
                                          "rediss://) instead of redis+cluster://")
                       : server_failure(answer.text(), store_),
                completion::now);
  }
  auto map = cluster_map::parse(answer, asked_);
  if (map.has_error()) {
    failure const why = map.error();
    map = failure{why.code,
                  store_ + ": the cluster as " + asked_.text() + " sees it: " + why.message};
  }
  complete(std::move(map), completion::now);
}

void slot_query::fail(failure const& why, completion when) { complete(why, when); }

void slot_query::complete(result<cluster_map> outcome, completion when) {
  unlink();
  auto done = std::exchange(done_, nullptr);
  if (when == completion::now) return done(std::move(outcome));
  asio::post(executor_, [done = std::move(done), outcome = std::move(outcome)]() mutable {
    done(std::move(outcome));
  });
}

}  // namespace herdlock::redis
