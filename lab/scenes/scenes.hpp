// The scenes that there are.
#pragma once

#include "stage/scene.hpp"

namespace herdlock::lab {

extern listed_scene const cut_scene;
extern listed_scene const deploy_scene;
extern listed_scene const election_scene;
extern listed_scene const failover_scene;
extern listed_scene const fleet_scene;
extern listed_scene const freshness_scene;
extern listed_scene const hot_soak_scene;
extern listed_scene const hotkey_scene;
extern listed_scene const loaders_scene;
extern listed_scene const many_caches_scene;
extern listed_scene const many_scene;
extern listed_scene const near_scene;
extern listed_scene const near_soak_scene;
extern listed_scene const reconnect_scene;
extern listed_scene const session_scene;
extern listed_scene const soak_scene;
extern listed_scene const stampede_scene;
extern listed_scene const stores_scene;
extern listed_scene const tags_scene;
extern listed_scene const takeover_scene;
extern listed_scene const trace_scene;

}  // namespace herdlock::lab
