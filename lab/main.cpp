// herdlock-lab: all scenes, over all stores. What is shown first is listed first.
#include "scenes/scenes.hpp"

int main(int argc, char** argv) {
  using namespace herdlock::lab;
  listed_scene const scenes[] = {
      stampede_scene, hotkey_scene,      near_scene,      election_scene,  deploy_scene,
      takeover_scene, stores_scene,      soak_scene,      cut_scene,       session_scene,
      failover_scene, reconnect_scene,   near_soak_scene, freshness_scene, loaders_scene,
      many_scene,     many_caches_scene, tags_scene,      hot_soak_scene,  fleet_scene,
      trace_scene,
  };
  return run_program(argc, argv, scenes);
}
