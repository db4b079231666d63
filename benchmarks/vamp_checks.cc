// VAMP's own checks of states and edges, timed inside: what its bindings do not offer without copying the environment.
// For benchmarks/planning.py --checks; built with VAMP's headers and flags and -shared -fPIC -DROBOT=Panda
// '-DHEADER=<vamp/robots/panda.hh>'.
#include <chrono>
#include HEADER
#include <vamp/collision/factory.hh>
#include <vamp/planning/validate.hh>

using Robot = vamp::robots::ROBOT;
static constexpr std::size_t rake = vamp::FloatVectorWidth;
using Environment = vamp::collision::Environment<vamp::FloatVector<rake>>;

// boxes: center, rpy, half sides (9); capsules: center, rpy, radius, length (8); spheres: center, radius (4).
// q: `count` pairs of states; out: 1 where the edge (the state, if both are equal) is free. The seconds of one round.
extern "C" double check(const float *boxes, int n_boxes, const float *capsules, int n_capsules, const float *spheres,
                        int n_spheres, const float *q, int count, int states, int *out)
{
    vamp::collision::Environment<float> e;
    namespace f = vamp::collision::factory;
    for (const float *b = boxes; b < boxes + 9 * n_boxes; b += 9)
    {
        auto c = f::cuboid::array({b[0], b[1], b[2]}, {b[3], b[4], b[5]}, {b[6], b[7], b[8]});
        (c.axis_3_z == 1.F ? e.z_aligned_cuboids : e.cuboids).emplace_back(c);
    }
    for (const float *b = capsules; b < capsules + 8 * n_capsules; b += 8)
    {
        auto c = f::capsule::center::array({b[0], b[1], b[2]}, {b[3], b[4], b[5]}, b[6], b[7]);
        (c.xv == 0.F and c.yv == 0.F ? e.z_aligned_capsules : e.capsules).emplace_back(c);
    }
    for (const float *b = spheres; b < spheres + 4 * n_spheres; b += 4)
    {
        e.spheres.emplace_back(f::sphere::array({b[0], b[1], b[2]}, b[3]));
    }
    e.sort();
    const Environment environment(e);
    std::vector<std::pair<Robot::Configuration, Robot::Configuration>> edges;
    for (int k = 0; k < count; ++k)
    {
        std::array<float, Robot::dimension> a, b;
        std::copy_n(q + 2 * k * Robot::dimension, Robot::dimension, a.begin());
        std::copy_n(q + (2 * k + 1) * Robot::dimension, Robot::dimension, b.begin());
        edges.emplace_back(Robot::Configuration(a), Robot::Configuration(b));
    }
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < count; ++k)
    {
        const auto &[a, b] = edges[k];
        out[k] = states ? vamp::planning::validate_motion<Robot, rake, 1>(a, a, environment) :
                          vamp::planning::validate_motion<Robot, rake, Robot::resolution>(a, b, environment);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
